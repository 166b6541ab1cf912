//! From syntax to a validated model: every rule about where `#[distributed_lock]` can stand, each with
//! the token at fault and the remedy.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Error, FnArg, Ident, Meta, ReturnType, Signature, Type,
    spanned::Spanned,
    visit_mut::{self, VisitMut},
};

use crate::{
    args::Arguments,
    function::{Body, Function},
    krate::Runtime,
    options::Options,
    shape::{Shape, Within},
    template::mentions,
};

/// The attribute's name.
pub(crate) const NAME: &str = "distributed_lock";

/// A function and its locks, checked: nothing that follows can fail.
pub(crate) struct Model {
    pub(crate) function: Function,
    /// Outermost first: locks are taken in the order in which they are written.
    pub(crate) locks: Vec<Lock>,
    pub(crate) work: Work,
}

/// One lock.
pub(crate) struct Lock {
    pub(crate) krate: TokenStream,
    pub(crate) options: Options,
}

/// What runs under the locks.
pub(crate) enum Work {
    /// The body of an `async fn`.
    Async { arguments: Arguments, body: Group, output: Output },
    /// The body of a plain `fn`.
    Blocking { arguments: Arguments, body: Group, output: Output },
    /// An async block inside of a plain `fn`.
    Within { within: Box<Within>, output: Output },
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
struct Errors(Option<Error>);

impl Errors {
    fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.add(Error::new(span, message));
    }
}

impl Model {
    pub(crate) fn new(args: TokenStream, item: TokenStream) -> Result<Self, Refusal> {
        let mut function: Function = match syn::parse2(item.clone()) {
            Ok(function) => function,
            Err(error) => return Err(Refusal { error: not_a_function(&item, error), item }),
        };
        let mut errors = Errors::default();
        let mut attributes = vec![(args, Span::call_site())];
        attributes.extend(take_siblings(&mut function.attrs));
        let options: Vec<_> = attributes
            .into_iter()
            .map(|(args, span)| parse_options(args, span, &function.sig, &mut errors))
            .collect();
        check_signature(&function.sig, &mut errors);
        let body = find_body(&function, &mut errors);
        let shape = find_shape(&function.sig, &body, &mut errors);
        let locks = find_locks(options, &function.sig, &shape, &mut errors);
        if let Some(error) = errors.0 {
            // What only a key uses would be found unused now.
            let item = quote::quote!(#[allow(unused_variables)] #function);
            return Err(Refusal { error, item });
        }
        let used: TokenStream = locks.iter().map(|lock| lock.options.tokens()).collect();
        let work = Work::new(&mut function.sig, body, shape, &used);
        Ok(Self { function, locks, work })
    }
}

impl Work {
    fn new(sig: &mut Signature, body: Group, shape: Shape, used: &TokenStream) -> Self {
        if let Shape::Within(mut within) = shape {
            let mut names = names(sig);
            names.retain(|name| mentions(used.clone(), name));
            within.mark_used(&names);
            let output = within.output.clone().map_or_else(Output::unknown, Output::of);
            return Self::Within { within, output };
        }
        let output = Output::of_signature(sig);
        let arguments = Arguments::take(sig, used);
        match sig.asyncness {
            Some(_) => Self::Async { arguments, body, output },
            None => Self::Blocking { arguments, body, output },
        }
    }
}

fn parse_options(args: TokenStream, span: Span, sig: &Signature, errors: &mut Errors) -> Options {
    let (options, error) = Options::parse(args);
    // A `key` that did not parse is not missing.
    if options.key.is_none() && options.keys.is_none() && error.is_none() {
        errors.at(
            span,
            format!(
                "`key` is missing: name what is locked, as in `key = \"{}\"` or, with an argument in \
                 it, `key = \"order:{{order_id}}\"`",
                sig.ident
            ),
        );
    }
    if let Some(error) = error {
        errors.add(error);
    }
    if let (Some(_), Some(keys)) = (&options.key, &options.keys) {
        errors.at(
            keys.name.span(),
            "`key` is one lock and `keys` are several: put all of them into `keys`",
        );
    }
    if let Some(lease) = &options.lease {
        let lease = &lease.value.0;
        if names(sig).contains(lease) {
            errors.at(
                lease.span(),
                format!("the function has an argument `{lease}`: give the lease another name"),
            );
        }
    }
    options
}

fn find_body(function: &Function, errors: &mut Errors) -> Group {
    match &function.body {
        Body::Block(body) => body.clone(),
        Body::None(span) => {
            errors.at(
                *span,
                format!(
                    "there is no body to lock here: put `#[{NAME}]` on the method in each `impl`, or \
                     give the trait's method a body"
                ),
            );
            Group::new(Delimiter::Brace, TokenStream::new())
        }
    }
}

fn find_shape(sig: &Signature, body: &Group, errors: &mut Errors) -> Shape {
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
            "this function returns before its future runs, and the lock would be gone by then: make it \
             an `async fn`, or end it with `async move { … }` or `Box::pin(async move { … })`",
        ));
    }
    shape
}

fn find_locks(
    options: Vec<Options>,
    sig: &Signature,
    shape: &Shape,
    errors: &mut Errors,
) -> Vec<Lock> {
    let (runtime, keyword) = match (sig.asyncness, shape) {
        (Some(keyword), _) => (Runtime::Async, keyword.span),
        (None, Shape::Plain) => (Runtime::Blocking, sig.fn_token.span),
        (None, Shape::Within(_) | Shape::Future) => (Runtime::Async, sig.fn_token.span),
    };
    let mut missing = None;
    let mut locks = Vec::new();
    for options in options {
        if let (Runtime::Blocking, Some(on_lost)) = (runtime, &options.on_lost)
            && !on_lost.value.finish
        {
            errors.at(
                on_lost.value.word.span(),
                "a blocking body cannot be cut off, and runs to its end: remove `on_lost`, or make this \
                 an `async fn`",
            );
        }
        let krate = match &options.krate {
            Some(given) => given.value.0.to_token_stream(),
            None => match runtime.path(NAME, keyword) {
                Ok(krate) => krate,
                Err(error) => {
                    missing = Some(error);
                    continue;
                }
            },
        };
        locks.push(Lock { krate, options });
    }
    if let Some(error) = missing {
        errors.add(error);
    }
    locks
}

/// The message for an attribute on something else.
fn not_a_function(item: &TokenStream, error: Error) -> Error {
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
            format!("`#[{NAME}]` goes on a function: put it on the methods of this `{kind}`"),
        ),
        Some(kind) => {
            Error::new(kind.span(), format!("`#[{NAME}]` goes on a function, not on a `{kind}`"))
        }
        None => Error::new_spanned(item, format!("`#[{NAME}]` goes on a function")),
    }
}

/// Takes the further attributes of this name: all locks of a function are expanded together, because
/// one at a time would take them in the reverse order.
fn take_siblings(attrs: &mut Vec<Attribute>) -> Vec<(TokenStream, Span)> {
    let is_sibling =
        |attr: &Attribute| attr.path().segments.last().is_some_and(|s| s.ident == NAME);
    let siblings = attrs.iter().filter(|attr| is_sibling(attr)).map(|attr| {
        let args = match &attr.meta {
            Meta::List(list) => list.tokens.clone(),
            _ => TokenStream::new(),
        };
        (args, attr.path().span())
    });
    let siblings = siblings.collect();
    attrs.retain(|attr| !is_sibling(attr));
    siblings
}

fn check_signature(sig: &Signature, errors: &mut Errors) {
    if let Some(constness) = sig.constness {
        errors.at(
            constness.span,
            "a `const fn` can run in the compiler, where there is no server to ask for a lock: remove \
             `const`",
        );
    }
    if let Some(variadic) = &sig.variadic {
        errors.at(
            variadic.dots.span(),
            "variadic arguments cannot be handed on to the body under the lock: move the work into a \
             function without them",
        );
    }
}

impl Output {
    fn of_signature(sig: &Signature) -> Self {
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

    fn of(mut ty: Type) -> Self {
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

    fn unknown() -> Self {
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
