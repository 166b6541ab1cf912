//! Where the runtime crate is: under its name, renamed, or missing.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Error, Ident, Result};

/// A crate that an expansion calls into.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// For `async fn`.
    Async,
    /// For plain `fn`.
    Blocking,
}

impl Runtime {
    fn package(self) -> &'static str {
        match self {
            Self::Async => "tairlock",
            Self::Blocking => "tairlock-sync",
        }
    }

    /// The absolute path of the crate, as the crate that is being compiled names it.
    pub(crate) fn path(self, attribute: &str, span: Span) -> Result<TokenStream> {
        let package = self.package();
        let name = match crate_name(package) {
            Ok(FoundCrate::Name(name)) => name,
            // In the crate itself `extern crate self as …` gives it its own name; its examples and
            // doc tests see it under that name anyway. Without a manifest there is nothing to look
            // up, and the name is the best guess.
            Ok(FoundCrate::Itself)
            | Err(
                proc_macro_crate::Error::CargoManifestDirNotSet
                | proc_macro_crate::Error::NotFound(_)
                | proc_macro_crate::Error::CouldNotRead { .. }
                | proc_macro_crate::Error::InvalidToml { .. }
                | proc_macro_crate::Error::FailedGettingWorkspaceManifestPath,
            ) => package.replace('-', "_"),
            Err(proc_macro_crate::Error::CrateNotFound { .. }) => {
                let kind = match self {
                    Self::Async => "an `async fn`",
                    Self::Blocking => "a plain `fn`",
                };
                return Err(Error::new(
                    span,
                    format!(
                        "`#[{attribute}]` on {kind} needs the crate `{package}`: run \
                         `cargo add {package}`, or say where it is with `crate = …`"
                    ),
                ));
            }
        };
        let name = Ident::new(&name, Span::mixed_site());
        Ok(quote_spanned!(Span::mixed_site()=> ::#name))
    }
}
