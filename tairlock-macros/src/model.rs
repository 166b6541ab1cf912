//! From syntax to a validated model: every rule about where `#[distributed_lock]` can stand, each with
//! the token at fault and the remedy.

use proc_macro2::{Group, Span, TokenStream};
use quote::ToTokens;
use syn::{Attribute, Signature, spanned::Spanned};

use crate::{
    args::Arguments,
    function::Function,
    item::{self, Errors, Output, Refusal, Words, names},
    krate::Runtime,
    options::Options,
    order, retry,
    shape::{Shape, Within},
    template::mentions,
};

/// The attribute's name.
pub(crate) const NAME: &str = "distributed_lock";

const WORDS: Words = Words {
    name: NAME,
    verb: "lock",
    thing: "lock",
    place: "under the lock",
    too_late: "the lock would be gone by then",
};

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
    /// Whether it is taken once per attempt of a retry around it.
    pub(crate) is_repeated: bool,
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

impl Model {
    pub(crate) fn new(args: TokenStream, item: TokenStream) -> Result<Self, Refusal> {
        let mut function: Function = match syn::parse2(item.clone()) {
            Ok(function) => function,
            Err(error) => {
                return Err(Refusal { error: item::not_a_function(NAME, &item, error), item });
            }
        };
        let mut errors = Errors::default();
        let mut attributes = vec![(args, Span::call_site())];
        attributes.extend(take_siblings(&mut function.attrs));
        let options: Vec<_> = attributes
            .into_iter()
            .map(|(args, span)| parse_options(args, span, &function.sig, &mut errors))
            .collect();
        item::check_signature(&WORDS, &function.sig, &mut errors);
        let body = item::find_body(&WORDS, &function, &mut errors);
        let shape = item::find_shape(&WORDS, &function.sig, &body, &mut errors);
        let is_repeated = order::is_inside_a_retry(&function.attrs);
        let locks = find_locks(options, &function.sig, &shape, is_repeated, &mut errors);
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

fn find_locks(
    options: Vec<Options>,
    sig: &Signature,
    shape: &Shape,
    is_repeated: bool,
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
        locks.push(Lock { krate, options, is_repeated });
    }
    if let Some(error) = missing {
        errors.add(error);
    }
    locks
}

/// Takes the further attributes of this name: all locks of a function are expanded together, because
/// one at a time would take them in the reverse order. With a retry among them, those up to there.
fn take_siblings(attrs: &mut Vec<Attribute>) -> Vec<(TokenStream, Span)> {
    let mut siblings = Vec::new();
    let mut is_beyond = false;
    attrs.retain(|attr| {
        let name = attr.path().segments.last().map(|last| last.ident.to_string());
        is_beyond |= name.as_deref() == Some(retry::model::NAME);
        let is_sibling = !is_beyond && name.as_deref() == Some(NAME);
        if is_sibling {
            let (args, _) = order::unmarked(order::arguments(attr));
            siblings.push((args, attr.path().span()));
        }
        !is_sibling
    });
    siblings
}
