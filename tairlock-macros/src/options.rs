//! What `#[distributed_lock]` can be told: one table, from which parsing, checks and messages follow.
//!
//! A new option is one row here (and, unless it is a setter of `Lock`, its use in `expand.rs`).

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Error, Expr, Ident, Path, Result, parse::ParseStream};

use crate::{
    literal::{Limits, TTL, Time, WAIT},
    table::{Value, options},
    template::Key,
};

options! {
    "an option is `name = value`; the lock's name is an option too: `key = \"order:{order_id}\"`";
    // name               value    an example                              also known as
    "key"      key:       Key,     "key = \"order:{order_id}\"",           ["id", "resource", "lock", "name"];
    "ttl"      ttl:       Ttl,     "ttl = 5",                              ["lease_time", "expire", "expiry", "expires", "duration", "px", "ex"];
    "wait"     wait:      Wait,    "wait = \"500ms\"",                     ["timeout", "wait_time", "acquire_timeout", "max_wait"];
    "renew"    renew:     Renew,   "renew = false",                        ["renewal", "extend", "watchdog", "keep_alive"];
    "using"    using:     Using,   "using = self.client",                  ["client", "with", "on", "pool", "connection"];
    "lease"    lease:     Lease,   "lease = lease",                        ["guard", "handle"];
    "or_else"  or_else:   OrElse,  "or_else = |error| Outcome::Busy",      ["on_error", "fallback", "default", "otherwise"];
    "crate"    krate:     Crate,   "crate = my_crate::tairlock",           ["crate_path", "path"];
}

impl Value for Key {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Self::new(input.parse()?)
    }

    fn tokens(&self) -> TokenStream {
        Self::tokens(self)
    }
}

/// `ttl`: a setter.
pub(crate) struct Ttl(Time);
/// `wait`: a setter.
pub(crate) struct Wait(Time);

impl Value for Ttl {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        time(&TTL, input).map(Self)
    }

    fn argument(&self, private: &TokenStream) -> Option<TokenStream> {
        Some(duration(&self.0, private))
    }

    fn tokens(&self) -> TokenStream {
        user_tokens(&self.0)
    }
}

impl Value for Wait {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        time(&WAIT, input).map(Self)
    }

    fn argument(&self, private: &TokenStream) -> Option<TokenStream> {
        Some(duration(&self.0, private))
    }

    fn tokens(&self) -> TokenStream {
        user_tokens(&self.0)
    }
}

fn time(limits: &Limits, input: ParseStream<'_>) -> Result<Time> {
    limits.check(input.parse()?)
}

pub(crate) fn duration(time: &Time, private: &TokenStream) -> TokenStream {
    match time {
        Time::Millis(millis, span) => {
            quote_spanned!(*span=> #private::core::time::Duration::from_millis(#millis))
        }
        Time::Expr(expr) => expr.to_token_stream(),
    }
}

pub(crate) fn user_tokens(time: &Time) -> TokenStream {
    match time {
        Time::Millis(..) => TokenStream::new(),
        Time::Expr(expr) => expr.to_token_stream(),
    }
}

/// `renew`: a setter.
pub(crate) struct Renew(Expr);

impl Value for Renew {
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

/// `using`: which client.
pub(crate) struct Using(pub(crate) Expr);

impl Value for Using {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        input.parse().map(Self)
    }

    fn tokens(&self) -> TokenStream {
        self.0.to_token_stream()
    }
}

/// `lease`: the name under which the body sees the `Lease`.
pub(crate) struct Lease(pub(crate) Ident);

impl Value for Lease {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let expr: Expr = input.parse()?;
        syn::parse2(expr.to_token_stream()).map(Self).map_err(|_| {
            let message = "`lease` is the name under which the body sees the lease, as in \
                           `lease = lease`";
            Error::new_spanned(&expr, message)
        })
    }
}

/// `or_else`: the value of the call when the lock was not had.
pub(crate) struct OrElse(pub(crate) Expr);

impl Value for OrElse {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let expr: Expr = input.parse()?;
        let is_value = match &expr {
            Expr::Path(path) => path.path.is_ident("None"),
            Expr::Lit(_)
            | Expr::Tuple(_)
            | Expr::Array(_)
            | Expr::Struct(_)
            | Expr::Unary(_)
            | Expr::Binary(_)
            | Expr::Reference(_) => true,
            _ => false,
        };
        if is_value {
            let message = "`or_else` is a function of the error, as in `or_else = |_error| …`";
            return Err(Error::new_spanned(&expr, message));
        }
        Ok(Self(expr))
    }

    fn tokens(&self) -> TokenStream {
        self.0.to_token_stream()
    }
}

/// `crate`: where the runtime crate is.
pub(crate) struct Crate(pub(crate) Path);

impl Value for Crate {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let span: Span = input.span();
        input
            .call(Path::parse_mod_style)
            .map(Self)
            .map_err(|_| Error::new(span, "`crate` is a path, as in `crate = my_crate::tairlock`"))
    }
}
