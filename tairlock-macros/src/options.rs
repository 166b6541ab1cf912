//! What `#[distributed_lock]` can be told: one table, from which parsing, checks and messages follow.
//!
//! A new option is one row here (and, unless it is a setter of `Lock`, its use in `expand.rs`).

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{
    Error, Expr, Ident, Path, Result, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser},
};

use crate::{
    choices::{Keys, Name, OnBusy, OnLost, When},
    literal::{Limits, MAX_HOLD, MIN_HOLD, TTL, Time, WAIT},
    template::Key,
};

/// What one option is called, how to write it, and what people write instead of it.
struct Row {
    name: &'static str,
    example: &'static str,
    synonyms: &'static [&'static str],
}

/// An option as it was given.
pub(crate) struct Given<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

/// The value of an option.
pub(crate) trait Value: Sized {
    fn parse(input: ParseStream<'_>) -> Result<Self>;

    /// What a setter of that name on `Lock` takes, if the option is one.
    fn argument(&self, _private: &TokenStream) -> Option<TokenStream> {
        None
    }

    /// The tokens that user code put into the value.
    fn tokens(&self) -> TokenStream {
        TokenStream::new()
    }
}

macro_rules! options {
    ($($name:literal $field:ident: $value:ty, $example:literal, $synonyms:expr;)*) => {
        /// The options of one attribute.
        #[derive(Default)]
        pub(crate) struct Options {
            $(pub(crate) $field: Option<Given<$value>>,)*
        }

        const TABLE: &[Row] =
            &[$(Row { name: $name, example: $example, synonyms: &$synonyms },)*];

        impl Options {
            fn set(&mut self, name: Ident, input: ParseStream<'_>) -> Result<()> {
                match name.to_string().as_str() {
                    $($name => {
                        expect_value(&name, $example, input)?;
                        let value = <$value as Value>::parse(input)?;
                        if self.$field.is_some() {
                            return Err(Error::new(name.span(), concat!("`", $name, "` is given twice")));
                        }
                        self.$field = Some(Given { name, value });
                        Ok(())
                    })*
                    _ => Err(unknown(&name)),
                }
            }

            /// The setters to call on the `Lock`, in the table's order: `.name(argument)`.
            pub(crate) fn setters(&self, private: &TokenStream) -> TokenStream {
                let mut calls = TokenStream::new();
                $(if let Some(Given { name, value }) = &self.$field
                    && let Some(argument) = value.argument(private)
                {
                    calls.extend(quote_spanned!(name.span()=> .#name(#argument)));
                })*
                calls
            }

            /// All tokens that user code put into values.
            pub(crate) fn tokens(&self) -> TokenStream {
                let mut all = TokenStream::new();
                $(all.extend(self.$field.as_ref().map(|given| given.value.tokens()));)*
                all
            }
        }
    };
}

options! {
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

impl Options {
    /// Parses what stands in the attribute's parentheses, reporting all mistakes together with
    /// whatever was right.
    pub(crate) fn parse(args: TokenStream) -> (Self, Option<Error>) {
        let mut options = Self::default();
        let mut errors: Option<Error> = None;
        let parser = |input: ParseStream<'_>| {
            while !input.is_empty() {
                if let Err(error) = options.parse_one(input) {
                    match &mut errors {
                        Some(all) => all.combine(error),
                        none => *none = Some(error),
                    }
                    skip_option(input)?;
                }
            }
            Ok(())
        };
        let rest = Parser::parse2(parser, args);
        (options, errors.or(rest.err()))
    }

    fn parse_one(&mut self, input: ParseStream<'_>) -> Result<()> {
        if !input.peek(Ident::peek_any) {
            return Err(input.error(
                "an option is `name = value`; the lock's name is an option too: \
                 `key = \"order:{order_id}\"`",
            ));
        }
        self.set(input.call(Ident::parse_any)?, input)?;
        if input.is_empty() || input.parse::<Option<Token![,]>>()?.is_some() {
            return Ok(());
        }
        Err(input.error("expected `,` before the next option"))
    }
}

/// Steps over what is left of a wrong option.
fn skip_option(input: ParseStream<'_>) -> Result<()> {
    while !input.is_empty() {
        // `a = 1 b = 2`: the comma is what is missing, `b` is an option again.
        if input.peek(Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
            break;
        }
        if input.parse::<Option<Token![,]>>()?.is_some() {
            break;
        }
        input.parse::<proc_macro2::TokenTree>()?;
    }
    Ok(())
}

fn expect_value(name: &Ident, example: &str, input: ParseStream<'_>) -> Result<()> {
    let missing = || Error::new(name.span(), format!("`{name}` needs a value, as in `{example}`"));
    input.parse::<Token![=]>().map_err(|_| missing())?;
    if input.is_empty() || input.peek(Token![,]) { Err(missing()) } else { Ok(()) }
}

fn unknown(name: &Ident) -> Error {
    let given = name.to_string();
    let synonym = TABLE.iter().find(|row| row.synonyms.contains(&given.as_str()));
    let near = || {
        let rows = TABLE.iter().map(|row| (distance(&given, row.name), row));
        rows.min_by_key(|(distance, _)| *distance).filter(|(distance, _)| *distance <= 2)
    };
    let hint = match synonym.or_else(|| near().map(|(_, row)| row)) {
        Some(row) => format!(": did you mean `{}`, as in `{}`?", row.name, row.example),
        None => ";".to_owned(),
    };
    let names: Vec<_> = TABLE.iter().map(|row| format!("`{}`", row.name)).collect();
    let all = names.join(", ");
    Error::new(name.span(), format!("unknown option `{given}`{hint} the options are {all}"))
}

/// How many letters to add, drop, change or swap to get from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<_>, Vec<_>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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

fn duration(time: &Time, private: &TokenStream) -> TokenStream {
    match time {
        Time::Millis(millis, span) => {
            quote_spanned!(*span=> #private::Duration::from_millis(#millis))
        }
        Time::Expr(expr) => expr.to_token_stream(),
    }
}

fn user_tokens(time: &Time) -> TokenStream {
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
