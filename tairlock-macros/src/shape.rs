//! Plain functions that are async in truth: what `#[async_trait]` and `#[tokio::test]` leave behind,
//! and functions that return a future. A lock around these would end before their work began.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::{
    GenericArgument, PathArguments, ReturnType, Signature, Type, TypeParamBound,
    punctuated::Punctuated,
};

/// What a plain function is, by its return type and the ends of its body.
pub(crate) enum Shape {
    Plain,
    /// The work is done by one async block in it.
    Within(Box<Within>),
    /// It returns a future, and what makes it is out of reach.
    Future,
}

/// A plain function's body, and in it the async block that does the work.
pub(crate) struct Within {
    body: Vec<TokenTree>,
    /// Where the block is: an index into the body, then into the group there, and so on.
    path: Vec<usize>,
    pub(crate) block: Group,
    /// What the block answers, where the signature tells.
    pub(crate) output: Option<Type>,
}

impl Shape {
    pub(crate) fn of(sig: &Signature, body: &Group) -> Self {
        let trees: Vec<TokenTree> = body.stream().into_iter().collect();
        let found = match &sig.output {
            ReturnType::Type(_, ty) => match (future_output(ty), trailing_async(&trees)) {
                (Some(output), Some(path)) => Some((path, output)),
                (Some(_), None) => return Self::Future,
                (None, _) => runtime_entry(&trees).map(|path| (path, Some((**ty).clone()))),
            },
            ReturnType::Default => {
                let unit = Type::Tuple(syn::TypeTuple {
                    attrs: Vec::new(),
                    paren_token: syn::token::Paren(sig.paren_token.span),
                    elems: Punctuated::new(),
                });
                runtime_entry(&trees).map(|path| (path, Some(unit)))
            }
        };
        let within = found.and_then(|(path, output)| {
            let block = group_at(&trees, &path)?;
            Some(Self::Within(Box::new(Within { body: trees, path, block, output })))
        });
        within.unwrap_or(Self::Plain)
    }
}

impl Within {
    /// Where the block binds one of `names` again (`let id = id;`, as `#[async_trait]` does), says
    /// that it is used: it is, in the attribute, which rustc does not see from there.
    pub(crate) fn mark_used(&mut self, names: &[Ident]) {
        let trees: Vec<TokenTree> = self.block.stream().into_iter().collect();
        let mut marked = TokenStream::new();
        for (at, tree) in trees.iter().enumerate() {
            if names.iter().any(|name| binds_again(&trees[at..], name)) {
                marked.extend(quote_spanned!(Span::mixed_site()=> #[allow(unused_variables)]));
            }
            marked.extend([tree.clone()]);
        }
        let mut block = Group::new(self.block.delimiter(), marked);
        block.set_span(self.block.span());
        self.block = block;
    }

    /// The body with other content in the async block.
    pub(crate) fn with_block(&self, content: TokenStream) -> TokenStream {
        replace(&self.body, &self.path, content)
    }
}

fn group_at(trees: &[TokenTree], path: &[usize]) -> Option<Group> {
    let (at, rest) = path.split_first()?;
    let TokenTree::Group(group) = trees.get(*at)? else { return None };
    if rest.is_empty() {
        return Some(group.clone());
    }
    group_at(&group.stream().into_iter().collect::<Vec<_>>(), rest)
}

fn replace(trees: &[TokenTree], path: &[usize], content: TokenStream) -> TokenStream {
    let Some((at, rest)) = path.split_first() else { return content };
    let each = trees.iter().enumerate().map(|(index, tree)| match tree {
        TokenTree::Group(group) if index == *at => {
            let inner: Vec<_> = group.stream().into_iter().collect();
            let mut new = Group::new(group.delimiter(), replace(&inner, rest, content.clone()));
            new.set_span(group.span());
            TokenTree::Group(new)
        }
        tree => tree.clone(),
    });
    each.collect()
}

/// `Some` if `ty` is a future by its looks, with the future's output where it is written.
fn future_output(ty: &Type) -> Option<Option<Type>> {
    let of_bounds = |bounds: &Punctuated<TypeParamBound, _>| {
        bounds.iter().find_map(|bound| match bound {
            TypeParamBound::Trait(bound) => {
                let segment = bound.path.segments.last().filter(|last| last.ident == "Future")?;
                let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
                    return Some(None);
                };
                Some(arguments.args.iter().find_map(|argument| match argument {
                    GenericArgument::AssocType(assoc) if assoc.ident == "Output" => {
                        Some(assoc.ty.clone())
                    }
                    _ => None,
                }))
            }
            _ => None,
        })
    };
    match ty {
        Type::ImplTrait(ty) => of_bounds(&ty.bounds),
        Type::TraitObject(ty) => of_bounds(&ty.bounds),
        Type::Group(ty) => future_output(&ty.elem),
        Type::Paren(ty) => future_output(&ty.elem),
        Type::Path(ty) => {
            let last = ty.path.segments.last()?;
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
            let mut types = arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            match last.ident.to_string().as_str() {
                "Pin" | "Box" => future_output(types.next()?),
                "BoxFuture" | "LocalBoxFuture" => Some(types.next().cloned()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A body that ends in `async move { … }` or `Box::pin(async move { … })`.
fn trailing_async(trees: &[TokenTree]) -> Option<Vec<usize>> {
    let last = trees.len().checked_sub(1)?;
    if is_async_block(trees, last) {
        return Some(vec![last]);
    }
    let TokenTree::Group(arguments) = &trees[last] else { return None };
    let called = |name: &str, at: usize| matches!(&trees[at], TokenTree::Ident(i) if i == name);
    let is_box_pin = arguments.delimiter() == Delimiter::Parenthesis
        && last >= 4
        && called("pin", last - 1)
        && called("Box", last - 4);
    let inner: Vec<_> = arguments.stream().into_iter().collect();
    let end = inner.len().checked_sub(1)?;
    let block = if is_comma(&inner[end]) { end.checked_sub(1)? } else { end };
    // Nothing but the block may be the argument.
    let only = matches!(&inner[0], TokenTree::Ident(first) if first == "async") && block <= 2;
    (is_box_pin && only && is_async_block(&inner, block)).then(|| vec![last, block])
}

/// Whether `trees` begin with `let name = name;` or `let mut name = name;`.
fn binds_again(trees: &[TokenTree], name: &Ident) -> bool {
    let is = |tree: &TokenTree, word: &str| tree.to_string() == word;
    let name = name.to_string();
    let rest = match trees {
        [first, second, rest @ ..] if is(first, "let") && is(second, "mut") => rest,
        [first, rest @ ..] if is(first, "let") => rest,
        _ => return false,
    };
    matches!(rest, [a, eq, b, end, ..] if is(a, &name) && is(eq, "=") && is(b, &name) && is(end, ";"))
}

fn is_comma(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ',')
}

/// Whether the group at `at` is the block of an `async` or `async move` before it.
fn is_async_block(trees: &[TokenTree], at: usize) -> bool {
    let is_ident = |back: usize, name: &str| {
        at.checked_sub(back)
            .is_some_and(|at| matches!(&trees[at], TokenTree::Ident(ident) if ident == name))
    };
    matches!(&trees[at], TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
        && (is_ident(1, "async") || (is_ident(1, "move") && is_ident(2, "async")))
}

/// What `#[tokio::test]` and `#[tokio::main]` make of an `async fn`: the body in `let body = async {…}`,
/// and at the end a block that drives it with `block_on(body)`.
fn runtime_entry(trees: &[TokenTree]) -> Option<Vec<usize>> {
    let text = |tree: &TokenTree| tree.to_string();
    let begins = trees.len() > 4
        && ["let", "body", "=", "async"].iter().zip(trees).all(|(word, tree)| text(tree) == *word);
    let block =
        if matches!(trees.get(4)?, TokenTree::Ident(ident) if ident == "move") { 5 } else { 4 };
    let TokenTree::Group(last) = trees.last()? else { return None };
    let end: Vec<_> = last.stream().into_iter().collect();
    let drives = end.windows(2).any(|pair| {
        text(&pair[0]) == "block_on"
            && matches!(&pair[1], TokenTree::Group(group) if group.stream().to_string() == "body")
    });
    (begins && drives && is_async_block(trees, block)).then(|| vec![block])
}
