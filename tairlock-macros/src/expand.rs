//! From the model to tokens. Cannot fail, decides nothing: one call around an untouched body.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;

use crate::{
    args::Arguments,
    choices::Keys,
    item::{self, Output},
    model::{Lock, Model, Work},
    options::Options,
    template::{Key, Part},
};

impl ToTokens for Model {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let names = item::names(&self.function.sig);
        let label = self.function.sig.ident.unraw().to_string();
        let wrap =
            |output, is_async, body| wrap(&self.locks, &names, &label, output, is_async, body);
        let body = match &self.work {
            Work::Async { arguments, body, output } => {
                let (pin, body) = (pin(&self.locks[0].krate, output), bound(arguments, body));
                wrap(output, true, quote_spanned!(Span::mixed_site()=> #pin #body))
            }
            Work::Blocking { arguments, body, output } => {
                wrap(output, false, bound(arguments, body))
            }
            Work::Within { within, output } => {
                let (pin, block) = (pin(&self.locks[0].krate, output), scope(&within.block));
                let body = quote_spanned!(Span::mixed_site()=> #pin #block);
                within.with_block(wrap(output, true, body))
            }
        };
        self.function.with_body(&body, tokens);
    }
}

/// `body` under `locks`, the first outermost.
fn wrap(
    locks: &[Lock],
    names: &[Ident],
    label: &str,
    output: &Output,
    is_async: bool,
    body: TokenStream,
) -> TokenStream {
    let span = Span::mixed_site();
    let innermost_first = locks.iter().rev();
    innermost_first.fold(body, |body, Lock { krate, options, is_repeated }| {
        let private = quote_spanned!(span=> #krate::__private);
        let lock = lock(&private, options, names, label);
        let lease = options.lease.as_ref().map(|given| &given.value.0);
        let lease = lease.map_or_else(|| quote_spanned!(span=> _), ToTokens::to_token_stream);
        // In a retry, what the body uses must be there for the next attempt too.
        let by_value = (!is_repeated).then(|| quote_spanned!(span=> move));
        let rebound = (*is_repeated && options.lease.is_some())
            .then(|| quote_spanned!(span=> let #lease = #lease;));
        let answers = answers(&private, options, output);
        let (closure, end) = if is_async {
            let closure =
                quote_spanned!(span=> #by_value |#lease| async #by_value { #rebound #body });
            (closure, Some(quote_spanned!(span=> .await)))
        } else {
            let ty = &output.ty;
            (quote_spanned!(span=> #by_value |#lease| -> #ty { #body }), None)
        };
        quote_spanned! {span=>
            let lock = #lock;
            #private::hold(lock, #answers, #closure) #end
        }
    })
}

/// What to answer in the place of the body. The type is named, so that a wrong one is reported where it
/// stands, and once.
fn answers(private: &TokenStream, options: &Options, output: &Output) -> TokenStream {
    let span = Span::mixed_site();
    let ty = if output.nameable { output.ty.clone() } else { quote_spanned!(span=> _) };
    let at_type = output.span.resolved_at(span);
    let skips = skips(options);
    let word = |plain, skip| Ident::new(if skips { skip } else { plain }, at_type);
    let answers = match &options.or_else {
        Some(given) => {
            let (or_else, word) = (&given.value.0, word("or_else", "skip_or_else"));
            quote_spanned!(span=> #private::#word::<#ty, _>(#or_else))
        }
        None => {
            let word = word("outcome", "skip");
            quote_spanned!(span=> #private::#word::<#ty>())
        }
    };
    let finish = options.on_lost.as_ref().is_some_and(|given| given.value.finish);
    let finish = finish.then(|| quote_spanned!(span=> .finish()));
    quote_spanned!(span=> #answers #finish)
}

fn skips(options: &Options) -> bool {
    options.on_busy.as_ref().is_some_and(|given| given.value.skip)
}

/// The `Lock` that the options describe, or an `Option` of it.
fn lock(private: &TokenStream, options: &Options, names: &[Ident], label: &str) -> TokenStream {
    let span = Span::mixed_site();
    let (keys, default, on) = match &options.keys {
        Some(given) => (keys(private, &given.value, names), "default_locks", "locks_on"),
        None => {
            let key = options.key.as_ref().map(|given| key(private, &given.value, names));
            (key.unwrap_or_default(), "default_lock", "lock_on")
        }
    };
    let (default, on) = (Ident::new(default, span), Ident::new(on, span));
    let label = options.name.is_none().then(|| quote_spanned!(span=> .name(#label)));
    // Who does not mind to be skipped does not wait to be.
    let wait = (skips(options) && options.wait.is_none())
        .then(|| quote_spanned!(span=> .wait(#private::Duration::ZERO)));
    let setters = options.setters(private);
    let setters = quote_spanned!(span=> #label #wait #setters);
    let lock = match &options.using {
        Some(using) => {
            let expr = &using.value.0;
            let first = expr.to_token_stream().into_iter().next();
            let at = first.map_or(span, |first| first.span().resolved_at(span));
            let reference = quote_spanned!(at=> &(#expr));
            quote_spanned!(span=> #private::#on(#reference, #keys) #setters)
        }
        None => quote_spanned!(span=> #private::#default(#keys) #setters),
    };
    match &options.when {
        Some(given) => {
            let condition = &given.value.0;
            quote_spanned!(span=> if #condition { #private::Some(#lock) } else { #private::None })
        }
        None => lock,
    }
}

fn keys(private: &TokenStream, keys: &Keys, names: &[Ident]) -> TokenStream {
    let span = Span::mixed_site();
    match keys {
        Keys::Expr(expr) => Keys::iterated(expr),
        Keys::Each(each) => {
            let each = each.iter().map(|one| key(private, one, names));
            quote_spanned!(span=> [#(#private::key(#each)),*])
        }
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
            if let #krate::__private::Some(output) = #krate::__private::None::<#ty>
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
