//! What other attributes have made of the body before: it is to run several times, and they took what
//! they needed for good.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;

/// A body that can run again.
pub(crate) struct Repeatable {
    pub(crate) body: Group,
    /// `let __self = self;`, which `#[async_trait]` puts into the body: now in front of the loop.
    this: Option<(TokenStream, Ident)>,
}

impl Repeatable {
    pub(crate) fn new(body: &Group) -> Self {
        let mut this = None;
        let body = remade(body, &mut this, false).unwrap_or_else(|| body.clone());
        Self { body, this }
    }

    /// What is to be done once.
    pub(crate) fn once(&self) -> TokenStream {
        self.this.as_ref().map(|(statement, _)| statement.clone()).unwrap_or_default()
    }

    /// What is to be done in front of every attempt, where `self` is an exclusive borrow or not.
    pub(crate) fn each(&self, is_exclusive: bool) -> TokenStream {
        match &self.this {
            Some((_, ident)) if is_exclusive => {
                quote_spanned!(Span::mixed_site()=> let #ident = &mut *#ident;)
            }
            _ => TokenStream::new(),
        }
    }
}

type This = Option<(TokenStream, Ident)>;

/// `body`, if anything in it is to be changed; `is_future` if it is that of `#[tracing::instrument]`.
fn remade(body: &Group, this: &mut This, is_future: bool) -> Option<Group> {
    let trees: Vec<TokenTree> = body.stream().into_iter().collect();
    // In plain functions: `match (move || { … })() { … }`.
    let is_entered = begins(&trees, &["let", "__tracing_attr_span", ";"]);
    let (mut made, mut is_changed) = (Vec::with_capacity(trees.len()), false);
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        let rest = &trees[at..];
        if let Some((length, ident)) = takes_self(rest).filter(|_| this.is_none()) {
            let statement = rest[..length].iter().cloned().collect::<TokenStream>();
            let allowed = quote_spanned!(Span::mixed_site()=> #[allow(unused_mut)] #statement);
            *this = Some((allowed, ident));
            (at, is_changed) = (at + length, true);
            continue;
        }
        // The future is awaited where it is made, and what it moves would be gone for the next attempt.
        let before = &trees[..at];
        let in_future = is_future && records(before);
        if is(tree, "move") && (in_future || ends(before, &FUTURE)) {
            (at, is_changed) = (at + 1, true);
            continue;
        }
        let is_future = made.len() + 1 == at && ends(&made, &FUTURE);
        let inner = match tree {
            TokenTree::Group(group) => {
                let called = is_entered.then(|| without_move(group)).flatten();
                let inner = remade(called.as_ref().unwrap_or(group), this, is_future);
                inner.or(called)
            }
            _ => None,
        };
        is_changed |= inner.is_some();
        made.push(inner.map_or_else(|| tree.clone(), Into::into));
        at += 1;
    }
    is_changed.then(|| with_content(body, made))
}

/// What `#[tracing::instrument]` makes of an async body.
const FUTURE: [&str; 4] = ["let", "__tracing_instrument_future", "=", "async"];

/// Whether `before` is the head of a block in which it awaits the body to record the result.
fn records(before: &[TokenTree]) -> bool {
    let heads: [&[&str]; 3] = [
        &["match", "async"],
        &["let", "x", "=", "async"],
        &["let", "__match_scrutinee", "=", "async"],
    ];
    heads.into_iter().any(|head| before.len() == head.len() && begins(before, head))
}

/// `move || { … }` without its `move`.
fn without_move(group: &Group) -> Option<Group> {
    let mut trees: Vec<_> = group.stream().into_iter().collect();
    if !begins(&trees, &["move", "|", "|"]) {
        return None;
    }
    trees.remove(0);
    Some(with_content(group, trees))
}

/// `let __self = self;` or `let mut __self = self;`: how long it is, and the name.
fn takes_self(trees: &[TokenTree]) -> Option<(usize, Ident)> {
    let length = match () {
        () if begins(trees, &["let", "__self", "=", "self", ";"]) => 5,
        () if begins(trees, &["let", "mut", "__self", "=", "self", ";"]) => 6,
        () => return None,
    };
    let TokenTree::Ident(name) = &trees[length - 4] else { return None };
    Some((length, name.clone()))
}

fn begins(trees: &[TokenTree], words: &[&str]) -> bool {
    trees.len() >= words.len() && words.iter().zip(trees).all(|(word, tree)| is(tree, word))
}

fn ends(trees: &[TokenTree], words: &[&str]) -> bool {
    let from = trees.len().checked_sub(words.len());
    from.is_some_and(|from| begins(&trees[from..], words))
}

fn with_content(group: &Group, content: Vec<TokenTree>) -> Group {
    let mut new = Group::new(group.delimiter(), content.into_iter().collect());
    new.set_span(group.span());
    new
}

fn is(tree: &TokenTree, word: &str) -> bool {
    match tree {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Punct(punct) => word.len() == 1 && word.starts_with(punct.as_char()),
        _ => false,
    }
}
