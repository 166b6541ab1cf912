//! From the model to tokens. Cannot fail, decides nothing: one call around an untouched body.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};

use crate::{
    args::Arguments,
    item::{self, Output},
    model::{Lock, Model, Work},
    template::{Key, Part},
};

impl ToTokens for Model {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let names = item::names(&self.function.sig);
        let body = match &self.work {
            Work::Async { arguments, body, output } => {
                let pin = pin(&self.locks[0].krate, output);
                let body = bound(arguments, body);
                wrap(
                    &self.locks,
                    &names,
                    output,
                    true,
                    quote_spanned!(Span::mixed_site()=> #pin #body),
                )
            }
            Work::Blocking { arguments, body, output } => {
                wrap(&self.locks, &names, output, false, bound(arguments, body))
            }
            Work::Within { within, output } => {
                let block = scope(&within.block);
                let pin = pin(&self.locks[0].krate, output);
                let body = quote_spanned!(Span::mixed_site()=> #pin #block);
                within.with_block(wrap(&self.locks, &names, output, true, body))
            }
        };
        self.function.with_body(&body, tokens);
    }
}

/// `body` under `locks`, the first outermost.
fn wrap(
    locks: &[Lock],
    names: &[Ident],
    output: &Output,
    is_async: bool,
    body: TokenStream,
) -> TokenStream {
    let span = Span::mixed_site();
    let innermost_first = locks.iter().rev();
    innermost_first.fold(body, |body, Lock { krate, options, is_repeated }| {
        let private = quote_spanned!(span=> #krate::__private);
        let lock = lock(&private, options, names);
        let lease = options.lease.as_ref().map(|given| &given.value.0);
        let lease = lease.map_or_else(|| quote_spanned!(span=> _), ToTokens::to_token_stream);
        // In a retry, what the body uses must be there for the next attempt too.
        let by_value = (!is_repeated).then(|| quote_spanned!(span=> move));
        let rebound = (*is_repeated && options.lease.is_some())
            .then(|| quote_spanned!(span=> let #lease = #lease;));
        // Types are named here so that a wrong one is reported at the return type.
        let Output { ty, nameable, span: ty_span } = output;
        let types = if *nameable { ty.clone() } else { quote_spanned!(span=> _) };
        let at_type = ty_span.resolved_at(span);
        let (function, or_else) = match &options.or_else {
            Some(given) => {
                let or_else = &given.value.0;
                (quote_spanned!(at_type=> hold_or), Some(quote_spanned!(span=> #or_else,)))
            }
            None => (quote_spanned!(at_type=> hold), None),
        };
        let (generics, closure, end) = match (is_async, options.or_else.is_some()) {
            (true, or) => (
                if or { quote_spanned!(span=> _, _, _) } else { quote_spanned!(span=> _, _) },
                quote_spanned!(span=> #by_value |#lease| async #by_value { #rebound #body }),
                Some(quote_spanned!(span=> .await)),
            ),
            (false, or) => (
                if or { quote_spanned!(span=> _, _) } else { quote_spanned!(span=> _) },
                quote_spanned!(span=> #by_value |#lease| -> #ty { #body }),
                None,
            ),
        };
        quote_spanned! {span=>
            let lock = #lock;
            #private::#function::<#types, #generics>(lock, #or_else #closure) #end
        }
    })
}

/// The `Lock` that the options describe.
fn lock(private: &TokenStream, options: &crate::options::Options, names: &[Ident]) -> TokenStream {
    let span = Span::mixed_site();
    let key = options.key.as_ref().map(|given| key(private, &given.value, names));
    let setters = options.setters(private);
    match &options.using {
        Some(using) => {
            let expr = &using.value.0;
            let first = expr.to_token_stream().into_iter().next();
            let at = first.map_or(span, |first| first.span().resolved_at(span));
            let reference = quote_spanned!(at=> &(#expr));
            quote_spanned!(span=> #private::lock_on(#reference, #key) #setters)
        }
        None => quote_spanned!(span=> #private::default_lock(#key) #setters),
    }
}

/// The expression that makes a key, in a function whose arguments are called `names`.
pub(crate) fn key(private: &TokenStream, key: &Key, names: &[Ident]) -> TokenStream {
    let span = Span::mixed_site();
    let parts = match key {
        Key::Expr(expr) => return expr.to_token_stream(),
        Key::Template(parts) => parts,
    };
    if let [Part::Literal(text, at)] = &parts[..] {
        return quote_spanned!(*at=> #text);
    }
    let calls = parts.iter().map(|part| match part {
        Part::Literal(text, _) => quote_spanned!(span=> .literal(#text)),
        Part::Value { tokens, raw } => {
            let value = resolve(tokens.clone(), names);
            let at = value.clone().into_iter().next().map_or(span, |first| first.span());
            let at = at.resolved_at(span);
            if *raw {
                quote_spanned!(at=> .raw(&#value))
            } else {
                quote_spanned!(at=> .value(&#value))
            }
        }
    });
    quote_spanned!(span=> #private::Template::new() #(#calls)* .finish())
}

/// Gives names that are arguments the arguments' hygiene: the two differ where a macro wrote the one
/// and its caller the other.
fn resolve(tokens: TokenStream, names: &[Ident]) -> TokenStream {
    let each = tokens.into_iter().map(|mut tree| {
        match &tree {
            TokenTree::Ident(ident) => {
                if let Some(name) = names.iter().find(|name| *name == ident) {
                    let span = ident.span().resolved_at(name.span());
                    tree.set_span(span);
                }
            }
            TokenTree::Group(group) => {
                let mut new = Group::new(group.delimiter(), resolve(group.stream(), names));
                new.set_span(group.span());
                tree = new.into();
            }
            _ => {}
        }
        tree
    });
    each.collect()
}

/// Says the return type inside of an async block, as nothing else can.
pub(crate) fn pin(krate: &TokenStream, output: &Output) -> Option<TokenStream> {
    let Output { ty, nameable, span } = output;
    let span = span.resolved_at(Span::mixed_site());
    nameable.then(|| {
        quote_spanned! {span=>
            if let #krate::__private::core::option::Option::Some(output) =
                #krate::__private::core::option::Option::None::<#ty>
            {
                return output;
            }
        }
    })
}

/// The body with its arguments in front.
pub(crate) fn bound(arguments: &Arguments, body: &Group) -> TokenStream {
    let body = scope(body);
    quote_spanned!(Span::mixed_site()=> #arguments #body)
}

/// A block whose temporaries end with it, before the arguments around it, as a function's do; a block
/// in a block does not see to that before edition 2024, and rustc finds its braces unnecessary.
pub(crate) fn scope(block: &Group) -> TokenStream {
    quote_spanned!(Span::mixed_site()=> match () { () => #block })
}
