//! Tables of options, one per attribute: from each follow parsing, checks and messages.

use proc_macro2::TokenStream;
use syn::{
    Error, Ident, Result, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser},
};

/// What one option is called, how to write it, and what people write instead of it.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    pub(crate) synonyms: &'static [&'static str],
}

/// An option as it was given.
pub(crate) struct Given<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

/// The value of an option.
pub(crate) trait Value: Sized {
    fn parse(input: ParseStream<'_>) -> Result<Self>;

    /// What a setter of that name takes, on what the attribute makes, if the option is one.
    fn argument(&self, _private: &TokenStream) -> Option<TokenStream> {
        None
    }

    /// The tokens that user code put into the value.
    fn tokens(&self) -> TokenStream {
        TokenStream::new()
    }
}

macro_rules! options {
    ($form:literal; $($name:literal $field:ident: $value:ty, $example:literal, $synonyms:expr;)*) => {
        /// The options of one attribute.
        #[derive(Default)]
        pub(crate) struct Options {
            $(pub(crate) $field: Option<$crate::table::Given<$value>>,)*
        }

        const TABLE: &[$crate::table::Row] = &[$($crate::table::Row {
            name: $name,
            example: $example,
            synonyms: &$synonyms,
        },)*];

        impl Options {
            fn set(
                &mut self,
                name: syn::Ident,
                input: syn::parse::ParseStream<'_>,
            ) -> syn::Result<()> {
                match name.to_string().as_str() {
                    $($name => {
                        $crate::table::expect_value(&name, $example, input)?;
                        let value = <$value as $crate::table::Value>::parse(input)?;
                        if self.$field.is_some() {
                            let twice = concat!("`", $name, "` is given twice");
                            return Err(syn::Error::new(name.span(), twice));
                        }
                        self.$field = Some($crate::table::Given { name, value });
                        Ok(())
                    })*
                    _ => Err($crate::table::unknown(&name, TABLE)),
                }
            }

            /// The setters to call, in the table's order: `.name(argument)`.
            pub(crate) fn setters(
                &self,
                private: &proc_macro2::TokenStream,
            ) -> proc_macro2::TokenStream {
                let mut calls = proc_macro2::TokenStream::new();
                $(if let Some($crate::table::Given { name, value }) = &self.$field
                    && let Some(argument) = $crate::table::Value::argument(value, private)
                {
                    calls.extend(quote::quote_spanned!(name.span()=> .#name(#argument)));
                })*
                calls
            }

            /// Parses what stands in the attribute's parentheses, reporting all mistakes together with
            /// whatever was right.
            pub(crate) fn parse(
                args: proc_macro2::TokenStream,
            ) -> (Self, Option<syn::Error>) {
                let mut options = Self::default();
                let error = $crate::table::parse(args, $form, |name, input| options.set(name, input));
                (options, error)
            }

            /// All tokens that user code put into values.
            pub(crate) fn tokens(&self) -> proc_macro2::TokenStream {
                let mut all = proc_macro2::TokenStream::new();
                $(all.extend(self.$field.as_ref().map(|given| $crate::table::Value::tokens(&given.value)));)*
                all
            }
        }
    };
}
pub(crate) use options;

/// Hands each option to `set`; answers all mistakes. `form` is what to say of what is no option.
pub(crate) fn parse(
    args: TokenStream,
    form: &str,
    mut set: impl FnMut(Ident, ParseStream<'_>) -> Result<()>,
) -> Option<Error> {
    let mut errors: Option<Error> = None;
    let mut one = |input: ParseStream<'_>| {
        if !input.peek(Ident::peek_any) {
            return Err(input.error(form));
        }
        set(input.call(Ident::parse_any)?, input)?;
        if input.is_empty() || input.parse::<Option<Token![,]>>()?.is_some() {
            return Ok(());
        }
        Err(input.error("expected `,` before the next option"))
    };
    let parser = |input: ParseStream<'_>| {
        while !input.is_empty() {
            if let Err(error) = one(input) {
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
    errors.or(rest.err())
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

/// Steps over the `=` of an option, to its value.
pub(crate) fn expect_value(name: &Ident, example: &str, input: ParseStream<'_>) -> Result<()> {
    let missing = || Error::new(name.span(), format!("`{name}` needs a value, as in `{example}`"));
    input.parse::<Token![=]>().map_err(|_| missing())?;
    if input.is_empty() || input.peek(Token![,]) { Err(missing()) } else { Ok(()) }
}

/// An option that is on no row of `table`.
pub(crate) fn unknown(name: &Ident, table: &[Row]) -> Error {
    let given = name.to_string();
    let synonym = table.iter().find(|row| row.synonyms.contains(&given.as_str()));
    let near = || {
        let rows = table.iter().map(|row| (distance(&given, row.name), row));
        rows.min_by_key(|(distance, _)| *distance).filter(|(distance, _)| *distance <= 2)
    };
    let hint = match synonym.or_else(|| near().map(|(_, row)| row)) {
        Some(row) => format!(": did you mean `{}`, as in `{}`?", row.name, row.example),
        None => ";".to_owned(),
    };
    let names: Vec<_> = table.iter().map(|row| format!("`{}`", row.name)).collect();
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
