//! What `#[optimistic_retry]` can be told: one table, from which parsing, checks and messages follow.
//!
//! A new option is one row here (and, unless it is a setter of `Versioned`, its use in `expand.rs`).

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, Expr, ExprLit, Ident, Lit, Result, parse::ParseStream, spanned::Spanned};

use crate::{
    choices::Name,
    literal::{Limits, Time},
    options::{Crate, OrElse, Using, duration, user_tokens},
    table::{Value, options},
    template::Key,
};

options! {
    "an option is `name = value`; the value's name is an option too: `key = \"stock:{sku}\"`";
    // name                       value    an example                         also known as
    "key"          key:          Key,     "key = \"stock:{sku}\"",            ["id", "resource", "value", "lock"];
    "max_attempts" max_attempts: Count,   "max_attempts = 16",                ["attempts", "retries", "max_retries", "tries", "max_tries", "times", "limit"];
    "within"       within:       Within,  "within = \"2s\"",                  ["timeout", "deadline", "wait", "max_elapsed", "budget", "max_wait"];
    "expire"       expire:       Expire,  "expire = \"1h\"",                  ["ttl", "expiry", "expires", "lifetime", "px", "ex"];
    "default"      default:      Default, "default = Stock::default()",       ["init", "initial", "or", "or_insert", "or_default", "absent"];
    "codec"        codec:        Codec,   "codec = text",                     ["format", "encoding", "serde", "encode"];
    "name"         name:         Name,    "name = \"reservation\"",             ["label", "span", "metric"];
    "using"        using:        Using,   "using = self.client",              ["client", "with", "on", "pool", "connection"];
    "or_else"      or_else:      OrElse,  "or_else = |error| Outcome::Busy",  ["on_error", "fallback", "otherwise", "on_exhausted"];
    "crate"        krate:        Crate,   "crate = my_crate::tairlock",       ["crate_path", "path"];
}

const WITHIN: Limits = Limits { option: "within", millis: 1..=u64::MAX, range: "1 ms or longer" };

const EXPIRE: Limits =
    Limits { option: "expire", millis: 1..=100 * 365 * 86_400_000, range: "1 ms to 100 years" };

/// `max_attempts`: a setter.
pub(crate) struct Count(Expr);

impl Count {
    pub(crate) fn expr(&self) -> TokenStream {
        self.0.to_token_stream()
    }
}

impl Value for Count {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let expr: Expr = input.parse()?;
        let wrong = || {
            let message = format!(
                "`{}` is out of range: `max_attempts` is a number from 1 to {}",
                expr.to_token_stream().to_string().replace("- ", "-"),
                u32::MAX
            );
            Err(Error::new_spanned(&expr, message))
        };
        let is_negative = |unary: &syn::ExprUnary| matches!(&*unary.expr, Expr::Lit(_));
        match &expr {
            Expr::Lit(ExprLit { lit: Lit::Int(int), .. })
                if int.base10_parse::<u32>().is_ok_and(|count| count > 0) => {}
            Expr::Lit(_) => return wrong(),
            Expr::Unary(unary) if is_negative(unary) => return wrong(),
            _ => {}
        }
        Ok(Self(expr))
    }

    fn argument(&self, _private: &TokenStream) -> Option<TokenStream> {
        Some(self.0.to_token_stream())
    }

    fn tokens(&self) -> TokenStream {
        self.0.to_token_stream()
    }
}

/// `within`: a setter.
pub(crate) struct Within(Time);

impl Within {
    pub(crate) fn expr(&self, private: &TokenStream) -> TokenStream {
        duration(&self.0, private)
    }
}

impl Value for Within {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        WITHIN.check(input.parse()?).map(Self)
    }

    fn argument(&self, private: &TokenStream) -> Option<TokenStream> {
        Some(duration(&self.0, private))
    }

    fn tokens(&self) -> TokenStream {
        user_tokens(&self.0)
    }
}

/// `expire`: a setter.
pub(crate) enum Expire {
    After(Time),
    /// `persist` or `keep`, as the variant of `Expiry`.
    Word(Ident),
}

impl Value for Expire {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let expr: Expr = input.parse()?;
        for (word, variant) in [("persist", "Persist"), ("keep", "Keep")] {
            if is_word(&expr, word) {
                return Ok(Self::Word(Ident::new(variant, expr.span())));
            }
        }
        EXPIRE.check(expr).map(Self::After)
    }

    fn argument(&self, private: &TokenStream) -> Option<TokenStream> {
        let expiry = match self {
            Self::After(time) => duration(time, private),
            Self::Word(variant) => quote!(#private::Expiry::#variant),
        };
        Some(quote!(#private::expiry(#expiry)))
    }

    fn tokens(&self) -> TokenStream {
        match self {
            Self::After(time) => user_tokens(time),
            Self::Word(_) => TokenStream::new(),
        }
    }
}

/// `default`: a setter.
pub(crate) struct Default(Expr);

impl Value for Default {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        input.parse().map(Self)
    }

    fn argument(&self, _private: &TokenStream) -> Option<TokenStream> {
        Some(self.0.to_token_stream())
    }

    fn tokens(&self) -> TokenStream {
        self.0.to_token_stream()
    }
}

/// `codec`: how the value is written.
pub(crate) enum Codec {
    /// `json`: what there is without a codec.
    Json,
    /// `text`, `bytes` or `integer`, as the constant of `Codec`.
    Word(Ident),
    Expr(Box<Expr>),
}

impl Value for Codec {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let expr: Expr = input.parse()?;
        if let Expr::Lit(lit) = &expr {
            let message = "`codec` is `json`, `text`, `bytes`, `integer`, or an expression of type \
                           `Codec`";
            return Err(Error::new_spanned(lit, message));
        }
        if is_word(&expr, "json") {
            return Ok(Self::Json);
        }
        for (word, constant) in [("text", "TEXT"), ("bytes", "BYTES"), ("integer", "INTEGER")] {
            if is_word(&expr, word) {
                return Ok(Self::Word(Ident::new(constant, expr.span())));
            }
        }
        Ok(Self::Expr(Box::new(expr)))
    }

    fn tokens(&self) -> TokenStream {
        match self {
            Self::Expr(expr) => expr.to_token_stream(),
            Self::Json | Self::Word(_) => TokenStream::new(),
        }
    }
}

impl Codec {
    /// The expression, unless it is what there is without one.
    pub(crate) fn expr(&self, private: &TokenStream) -> Option<TokenStream> {
        match self {
            Self::Json => None,
            Self::Word(constant) => {
                let private = located(private, constant.span());
                Some(quote_spanned!(constant.span()=> #private::Codec::#constant))
            }
            Self::Expr(expr) => Some(expr.to_token_stream()),
        }
    }
}

/// A path of ours as if it stood at `at`: so that a wrong type is reported there.
fn located(path: &TokenStream, at: Span) -> TokenStream {
    let each = path.clone().into_iter().map(|mut tree| {
        tree.set_span(at.resolved_at(tree.span()));
        tree
    });
    each.collect()
}

fn is_word(expr: &Expr, word: &str) -> bool {
    matches!(expr, Expr::Path(path) if path.attrs.is_empty() && path.path.is_ident(word))
}
