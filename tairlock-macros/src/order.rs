//! Both attributes on one function: the upper one is to be around the lower one, as it is read, so the
//! lower one must expand first.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::Attribute;

use crate::{function::Function, krate::Runtime, model, options, retry};

/// In front of arguments that stand in the order of expansion.
const MARK: char = '@';

/// The arguments without the mark, and whether there was one.
pub(crate) fn unmarked(args: TokenStream) -> (TokenStream, bool) {
    let mut rest = args.clone().into_iter();
    match rest.next() {
        Some(TokenTree::Punct(punct)) if punct.as_char() == MARK => (rest.collect(), true),
        _ => (args, false),
    }
}

/// The function with its attributes in the order of expansion, if both kinds are on it. The one that
/// is called `name` expands now; it is the first of them.
pub(crate) fn reordered(name: &str, args: &TokenStream, item: &TokenStream) -> Option<TokenStream> {
    let mut function: Function = syn::parse2(item.clone()).ok()?;
    let places: Vec<_> =
        (0..function.attrs.len()).filter(|at| ours(&function.attrs[*at]).is_some()).collect();
    if places.iter().all(|at| ours(&function.attrs[*at]) == Some(name)) {
        return None;
    }
    let krate = krate(name, args);
    let mut named = vec![(name.to_owned(), this(&krate, name, args))];
    for at in &places {
        let attr = &function.attrs[*at];
        named.push((ours(attr)?.to_owned(), marked(attr)));
    }
    // Locks that stand together are taken together, in the order in which they are written.
    let mut groups: Vec<Vec<(String, Attribute)>> = Vec::new();
    for one in named {
        match groups.last_mut().filter(|group| group[0].0 == one.0) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let mut ordered = groups.into_iter().rev().flatten().map(|(_, attr)| attr);
    let first = ordered.next()?;
    for (at, attr) in places.into_iter().zip(ordered) {
        function.attrs[at] = attr;
    }
    function.attrs.insert(0, first);
    Some(function.into_token_stream())
}

/// Which of ours it is.
fn ours(attr: &Attribute) -> Option<&'static str> {
    let last = attr.path().segments.last()?;
    [model::NAME, retry::model::NAME].into_iter().find(|name| last.ident == name)
}

fn marked(attr: &Attribute) -> Attribute {
    let (path, args) = (attr.path(), arguments(attr));
    syn::parse_quote!(#[#path(@ #args)])
}

pub(crate) fn arguments(attr: &Attribute) -> TokenStream {
    match &attr.meta {
        syn::Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    }
}

/// The attribute that expands now, to be written down again.
fn this(krate: &TokenStream, name: &str, args: &TokenStream) -> Attribute {
    // What is wrong with it is reported where it stands.
    let name = syn::Ident::new(name, Span::call_site());
    let path = quote_spanned!(Span::call_site()=> #krate::#name);
    syn::parse_quote!(#[#path(@ #args)])
}

fn krate(name: &str, args: &TokenStream) -> TokenStream {
    let given = match name {
        model::NAME => options::Options::parse(args.clone()).0.krate,
        _ => retry::krate(args.clone()),
    };
    if let Some(given) = given {
        return given.value.0.to_token_stream();
    }
    // Both crates have both attributes.
    let found = Runtime::Async.path(name, Span::call_site());
    let found = found.or_else(|_| Runtime::Blocking.path(name, Span::call_site()));
    found.unwrap_or_else(|_| quote!(::tairlock))
}

/// Whether a retry is still to be put around what is made of these attributes.
pub(crate) fn is_inside_a_retry(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| ours(attr) == Some(retry::model::NAME))
}
