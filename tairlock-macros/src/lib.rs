//! The attributes of `tairlock` and `tairlock-sync`; use them from there.
#![forbid(unsafe_code)]

mod args;
mod choices;
mod expand;
mod function;
mod item;
mod krate;
mod literal;
mod model;
mod options;
mod order;
mod retry;
mod shape;
#[cfg(test)]
mod shown;
mod table;
mod template;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::ToTokens;

#[doc = include_str!("distributed_lock.md")]
#[doc = include_str!("expansions.md")]
#[proc_macro_attribute]
pub fn distributed_lock(args: TokenStream, item: TokenStream) -> TokenStream {
    expanded(model::NAME, args.into(), item.into(), model::Model::new).into()
}

#[doc = include_str!("optimistic_retry.md")]
#[doc = include_str!("retry/expansions.md")]
#[proc_macro_attribute]
pub fn optimistic_retry(args: TokenStream, item: TokenStream) -> TokenStream {
    expanded(retry::model::NAME, args.into(), item.into(), retry::model::Model::new).into()
}

/// The expansion of the attribute called `name`, or what is wrong and the function without it.
fn expanded<M: ToTokens>(
    name: &str,
    args: Tokens,
    item: Tokens,
    model: fn(Tokens, Tokens) -> Result<M, item::Refusal>,
) -> Tokens {
    let (args, is_ordered) = order::unmarked(args);
    if !is_ordered && let Some(item) = order::reordered(name, &args, &item) {
        return item;
    }
    let expansion = match model(args, item) {
        Ok(model) => model.into_token_stream(),
        Err(item::Refusal { error, mut item }) => {
            item.extend(error.into_compile_error());
            item
        }
    };
    show(name, expansion)
}

/// Prints an expansion where `TAIRLOCK_MACROS_DEBUG=1` asks for it.
#[allow(clippy::print_stderr)]
fn show(attribute: &str, expansion: Tokens) -> Tokens {
    if std::env::var_os("TAIRLOCK_MACROS_DEBUG").is_some_and(|value| value == "1") {
        eprintln!("#[{attribute}] made:\n{expansion}\n");
    }
    expansion
}
