//! From syntax to a validated model: every rule about where `#[optimistic_retry]` can stand, each with
//! the token at fault and the remedy.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, FnArg, ReceiverKind, ReturnType, Signature, Type, spanned::Spanned};

use super::{
    attempt::Attempt,
    borrow,
    foreign::Repeatable,
    options::Options,
    value::{self, Value},
};
use crate::{
    function::{Body, Function},
    item::{self, Errors, Output, Refusal, Words},
    krate::Runtime,
    shape::{Shape, Within},
    template::{Key, mentions},
};

/// The attribute's name.
pub(crate) const NAME: &str = "optimistic_retry";

const WORDS: Words = Words {
    name: NAME,
    verb: "try again",
    thing: "value",
    place: "of every attempt",
    too_late: "there would be nothing to try again by then",
};

/// A function whose body runs again, checked: nothing that follows can fail.
pub(crate) struct Model {
    /// As callers see it.
    pub(crate) function: Function,
    pub(crate) krate: TokenStream,
    pub(crate) options: Options,
    /// What the body changes; without it, the body does everything by itself.
    pub(crate) value: Option<Value>,
    pub(crate) attempt: Attempt,
    pub(crate) output: Output,
    pub(crate) body: Repeatable,
    pub(crate) place: Place,
    /// Whether `self` is an exclusive borrow.
    pub(crate) exclusive_self: bool,
}

/// Where the body is.
pub(crate) enum Place {
    /// In an `async fn`.
    Async,
    /// In a plain `fn`.
    Blocking,
    /// In an async block inside of a plain `fn`.
    Within(Box<Within>),
}

impl Model {
    pub(crate) fn new(args: TokenStream, item: TokenStream) -> Result<Self, Refusal> {
        let mut function: Function = match syn::parse2(item.clone()) {
            Ok(function) => function,
            Err(error) => {
                return Err(Refusal { error: item::not_a_function(NAME, &item, error), item });
            }
        };
        let mut errors = Errors::default();
        let (options, error) = Options::parse(args);
        let is_whole = error.is_none();
        if let Some(error) = error {
            errors.add(error);
        }
        let with_value = function.sig.clone();
        let mut basic = Errors::default();
        refuse_siblings(&mut function.attrs, &mut basic);
        let value = value::take(&mut function.sig, &mut basic);
        match basic.0 {
            Some(error) => errors.add(error),
            None if is_whole => check_pairs(&options, value.as_ref(), &mut errors),
            None => {}
        }
        if let (Some(key), Some(value)) = (&options.key, &value) {
            check_key(&key.value, value, &mut errors);
        }
        item::check_signature(&WORDS, &function.sig, &mut errors);
        let body = item::find_body(&WORDS, &function, &mut errors);
        let shape = item::find_shape(&WORDS, &function.sig, &body, &mut errors);
        check_result([&with_value, &function.sig], &shape, &mut errors);
        let krate = find_krate(&options, &function.sig, &shape, &mut errors).unwrap_or_default();
        if let Some(error) = errors.0 {
            return Err(Refusal { error, item: stub(function, value.as_ref()) });
        }
        let exclusive_self = has_exclusive_self(&function.sig);
        let used = options.tokens();
        let mut sig = function.sig.clone();
        let (place, output, body) = match shape {
            Shape::Within(mut within) => {
                let output = within.output.clone().map_or_else(Output::unknown, Output::of);
                let mut names = item::names(&sig);
                names.retain(|name| mentions(used.clone(), name));
                within.mark_used(&names);
                let body = within.block.clone();
                (Place::Within(within), output, body)
            }
            _ if sig.asyncness.is_some() => (Place::Async, Output::of_signature(&sig), body),
            _ => (Place::Blocking, Output::of_signature(&sig), body),
        };
        let body = Repeatable::new(&body);
        let attempt = Attempt::take(&mut sig, &body.body.stream(), &used);
        // What stands in front of the async block may have a use for `mut`.
        if !matches!(place, Place::Within(_)) {
            function.sig = sig;
        }
        Ok(Self { function, krate, options, value, attempt, output, body, place, exclusive_self })
    }
}

/// What is emitted beside mistakes: the function as callers see it.
fn stub(mut function: Function, value: Option<&Value>) -> TokenStream {
    let mut item = quote!(#[allow(unused_variables, unused_mut, unreachable_code)]);
    if value.is_some() {
        borrow::free(&mut function.sig);
    }
    match (value, &function.body) {
        (Some(value), Body::Block(body)) => {
            let body = match value.stub() {
                Some(stub) => {
                    let content = body.stream();
                    quote_spanned!(Span::mixed_site()=> #stub #content)
                }
                None => quote_spanned!(Span::mixed_site()=> loop {}),
            };
            function.with_body(&body, &mut item);
        }
        _ => function.to_tokens(&mut item),
    }
    item
}

fn refuse_siblings(attrs: &mut Vec<Attribute>, errors: &mut Errors) {
    attrs.retain(|attr| {
        let is_sibling = attr.path().segments.last().is_some_and(|last| last.ident == NAME);
        if is_sibling {
            errors.at(
                attr.path().span(),
                format!("`#[{NAME}]` is given twice, and one loop is all there is: remove one"),
            );
        }
        !is_sibling
    });
}

/// A key needs a value, a value a key, and most options need both.
fn check_pairs(options: &Options, value: Option<&Value>, errors: &mut Errors) {
    match (&options.key, value) {
        (Some(key), None) => errors.at(
            key.name.span(),
            "there is a `key`, and no parameter for what stands there: mark one, as in `#[value] stock: \
             &mut Stock`",
        ),
        (None, Some(value)) => errors.at(
            value.span,
            format!(
                "nothing says where the value is: `#[{NAME}(key = \"stock:{{sku}}\")]`, with a key of \
                 yours"
            ),
        ),
        (None, None) => {
            let given = [
                options.expire.as_ref().map(|given| &given.name),
                options.default.as_ref().map(|given| &given.name),
                options.codec.as_ref().map(|given| &given.name),
                options.name.as_ref().map(|given| &given.name),
                options.using.as_ref().map(|given| &given.name),
            ];
            for name in given.into_iter().flatten() {
                errors.at(
                    name.span(),
                    format!(
                        "`{name}` is about a value, and there is none: give a `key` and mark a parameter \
                         with `#[value]`, or remove `{name}`"
                    ),
                );
            }
        }
        (Some(_), Some(value)) => {
            if let Some(default) = options.default.as_ref().filter(|_| value.is_optional) {
                errors.at(
                    default.name.span(),
                    "the body sees a value that is not there as `None`, so a `default` is never used: \
                     remove it, or make the parameter a `&mut` of what is in the `Option`",
                );
            }
        }
    }
}

/// A key comes before the value.
fn check_key(key: &Key, value: &Value, errors: &mut Errors) {
    let Key::Template(_) = key else { return };
    let trees: Vec<TokenTree> = key.tokens().into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        let TokenTree::Ident(ident) = tree else { continue };
        // `{order.stock}` is another `stock`.
        let is_name = at == 0 || !matches!(&trees[at - 1], TokenTree::Punct(_));
        if is_name && value.names.contains(ident) {
            errors.at(
                ident.span(),
                format!("`{ident}` is the value, which is read by this key: name another argument"),
            );
        }
    }
}

/// `sigs` are the signature as it is written and as callers see it: what is left out in a lifetime may
/// be clear in one of them only.
fn check_result(sigs: [&Signature; 2], shape: &Shape, errors: &mut Errors) {
    let output = match (shape, &sigs[0].output) {
        (Shape::Within(within), _) => within.output.clone(),
        (_, ReturnType::Type(_, ty)) => Some((**ty).clone()),
        (_, ReturnType::Default) => None,
    };
    let Some(output) = output else { return };
    if let Some((at, from)) = sigs.into_iter().find_map(|sig| borrow::exclusive(sig, &output)) {
        errors.at(
            at,
            format!(
                "this borrows from `{from}`, which another attempt may have to change again: return \
                 something owned, or borrow from a `&`"
            ),
        );
    }
}

fn find_krate(
    options: &Options,
    sig: &Signature,
    shape: &Shape,
    errors: &mut Errors,
) -> Option<TokenStream> {
    if let Some(given) = &options.krate {
        return Some(given.value.0.to_token_stream());
    }
    let (runtime, keyword) = match (sig.asyncness, shape) {
        (Some(keyword), _) => (Runtime::Async, keyword.span),
        (None, Shape::Plain) => (Runtime::Blocking, sig.fn_token.span),
        (None, Shape::Within(_) | Shape::Future) => (Runtime::Async, sig.fn_token.span),
    };
    runtime.path(NAME, keyword).map_err(|error| errors.add(error)).ok()
}

fn has_exclusive_self(sig: &Signature) -> bool {
    let Some(FnArg::Receiver(receiver)) = sig.inputs.first() else { return false };
    match &receiver.kind {
        ReceiverKind::Reference(_, _, mutability) => mutability.is_some(),
        ReceiverKind::Typed(_, ty) => {
            matches!(&**ty, Type::Reference(reference) if reference.mutability.is_some())
        }
        _ => false,
    }
}

/// The names of the arguments, for the key.
pub(crate) fn names(model: &Model) -> Vec<Ident> {
    item::names(&model.function.sig)
}

impl Model {
    pub(crate) fn block(&self) -> &Group {
        &self.body.body
    }
}
