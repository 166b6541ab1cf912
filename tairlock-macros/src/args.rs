//! Arguments on their way into the body: each is bound again inside, in order, so that it is dropped
//! there, in the order in which a plain function drops it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{
    Attribute, FnArg, Ident, Pat, PatIdent, ReceiverKind, Signature, Token, Type,
    token::SelfValue,
    visit_mut::{self, VisitMut},
};

use crate::template::mentions;

/// One `let` in front of the body.
pub(crate) struct Binding {
    attrs: Vec<Attribute>,
    mutability: Option<Token![mut]>,
    pub(crate) ident: Ident,
    /// The user's eyes see a use in the attribute that rustc does not see behind this binding.
    used_by_attribute: bool,
}

/// All arguments of a function.
pub(crate) struct Arguments {
    /// A receiver that owns something: it cannot be bound again, but it can be drawn in.
    owned_self: Option<SelfValue>,
    pub(crate) bindings: Vec<Binding>,
}

impl Arguments {
    /// Takes from `sig` what belongs to the bindings inside: `mut` and lint levels.
    pub(crate) fn take(sig: &mut Signature, attribute: &TokenStream) -> Self {
        let mut all = Self { owned_self: None, bindings: Vec::new() };
        for (index, arg) in sig.inputs.iter_mut().enumerate() {
            let arg = match arg {
                FnArg::Receiver(receiver) => {
                    let owned = match &receiver.kind {
                        ReceiverKind::Value => true,
                        ReceiverKind::Typed(_, ty) => !matches!(**ty, Type::Reference(_)),
                        _ => false,
                    };
                    all.owned_self = owned.then_some(receiver.self_token);
                    continue;
                }
                FnArg::Typed(arg) => arg,
            };
            let attrs = take_attrs(&mut arg.attrs);
            if let Pat::Wild(wild) = &*arg.pat {
                let span = wild.underscore_token.span.resolved_at(Span::mixed_site());
                let ident = format_ident!("_{}", index, span = span);
                *arg.pat = syn::parse_quote!(#ident);
            }
            let mut names = Names(Vec::new());
            names.visit_pat_mut(&mut arg.pat);
            for (ident, mutability) in names.0 {
                let used_by_attribute = mentions(attribute.clone(), &ident);
                let attrs = attrs.clone();
                all.bindings.push(Binding { attrs, mutability, ident, used_by_attribute });
            }
        }
        all
    }
}

/// `cfg` for the binding too, lint levels for the binding only.
fn take_attrs(attrs: &mut Vec<Attribute>) -> Vec<Attribute> {
    let is_lint = |attr: &Attribute| {
        ["allow", "expect", "warn", "deny", "forbid"].iter().any(|name| attr.path().is_ident(name))
    };
    let taken = attrs.iter().filter(|attr| is_lint(attr) || attr.path().is_ident("cfg"));
    let taken = taken.cloned().collect();
    attrs.retain(|attr| !is_lint(attr));
    taken
}

/// The names that a pattern binds, each once; their `mut` is taken out.
struct Names(Vec<(Ident, Option<Token![mut]>)>);

impl VisitMut for Names {
    fn visit_pat_ident_mut(&mut self, pat: &mut PatIdent) {
        // `ref mut x` stays: that is another `mut`.
        let mutability = if pat.by_ref.is_none() { pat.mutability.take() } else { None };
        if !self.0.iter().any(|(ident, _)| *ident == pat.ident) {
            self.0.push((pat.ident.clone(), mutability));
        }
        visit_mut::visit_pat_ident_mut(self, pat);
    }

    // A block or a closure inside a pattern's constant binds nothing.
    fn visit_expr_mut(&mut self, _: &mut syn::Expr) {}
}

impl ToTokens for Arguments {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let span = Span::mixed_site();
        if let Some(this) = &self.owned_self {
            tokens.extend(quote_spanned!(span=> _ = &#this;));
        }
        for Binding { attrs, mutability, ident, used_by_attribute } in &self.bindings {
            let unused =
                used_by_attribute.then(|| quote_spanned!(span=> #[allow(unused_variables)]));
            let underscore = ident
                .to_string()
                .starts_with('_')
                .then(|| quote_spanned!(span=> #[allow(clippy::no_effect_underscore_binding, clippy::used_underscore_binding)]));
            tokens.extend(quote_spanned! {span=>
                #(#attrs)* #unused #underscore let #mutability #ident = #ident;
            });
        }
    }
}
