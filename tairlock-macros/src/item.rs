//! What every attribute on a function asks of it: that it is one, has a body, and can be wrapped.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Error, FnArg, Ident, ReturnType, Signature, Type,
    spanned::Spanned,
    visit_mut::{self, VisitMut},
};

use crate::{
    args::Arguments,
    function::{Body, Function},
    shape::Shape,
};

/// What the messages of an attribute say in the same places.
pub(crate) struct Words {
    /// The attribute's name.
    pub(crate) name: &'static str,
    /// What it does to a body.
    pub(crate) verb: &'static str,
    /// What it asks a server for.
    pub(crate) thing: &'static str,
    /// Where the body is.
    pub(crate) place: &'static str,
    /// What is wrong with a future that runs later.
    pub(crate) too_late: &'static str,
}

/// A return type as it can be written inside of a function.
pub(crate) struct Output {
    /// With `_` for each `impl Trait`.
    pub(crate) ty: TokenStream,
    /// Whether `Option<ty>` is a type that can be written: not so for `!`.
    pub(crate) nameable: bool,
    pub(crate) span: Span,
}

/// Mistakes, and what to emit beside them so that they are the only ones.
pub(crate) struct Refusal {
    pub(crate) error: Error,
    pub(crate) item: TokenStream,
}

/// Collects mistakes.
#[derive(Default)]
pub(crate) struct Errors(pub(crate) Option<Error>);

impl Errors {
    pub(crate) fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.add(Error::new(span, message));
    }
}

/// What is in the function's braces.
pub(crate) fn find_body(words: &Words, function: &Function, errors: &mut Errors) -> Group {
    match &function.body {
        Body::Block(body) => body.clone(),
        Body::None(span) => {
            errors.at(
                *span,
                format!(
                    "there is no body to {} here: put `#[{}]` on the method in each `impl`, or give the \
                     trait's method a body",
                    words.verb, words.name
                ),
            );
            Group::new(Delimiter::Brace, TokenStream::new())
        }
    }
}

/// Where in the function the work is done.
pub(crate) fn find_shape(
    words: &Words,
    sig: &Signature,
    body: &Group,
    errors: &mut Errors,
) -> Shape {
    if sig.asyncness.is_some() {
        return Shape::Plain;
    }
    let shape = Shape::of(sig, body);
    if matches!(shape, Shape::Future) {
        let returned = match &sig.output {
            ReturnType::Type(_, ty) => ty.to_token_stream(),
            ReturnType::Default => TokenStream::new(),
        };
        errors.add(Error::new_spanned(
            returned,
            format!(
                "this function returns before its future runs, and {}: make it an `async fn`, or end it \
                 with `async move {{ … }}` or `Box::pin(async move {{ … }})`",
                words.too_late
            ),
        ));
    }
    shape
}

/// Refuses what cannot be wrapped at all.
pub(crate) fn check_signature(words: &Words, sig: &Signature, errors: &mut Errors) {
    if let Some(constness) = sig.constness {
        errors.at(
            constness.span,
            format!(
                "a `const fn` can run in the compiler, where there is no server to ask for a {}: remove \
                 `const`",
                words.thing
            ),
        );
    }
    if let Some(variadic) = &sig.variadic {
        errors.at(
            variadic.dots.span(),
            format!(
                "variadic arguments cannot be handed on to the body {}: move the work into a function \
                 without them",
                words.place
            ),
        );
    }
}

/// The message for an attribute on something else.
pub(crate) fn not_a_function(name: &str, item: &TokenStream, error: Error) -> Error {
    let kinds =
        ["impl", "trait", "struct", "enum", "union", "mod", "const", "static", "type", "use"];
    let head: Vec<_> = item
        .clone()
        .into_iter()
        .filter_map(|tree| match tree {
            TokenTree::Ident(ident) => Some(ident),
            _ => None,
        })
        .collect();
    let kind = head.iter().find(|ident| kinds.iter().any(|kind| *ident == kind));
    let of_trait = |kind: &&Ident| **kind == "impl" || **kind == "trait";
    match kind {
        _ if head.iter().any(|ident| ident == "fn") => error,
        Some(kind) if of_trait(&kind) => Error::new(
            kind.span(),
            format!("`#[{name}]` goes on a function: put it on the methods of this `{kind}`"),
        ),
        Some(kind) => {
            Error::new(kind.span(), format!("`#[{name}]` goes on a function, not on a `{kind}`"))
        }
        None => Error::new_spanned(item, format!("`#[{name}]` goes on a function")),
    }
}

impl Output {
    pub(crate) fn of_signature(sig: &Signature) -> Self {
        match &sig.output {
            ReturnType::Type(_, ty) => Self::of((**ty).clone()),
            ReturnType::Default => {
                let mut unit = Group::new(Delimiter::Parenthesis, TokenStream::new());
                unit.set_span(sig.ident.span());
                let ty = TokenTree::Group(unit).into();
                Self { ty, nameable: true, span: sig.ident.span() }
            }
        }
    }

    pub(crate) fn of(mut ty: Type) -> Self {
        struct Infer;
        impl VisitMut for Infer {
            fn visit_type_mut(&mut self, ty: &mut Type) {
                match ty {
                    Type::ImplTrait(hidden) => {
                        *ty = Type::Infer(syn::parse_quote_spanned!(hidden.span()=> _));
                    }
                    _ => visit_mut::visit_type_mut(self, ty),
                }
            }
        }
        Infer.visit_type_mut(&mut ty);
        let nameable = !matches!(ty, Type::Never(_));
        Self { span: ty.span(), ty: ty.into_token_stream(), nameable }
    }

    pub(crate) fn unknown() -> Self {
        let span = Span::mixed_site();
        Self { ty: quote::quote_spanned!(span=> _), nameable: true, span }
    }
}

/// The names of a function's arguments and of its receiver, with the hygiene that they have there.
pub(crate) fn names(sig: &Signature) -> Vec<Ident> {
    let mut copy = sig.clone();
    let arguments = Arguments::take(&mut copy, &TokenStream::new());
    let mut names: Vec<_> = arguments.bindings.into_iter().map(|binding| binding.ident).collect();
    if let Some(FnArg::Receiver(receiver)) = sig.inputs.first() {
        names.push(Ident::new("self", receiver.self_token.span));
    }
    names
}
