//! Values of options that are chosen from a few words, or are lists: `keys`, `on_lost`, `on_busy`, `name`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{
    Error, Expr, ExprArray, Lit, LitStr, Result, ext::IdentExt, parse::ParseStream,
    spanned::Spanned,
};

use crate::{table::Value, template::Key};

/// `keys`: several locks.
pub(crate) enum Keys {
    /// Each as in `key`.
    Each(Vec<Key>),
    /// Whatever iterates.
    Expr(Box<Expr>),
}

impl Value for Keys {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        match input.parse()? {
            Expr::Array(ExprArray { elems, bracket_token, .. }) if elems.is_empty() => {
                Err(Error::new(
                    bracket_token.span.join(),
                    "`keys` names at least one lock, as in `keys = [\"from:{from}\", \"to:{to}\"]`",
                ))
            }
            Expr::Array(array) => {
                array.elems.into_iter().map(Key::new).collect::<Result<_>>().map(Self::Each)
            }
            Expr::Lit(lit) => Err(Error::new_spanned(
                lit,
                "`keys` is a list, as in `keys = [\"from:{from}\", \"to:{to}\"]`, or an expression that \
                 iterates over keys; for one lock write `key = …`",
            )),
            expr => Ok(Self::Expr(Box::new(expr))),
        }
    }

    fn tokens(&self) -> TokenStream {
        match self {
            Self::Each(keys) => keys.iter().map(Key::tokens).collect(),
            Self::Expr(expr) => expr.to_token_stream(),
        }
    }
}

impl Keys {
    /// The expression, borrowed where it is a place: the body has use for its arguments.
    pub(crate) fn iterated(expr: &Expr) -> TokenStream {
        match expr {
            Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => {
                quote_spanned!(expr.span().resolved_at(Span::mixed_site())=> #expr.iter())
            }
            _ => expr.to_token_stream(),
        }
    }
}

/// One of the words of an option, by its place among them.
fn word(input: ParseStream<'_>, words: &[&str], message: &str) -> Result<(usize, Ident)> {
    let wrong = |span| Error::new(span, message);
    let span = input.span();
    let ident = input.call(Ident::parse_any).map_err(|_| wrong(span))?;
    let found = words.iter().position(|word| ident == word);
    found.map(|at| (at, ident.clone())).ok_or_else(|| wrong(ident.span()))
}

/// `on_lost`: what becomes of a body whose lease is lost.
pub(crate) struct OnLost {
    pub(crate) finish: bool,
    pub(crate) word: Ident,
}

impl Value for OnLost {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let message = "`on_lost` is `cancel` (the body is dropped at its next `await`) or `finish` (it \
                       runs to its end); either way the call answers that the lease was lost";
        let (at, word) = word(input, &["cancel", "finish"], message)?;
        Ok(Self { finish: at == 1, word })
    }
}

/// `on_busy`: what a call answers when somebody else holds the lock.
pub(crate) struct OnBusy {
    pub(crate) skip: bool,
}

impl Value for OnBusy {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let message = "`on_busy` is `error` (the call answers `Error::Busy` or `Error::TimedOut`) or \
                       `skip` (it answers `()` or `None`, at once unless a `wait` is given)";
        let (at, _) = word(input, &["error", "skip"], message)?;
        Ok(Self { skip: at == 1 })
    }
}

/// `name`: a setter.
pub(crate) struct Name(LitStr);

impl Value for Name {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let wrong = |span| {
            let message = "`name` is a constant text: it labels spans and metrics, as in `name = \
                           \"settlement\"`; where the lock or the value is, is said by `key`";
            Error::new(span, message)
        };
        let expr: Expr = input.parse()?;
        match &expr {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Str(text) if !text.value().is_empty() && !text.value().contains('{') => {
                    Ok(Self(text.clone()))
                }
                lit => Err(wrong(lit.span())),
            },
            _ => Err(Error::new_spanned(&expr, wrong(Span::call_site()))),
        }
    }

    fn argument(&self, _private: &TokenStream) -> Option<TokenStream> {
        Some(self.0.to_token_stream())
    }
}

/// `when`: whether to lock at all.
pub(crate) struct When(pub(crate) Expr);

impl Value for When {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        input.parse().map(Self)
    }

    fn tokens(&self) -> TokenStream {
        self.0.to_token_stream()
    }
}
