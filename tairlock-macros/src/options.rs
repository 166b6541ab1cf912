//! What `#[distributed_lock]` can be told: one table, from which parsing, checks and messages follow.
//!
//! A new option is one row here (and, unless it is a setter of `Lock`, its use in `expand.rs`).

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Error, Expr, Ident, Path, Result, parse::ParseStream};

use crate::{
    choices::{Keys, Name, OnBusy, OnLost, When},
    literal::{Limits, MAX_HOLD, MIN_HOLD, TTL, Time, WAIT},
    table::{Value, options},
    template::Key,
};

options! {
    "an option is `name = value`; the lock's name is an option too: `key = \"order:{order_id}\"`";
    // name               value    an example                              also known as
    "key"      key:       Key,     "key = \"order:{order_id}\"",           ["id", "resource", "lock"];
    "keys"     keys:      Keys,    "keys = [\"from:{from}\", \"to:{to}\"]", ["locks", "multi", "resources"];
    "ttl"      ttl:       Ttl,     "ttl = 5",                              ["lease_time", "expire", "expiry", "expires", "duration", "px", "ex"];
    "wait"     wait:      Wait,    "wait = \"500ms\"",                     ["timeout", "wait_time", "acquire_timeout", "max_wait"];
    "renew"    renew:     Flag,    "renew = false",                        ["renewal", "extend", "watchdog", "keep_alive"];
    "max_hold" max_hold:  MaxHold, "max_hold = \"5m\"",                    ["max_time", "limit", "at_most", "lock_at_most_for"];
    "min_hold" min_hold:  MinHold, "min_hold = \"30s\"",                   ["min_time", "at_least", "lock_at_least_for"];
    "fence"    fence:     Flag,    "fence = true",                         ["fencing", "fencing_token"];
    "confirm"  confirm:   Copies,    "confirm = Confirm::replicas(1)",        ["replicas", "sync", "replicated", "durable", "wait_replicas"];
    "reentrant" reentrant: Flag,   "reentrant = true",                     ["recursive", "nested", "reentry"];
    "name"     name:      Name,    "name = \"settlement\"",                ["label", "span", "metric"];
    "when"     when:      When,    "when = amount > 100",                  ["condition", "only_if", "unless", "if"];
    "on_busy"  on_busy:   OnBusy,  "on_busy = skip",                       ["skip", "if_busy", "skip_if_busy"];
    "on_lost"  on_lost:   OnLost,  "on_lost = finish",                     ["if_lost", "on_loss", "cancel"];
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

/// Options that are a time, and a setter.
macro_rules! times {
    ($($(#[$doc:meta])* $name:ident: $limits:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name(Time);

        impl Value for $name {
            fn parse(input: ParseStream<'_>) -> Result<Self> {
                time(&$limits, input).map(Self)
            }

            fn argument(&self, private: &TokenStream) -> Option<TokenStream> {
                Some(duration(&self.0, private))
            }

            fn tokens(&self) -> TokenStream {
                user_tokens(&self.0)
            }
        }
    )*};
}

times! {
    /// `ttl`
    Ttl: TTL;
    /// `wait`
    Wait: WAIT;
    /// `max_hold`
    MaxHold: MAX_HOLD;
    /// `min_hold`
    MinHold: MIN_HOLD;
}

fn time(limits: &Limits, input: ParseStream<'_>) -> Result<Time> {
    limits.check(input.parse()?)
}

pub(crate) fn duration(time: &Time, private: &TokenStream) -> TokenStream {
    match time {
        Time::Millis(millis, span) => {
            quote_spanned!(*span=> #private::Duration::from_millis(#millis))
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

/// `renew`, `reentrant`, `fence`: a setter.
pub(crate) struct Flag(Expr);

impl Value for Flag {
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

/// `confirm`: a setter.
pub(crate) struct Copies(Expr);

impl Value for Copies {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let expr: Expr = input.parse()?;
        if let Expr::Lit(lit) = &expr {
            let message = "`confirm` says which copies must have the lock, as in \
                           `confirm = Confirm::replicas(1)`";
            return Err(Error::new_spanned(lit, message));
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
