//! The parameter that is the value: marked `#[value]`, filled from the server, unseen by callers.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{
    Attribute, Error, FnArg, GenericArgument, GenericParam, Ident, Lifetime, Meta, Pat,
    PathArguments, Signature, Type, WherePredicate, spanned::Spanned, visit::Visit,
};

use crate::item::{self, Errors};

/// The value as the body sees it.
pub(crate) struct Value {
    /// Lint levels.
    attrs: Vec<Attribute>,
    pat: Pat,
    /// What the body has a `&mut` of: `T`, or `Option<T>`.
    pub(crate) seen: Type,
    /// `T`.
    pub(crate) ty: Type,
    /// Whether it need not be there.
    pub(crate) is_optional: bool,
    /// The marker.
    pub(crate) span: Span,
    /// The parameter's names.
    pub(crate) names: Vec<Ident>,
    /// As it was written.
    written: Type,
}

/// Takes the marked parameter out of `sig`, and the markers of all that should have none.
pub(crate) fn take(sig: &mut Signature, errors: &mut Errors) -> Option<Value> {
    let mut found: Option<(FnArg, Span)> = None;
    let pairs = std::mem::take(&mut sig.inputs).into_pairs();
    let mut kept = Vec::new();
    for pair in pairs {
        let (mut arg, comma) = pair.into_tuple();
        let attrs = match &mut arg {
            FnArg::Receiver(receiver) => &mut receiver.attrs,
            FnArg::Typed(typed) => &mut typed.attrs,
        };
        let marker = attrs.iter().position(|attr| attr.path().is_ident("value"));
        let marker = marker.map(|at| attrs.remove(at));
        let Some(marker) = marker else {
            kept.push(syn::punctuated::Pair::new(arg, comma));
            continue;
        };
        let span = marker.path().span();
        if !matches!(marker.meta, Meta::Path(_)) {
            errors.add(Error::new_spanned(
                &marker.meta,
                "`#[value]` has no arguments: options go into `#[optimistic_retry(…)]`",
            ));
        }
        if matches!(arg, FnArg::Receiver(_)) {
            errors.at(span, "`self` cannot be the value: mark a parameter of type `&mut T`");
            kept.push(syn::punctuated::Pair::new(arg, comma));
        } else if found.is_some() {
            errors.at(
                span,
                "there is a `#[value]` already, and one update is about one key: make one value of \
                 both, or guard the function with `#[distributed_lock]`",
            );
        } else {
            found = Some((arg, span));
        }
    }
    sig.inputs = kept.into_iter().collect();
    let Some((FnArg::Typed(arg), span)) = found else { return None };
    let mut alone = sig.clone();
    alone.inputs = std::iter::once(FnArg::Typed(arg.clone())).collect();
    let names = item::names(&alone);
    let seen = check(&arg, errors);
    take_lifetimes(sig, &arg.ty);
    let inside = of_option(&seen);
    let ty = inside.unwrap_or(&seen).clone();
    Some(Value {
        is_optional: of_option(&seen).is_some(),
        attrs: arg.attrs.into_iter().filter(|attr| !attr.path().is_ident("cfg")).collect(),
        pat: *arg.pat,
        seen,
        ty,
        span,
        names,
        written: *arg.ty,
    })
}

/// What the parameter is a `&mut` of.
fn check(arg: &syn::PatType, errors: &mut Errors) -> Type {
    if let Some(cfg) = arg.attrs.iter().find(|attr| attr.path().is_ident("cfg")) {
        errors.add(Error::new_spanned(
            cfg,
            "whether there is a value cannot depend on a `cfg`: put it on the whole function",
        ));
    }
    let ty = peeled(&arg.ty);
    let (pat, shown) = (arg.pat.to_token_stream(), ty.to_token_stream());
    let seen = match ty {
        Type::Reference(reference) if reference.mutability.is_some() => (*reference.elem).clone(),
        Type::Reference(reference) => {
            let elem = reference.elem.to_token_stream();
            errors.add(Error::new_spanned(
                ty,
                format!(
                    "the value is there to be changed: write `{pat}: &mut {elem}`; to read it only, call \
                     `client.versioned(key).read()`"
                ),
            ));
            (*reference.elem).clone()
        }
        _ => {
            errors.add(Error::new_spanned(
                ty,
                format!("the value is changed in its place: write `{pat}: &mut {shown}`"),
            ));
            ty.clone()
        }
    };
    if let Some(span) = hidden(&seen) {
        errors.at(span, "callers do not pass the value, so nothing tells its type: name the type");
    }
    seen
}

/// Where an `impl Trait` is in `ty`.
fn hidden(ty: &Type) -> Option<Span> {
    struct Hidden(Option<Span>);
    impl Visit<'_> for Hidden {
        fn visit_type_impl_trait(&mut self, ty: &syn::TypeImplTrait) {
            self.0 = Some(ty.span());
        }
    }
    let mut hidden = Hidden(None);
    hidden.visit_type(ty);
    hidden.0
}

fn peeled(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peeled(&group.elem),
        Type::Paren(paren) => peeled(&paren.elem),
        ty => ty,
    }
}

/// `T` of an `Option<T>`.
fn of_option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = peeled(ty) else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(ty) if arguments.args.len() == 1 => Some(ty),
        _ => None,
    }
}

/// Takes out of the generics the lifetimes that only the value had: `#[async_trait]` has named the
/// elided ones, and the trait's method has none for it.
fn take_lifetimes(sig: &mut Signature, ty: &Type) {
    #[derive(Default)]
    struct Lifetimes(Vec<Lifetime>);
    impl Visit<'_> for Lifetimes {
        fn visit_lifetime(&mut self, lifetime: &Lifetime) {
            self.0.push(lifetime.clone());
        }
    }
    let (mut of_value, mut others) = (Lifetimes::default(), Lifetimes::default());
    of_value.visit_type(ty);
    sig.inputs.iter().for_each(|arg| others.visit_fn_arg(arg));
    others.visit_return_type(&sig.output);
    let only = |lifetime: &Lifetime| of_value.0.contains(lifetime) && !others.0.contains(lifetime);
    let params = std::mem::take(&mut sig.generics.params);
    let stays = |param: &GenericParam| !matches!(param, GenericParam::Lifetime(param) if only(&param.lifetime));
    sig.generics.params = params.into_iter().filter(stays).collect();
    if let Some(clause) = &mut sig.generics.where_clause {
        let predicates = std::mem::take(&mut clause.predicates);
        let stays = |predicate: &WherePredicate| !matches!(predicate, WherePredicate::Lifetime(bound) if only(&bound.lifetime));
        clause.predicates = predicates.into_iter().filter(stays).collect();
    }
}

impl Value {
    /// Where `T` stands.
    pub(crate) fn ty_span(&self) -> Span {
        self.ty.span()
    }

    /// The parameter, bound to what `from` says.
    pub(crate) fn bind(&self, from: &TokenStream) -> TokenStream {
        let Self { attrs, pat, seen, .. } = self;
        quote_spanned!(Span::mixed_site()=> #(#attrs)* let #pat: &mut #seen = #from;)
    }

    /// The parameter, for a body that will never run: so that a mistake is not followed by others. `None`
    /// if its type cannot be said there.
    pub(crate) fn stub(&self) -> Option<TokenStream> {
        let Self { pat, written, .. } = self;
        let stub = quote_spanned!(Span::mixed_site()=> let #pat: #written = loop {};);
        hidden(written).is_none().then_some(stub)
    }
}
