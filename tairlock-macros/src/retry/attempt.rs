//! The arguments of one attempt: owned ones cloned, exclusive borrows borrowed again, shared ones as
//! they are. What the body does not mention stays where it is.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{
    Attribute, FnArg, Ident, Pat, PatIdent, Signature, Type,
    visit::{self, Visit},
};

use crate::{args::Arguments, template::mentions};

/// The arguments that the body mentions.
pub(crate) struct Attempt {
    fresh: Vec<Fresh>,
    /// Bound again in the body: dropped there, in order, and `mut` where they were.
    pub(crate) arguments: Arguments,
}

/// How an attempt gets an argument of its own.
struct Fresh {
    cfgs: Vec<Attribute>,
    ident: Ident,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    Clone,
    /// It is an exclusive borrow.
    Borrow,
    /// It is a shared borrow.
    Copy,
}

impl Attempt {
    /// Takes from `sig` what belongs to the bindings inside; `used` is what the attribute uses.
    pub(crate) fn take(sig: &mut Signature, body: &TokenStream, used: &TokenStream) -> Self {
        let mut fresh = Vec::new();
        let mut mentioned = sig.clone();
        mentioned.inputs.clear();
        let mut places = Vec::new();
        for (place, arg) in sig.inputs.iter().enumerate() {
            let FnArg::Typed(typed) = arg else { continue };
            let mut names = Names::default();
            names.pair(&typed.pat, Some(&typed.ty));
            names.0.retain(|(ident, _)| mentions(body.clone(), ident));
            if names.0.is_empty() {
                continue;
            }
            let is_cfg = |attr: &&Attribute| attr.path().is_ident("cfg");
            let cfgs: Vec<_> = typed.attrs.iter().filter(is_cfg).cloned().collect();
            fresh.extend(names.0.into_iter().map(|(ident, how)| {
                let cfgs = cfgs.clone();
                Fresh { cfgs, ident, how }
            }));
            mentioned.inputs.push(arg.clone());
            places.push(place);
        }
        let mut arguments = Arguments::take(&mut mentioned, used);
        arguments.bindings.retain(|binding| fresh.iter().any(|one| one.ident == binding.ident));
        for (place, arg) in places.into_iter().zip(mentioned.inputs) {
            sig.inputs[place] = arg;
        }
        Self { fresh, arguments }
    }

    /// The arguments of this attempt, in front of it.
    pub(crate) fn fresh(&self, private: &TokenStream) -> TokenStream {
        let span = Span::mixed_site();
        let each = self.fresh.iter().map(|Fresh { cfgs, ident, how }| {
            // A type that cannot be cloned is reported where the argument stands.
            let at = ident.span().resolved_at(span);
            let underscore = underscore(ident);
            let one = match how {
                How::Clone => quote_spanned!(at=> #private::per_attempt(&#ident)),
                How::Borrow => quote_spanned!(at=> &mut *#ident),
                How::Copy => return TokenStream::new(),
            };
            quote_spanned!(span=> #(#cfgs)* #underscore let #ident = #one;)
        });
        each.collect()
    }
}

/// What clippy has against a use of `_x` is against the user's own.
fn underscore(ident: &Ident) -> Option<TokenStream> {
    ident
        .to_string()
        .starts_with('_')
        .then(|| quote_spanned!(Span::mixed_site()=> #[allow(clippy::used_underscore_binding)]))
}

/// The names that a pattern binds.
#[derive(Default)]
struct Names(Vec<(Ident, How)>);

impl Names {
    /// `pat` against what is known of its type.
    fn pair(&mut self, pat: &Pat, ty: Option<&Type>) {
        match (pat, ty) {
            (_, Some(Type::Group(ty))) => self.pair(pat, Some(&ty.elem)),
            (_, Some(Type::Paren(ty))) => self.pair(pat, Some(&ty.elem)),
            (Pat::Paren(pat), _) => self.pair(&pat.pat, ty),
            (Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, .. }), Some(ty)) => {
                self.add(ident, how(ty));
            }
            (Pat::Tuple(pats), Some(Type::Tuple(types)))
                if pats.elems.len() == types.elems.len()
                    && !pats.elems.iter().any(|pat| matches!(pat, Pat::Rest(_))) =>
            {
                for (pat, ty) in pats.elems.iter().zip(&types.elems) {
                    self.pair(pat, Some(ty));
                }
            }
            // A pattern that looks through a borrow borrows.
            (pat, Some(ty @ Type::Reference(_))) if !matches!(pat, Pat::Reference(_)) => {
                self.all(pat, how(ty));
            }
            (pat, _) => self.all(pat, How::Clone),
        }
    }

    fn all(&mut self, pat: &Pat, default: How) {
        struct Inside<'a>(&'a mut Names, How);
        impl Visit<'_> for Inside<'_> {
            fn visit_pat_ident(&mut self, pat: &PatIdent) {
                let how = match (&pat.by_ref, &pat.mutability) {
                    (Some(_), Some(_)) => How::Borrow,
                    (Some(_), None) => How::Copy,
                    (None, _) => self.1,
                };
                self.0.add(&pat.ident, how);
                visit::visit_pat_ident(self, pat);
            }
            fn visit_expr(&mut self, _: &syn::Expr) {}
        }
        Inside(self, default).visit_pat(pat);
    }

    fn add(&mut self, ident: &Ident, how: How) {
        if !self.0.iter().any(|(known, _)| known == ident) {
            self.0.push((ident.clone(), how));
        }
    }
}

fn how(ty: &Type) -> How {
    match ty {
        Type::Group(ty) => how(&ty.elem),
        Type::Paren(ty) => how(&ty.elem),
        Type::Reference(ty) if ty.mutability.is_some() => How::Borrow,
        Type::Reference(_) => How::Copy,
        _ => How::Clone,
    }
}

impl ToTokens for Attempt {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.arguments.to_tokens(tokens);
    }
}
