//! The attributes of `tairlock` and `tairlock-sync`; use them from there.
#![forbid(unsafe_code)]

mod args;
mod expand;
mod function;
mod item;
mod krate;
mod literal;
mod model;
mod options;
mod shape;
mod table;
mod template;

use proc_macro::TokenStream;
use quote::ToTokens;

#[doc = include_str!("distributed_lock.md")]
#[proc_macro_attribute]
pub fn distributed_lock(args: TokenStream, item: TokenStream) -> TokenStream {
    let expansion = match model::Model::new(args.into(), item.into()) {
        Ok(model) => model.into_token_stream(),
        Err(item::Refusal { error, mut item }) => {
            item.extend(error.into_compile_error());
            item
        }
    };
    show(model::NAME, expansion).into()
}

/// Prints an expansion where `TAIRLOCK_MACROS_DEBUG=1` asks for it.
#[allow(clippy::print_stderr)]
fn show(attribute: &str, expansion: proc_macro2::TokenStream) -> proc_macro2::TokenStream {
    if std::env::var_os("TAIRLOCK_MACROS_DEBUG").is_some_and(|value| value == "1") {
        eprintln!("#[{attribute}] made:\n{expansion}\n");
    }
    expansion
}
