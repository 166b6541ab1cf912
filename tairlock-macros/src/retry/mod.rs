//! `#[optimistic_retry]`: a function whose body runs again when somebody else was faster.

mod attempt;
mod borrow;
mod expand;
mod foreign;
pub(crate) mod model;
mod options;
mod value;

use proc_macro2::TokenStream;

/// The option `crate` among `args`.
pub(crate) fn krate(args: TokenStream) -> Option<crate::table::Given<crate::options::Crate>> {
    options::Options::parse(args).0.krate
}
