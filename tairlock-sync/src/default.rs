//! The default client: what an attribute without `using` locks on.

use std::sync::OnceLock;

use crate::{Client, ConfigError, Error};

static DEFAULT: OnceLock<Client> = OnceLock::new();

/// Makes `client` the one that `#[distributed_lock]` uses where nothing else is said. Once, at
/// start-up.
///
/// ```
/// tairlock_sync::set_default(tairlock_sync::Client::in_memory())?;
/// assert!(tairlock_sync::default_client().is_ok());
/// # Ok::<(), tairlock_sync::Error>(())
/// ```
///
/// # Errors
/// [`ConfigError::DefaultAlreadySet`] the second time; the first client stays.
pub fn set_default(client: Client) -> Result<(), Error> {
    DEFAULT.set(client).map_err(|_| ConfigError::DefaultAlreadySet.into())
}

/// The default client.
///
/// # Errors
/// [`Error::NoDefaultClient`] before [`set_default`].
pub fn default_client() -> Result<Client, Error> {
    DEFAULT.get().cloned().ok_or(Error::NoDefaultClient)
}
