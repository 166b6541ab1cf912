//! What is asked for when a lock is asked for: the key, how long a lease lasts, how long to wait.

use std::time::Duration;

use crate::{Key, Ttl, error::ConfigError};

/// How long `acquire` waits for a busy lock unless told otherwise.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(3);

/// The deadlines of a client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// To connect, log in, and find out what the server can do.
    pub connect: Duration,
    /// For the reply to a command.
    pub response: Duration,
}

impl Limits {
    /// # Errors
    /// [`ConfigError::ZeroDeadline`].
    pub fn checked(self) -> Result<Self, ConfigError> {
        for (what, limit) in [("response", self.response), ("connect", self.connect)] {
            if limit.is_zero() {
                return Err(ConfigError::ZeroDeadline { what });
            }
        }
        Ok(self)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(1), response: Duration::from_secs(1) }
    }
}

/// How a client that waits for another client's lock learns that it is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wake {
    /// The server says so, where it can and may; otherwise as [`Wake::Poll`].
    #[default]
    Push,
    /// It asks again and again, 1 to 100 ms apart, at random.
    Poll,
}

/// A lock as it was asked for, checked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The lock.
    pub key: Key,
    /// How long a lease lasts without renewal.
    pub ttl: Ttl,
    /// How long to wait for a busy lock; zero is one try.
    pub wait: Duration,
    /// Whether the keeper prolongs the lease while its guard lives.
    pub renew: bool,
}

impl Request {
    /// A request for `key` with every option at its default.
    #[must_use]
    pub const fn new(key: Key) -> Self {
        Self { key, ttl: Ttl::DEFAULT, wait: DEFAULT_WAIT, renew: true }
    }

    /// # Errors
    /// [`ConfigError::TtlOutOfRange`].
    pub fn ttl(self, ttl: Duration) -> Result<Self, ConfigError> {
        Ok(Self { ttl: Ttl::new(ttl)?, ..self })
    }

    /// # Errors
    /// None today.
    pub fn wait(self, wait: Duration) -> Result<Self, ConfigError> {
        Ok(Self { wait, ..self })
    }

    /// # Errors
    /// None today.
    pub fn renew(self, renew: bool) -> Result<Self, ConfigError> {
        Ok(Self { renew, ..self })
    }
}

/// The one list of what a `Lock` can be told, for both worlds' `Lock`.
///
/// Expands inside an `impl` of a type with a field `request: Result<Request, Error>`.
#[doc(hidden)]
#[macro_export]
macro_rules! __lock_setters {
    () => {
        /// How long a lease lasts unless it is renewed: 10 ms to 24 days, rounded down to whole
        /// milliseconds.
        ///
        /// Defaults to 10 s. Anything outside is refused when the lock is asked for, before a
        /// command is sent.
        pub fn ttl(self, ttl: ::core::time::Duration) -> Self {
            self.set(|request| request.ttl(ttl))
        }

        /// How long `acquire` waits while somebody else holds the lock; zero is one try.
        ///
        /// Defaults to 3 s. A server that does not answer can prolong it by one response deadline.
        pub fn wait(self, wait: ::core::time::Duration) -> Self {
            self.set(|request| request.wait(wait))
        }

        /// Whether the lease is renewed, at a third of its TTL, for as long as the guard lives.
        ///
        /// Defaults to `true`. Without renewal the lease ends with its TTL, and the guard says so.
        pub fn renew(self, renew: bool) -> Self {
            self.set(|request| request.renew(renew))
        }

        fn set(
            mut self,
            change: impl ::core::ops::FnOnce(
                $crate::options::Request,
            ) -> ::core::result::Result<
                $crate::options::Request,
                $crate::ConfigError,
            >,
        ) -> Self {
            self.request = self
                .request
                .and_then(|request| change(request).map_err(::core::convert::Into::into));
            self
        }
    };
}
