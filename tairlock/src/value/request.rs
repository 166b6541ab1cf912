//! A [`ValueRequest`] is a versioned value as it was asked for: its key, its options, its budget.

use std::{sync::Arc, time::Duration};

use super::{Draft, Expiry, First, LAST_VERSION, Mark};
use crate::{Key, error::ConfigError, proto::Pacing};

/// How many attempts an update has unless told otherwise.
pub const DEFAULT_ATTEMPTS: u32 = 64;
/// How long an update may take unless told otherwise.
pub const DEFAULT_WITHIN: Duration = Duration::from_secs(5);

/// A versioned value as it was asked for, checked.
#[derive(Clone, Debug)]
pub struct ValueRequest {
    /// The value's key.
    pub key: Key,
    /// For how long a write lets it stay.
    pub expiry: Expiry,
    /// The version of a new value; by the server's clock where none is named.
    pub initial_version: Option<u64>,
    /// What an update begins with where nothing is there, as bytes.
    pub default: Option<Arc<[u8]>>,
    /// How many times an update may try.
    pub attempts: u32,
    /// How long an update may take.
    pub within: Duration,
    /// How it pauses between attempts.
    pub pacing: Pacing,
    /// What the value is called in metrics.
    pub name: Option<&'static str>,
}

impl ValueRequest {
    /// A request for `key` with every option at its default.
    #[must_use]
    pub const fn new(key: Key) -> Self {
        Self {
            key,
            expiry: Expiry::Persist,
            initial_version: None,
            default: None,
            attempts: DEFAULT_ATTEMPTS,
            within: DEFAULT_WITHIN,
            pacing: Pacing::DEFAULT,
            name: None,
        }
    }

    /// # Errors
    /// [`ConfigError::ExpiryOutOfRange`].
    pub fn expire(self, expiry: Expiry) -> Result<Self, ConfigError> {
        Ok(Self { expiry: expiry.checked()?, ..self })
    }

    /// # Errors
    /// [`ConfigError::VersionOutOfRange`].
    pub fn initial_version(self, version: u64) -> Result<Self, ConfigError> {
        // On Tair, 0 is "whatever version"; and the last version cannot be followed.
        if version == 0 || version >= LAST_VERSION {
            return Err(ConfigError::VersionOutOfRange { given: version });
        }
        Ok(Self { initial_version: Some(version), ..self })
    }

    /// # Errors
    /// [`ConfigError::NoAttempts`].
    pub fn max_attempts(self, attempts: u32) -> Result<Self, ConfigError> {
        if attempts == 0 { Err(ConfigError::NoAttempts) } else { Ok(Self { attempts, ..self }) }
    }

    /// # Errors
    /// [`ConfigError::ZeroDeadline`].
    pub fn within(self, within: Duration) -> Result<Self, ConfigError> {
        if within.is_zero() {
            return Err(ConfigError::ZeroDeadline { what: "update" });
        }
        Ok(Self { within, ..self })
    }

    /// The same value, read and written by another codec.
    #[must_use]
    pub fn recoded(self) -> Self {
        Self { default: None, ..self }
    }

    pub(crate) fn draft(&self, value: Arc<[u8]>, mark: Mark) -> Draft {
        Draft { value, mark, expiry: self.expiry }
    }

    /// The version of a new value.
    pub(crate) fn first(&self) -> First {
        self.initial_version.map_or(First::Clock, First::At)
    }
}

/// The one list of what a `Versioned` can be told, for both worlds' `Versioned`.
///
/// Expands inside an `impl<T>` of a `Versioned<T>` with the fields `client`, `request`, `recall` and
/// `codec`.
#[doc(hidden)]
#[macro_export]
macro_rules! __versioned_setters {
    () => {
        /// For how long a write lets the value stay. Said for every write; defaults to
        /// [`Expiry::Persist`](crate::Expiry::Persist), which takes an earlier expiry away.
        ///
        /// An update that leaves the value as it was writes nothing, and so leaves the expiry too.
        pub fn expire(self, expiry: $crate::Expiry) -> Self {
            self.set(|request| request.expire(expiry))
        }

        /// How many times an update may compute and try to commit, before it is
        /// [`Error::Exhausted`](crate::Error::Exhausted). Defaults to 64.
        pub fn max_attempts(self, attempts: u32) -> Self {
            self.set(|request| request.max_attempts(attempts))
        }

        /// How long an update may take, its place in the line of this client included. Defaults to
        /// 5 s. A server that does not answer can prolong it by one response deadline.
        pub fn within(self, within: ::core::time::Duration) -> Self {
            self.set(|request| request.within(within))
        }

        /// What the value is called in metrics: a constant, so that they stay few whatever the keys
        /// are. Defaults to none.
        pub fn name(self, name: &'static str) -> Self {
            self.set(|request| Ok($crate::value::ValueRequest { name: Some(name), ..request }))
        }

        /// For measurements of other pauses than the ones that were chosen.
        #[doc(hidden)]
        pub fn pacing(self, pacing: $crate::proto::Pacing) -> Self {
            self.set(|request| Ok($crate::value::ValueRequest { pacing, ..request }))
        }

        /// The version of a new value: 1 where other programs read or write the same keys and expect
        /// that.
        ///
        /// By default a new value begins at the server's time, which no value under that key had
        /// before. With a fixed number a writer that read before a removal can win after it, without
        /// having seen what is there now.
        pub fn initial_version(self, version: u64) -> Self {
            self.set(|request| request.initial_version(version))
        }

        /// What an update begins with where nothing is there. Without it that is
        /// [`Error::Absent`](crate::Error::Absent).
        pub fn default(mut self, value: T) -> Self {
            let codec = self.codec;
            self.request = self.request.and_then(|mut request| {
                request.default = Some(codec.encode(&request.key, &value)?.into());
                Ok(request)
            });
            self
        }

        /// As UTF-8 text.
        pub fn text(self) -> Versioned<String> {
            self.coded($crate::Codec::TEXT)
        }

        /// As bytes.
        pub fn bytes(self) -> Versioned<Vec<u8>> {
            self.coded($crate::Codec::BYTES)
        }

        /// As a decimal number.
        pub fn integer(self) -> Versioned<i64> {
            self.coded($crate::Codec::INTEGER)
        }

        fn coded<U>(self, codec: $crate::Codec<U>) -> Versioned<U> {
            let request = self.request.map($crate::value::ValueRequest::recoded);
            Versioned { client: self.client, request, recall: self.recall, codec }
        }

        fn set(
            mut self,
            change: impl ::core::ops::FnOnce(
                $crate::value::ValueRequest,
            ) -> ::core::result::Result<
                $crate::value::ValueRequest,
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
