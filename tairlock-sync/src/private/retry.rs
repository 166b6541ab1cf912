//! What `#[optimistic_retry]` expands to: the steps of a loop that stands around the body.

use std::time::Duration;

pub use tairlock::{
    Codec, Expiry,
    core_private::{once, per_attempt, repeat, repeat_or_else, update, update_or_else},
    value::{DEFAULT_ATTEMPTS, DEFAULT_WITHIN},
};
use tairlock::{proto, time, value::Change};

use crate::{
    Client, Coded, ConfigError, Error, Key, Versioned, default::default_client, versioned::Updating,
};

/// A value on the default client. That there is none is said when it is asked for.
pub fn default_versioned<T: Coded>(key: impl AsRef<[u8]>) -> Versioned<T> {
    default_versioned_with(key, T::CODEC)
}

/// As [`default_versioned`], written by `codec`.
pub fn default_versioned_with<T>(key: impl AsRef<[u8]>, codec: Codec<T>) -> Versioned<T> {
    match default_client() {
        Ok(client) => client.versioned_with(key, codec),
        Err(error) => Versioned::refused(error, codec),
    }
}

/// A value on the client named by `using`.
pub fn versioned_on<T: Coded>(client: &Client, key: impl AsRef<[u8]>) -> Versioned<T> {
    client.versioned(key)
}

/// As [`versioned_on`], written by `codec`.
pub fn versioned_on_with<T>(
    client: &Client,
    key: impl AsRef<[u8]>,
    codec: Codec<T>,
) -> Versioned<T> {
    client.versioned_with(key, codec)
}

/// For how long a write lets a value stay: a `Duration`, or an `Expiry`.
pub fn expiry(expiry: impl Into<Expiry>) -> Expiry {
    expiry.into()
}

/// An update whose body stands in the caller's own loop: a copy to change, and then what has become
/// of it, until there is nothing more to do.
#[derive(Debug)]
pub struct Attempts<'a, T>(Result<Updating<'a, T>, Error>);

/// Begins an update of `versioned`.
#[must_use]
pub fn attempts<T>(versioned: &Versioned<T>) -> Attempts<'_, T> {
    Attempts(versioned.begin())
}

impl<T> Attempts<'_, T> {
    /// A copy of a value that must be there.
    ///
    /// # Errors
    /// As [`Versioned::update`].
    pub fn attempt(&mut self) -> Result<T, Error> {
        loop {
            if let Some(copy) = self.attempt_option()? {
                return Ok(copy);
            }
            let updating = self.updating()?;
            let key = updating.request.key.clone();
            if updating.settle(Change::Nothing)? {
                return Err(Error::Absent { key });
            }
        }
    }

    /// A copy of a value, or `None` where there is none.
    ///
    /// # Errors
    /// As [`Versioned::update`].
    pub fn attempt_option(&mut self) -> Result<Option<T>, Error> {
        self.updating()?.attempt()
    }

    /// Whether that is all: what is `left` of the copy was written, or nothing was to be, as the body
    /// `failed` or has changed nothing. Else somebody was faster, and there is to be another attempt.
    ///
    /// # Errors
    /// As [`Versioned::update`].
    pub fn settle(&mut self, left: T, failed: bool) -> Result<bool, Error> {
        self.settle_option(Some(left), failed)
    }

    /// As [`Attempts::settle`], of a value that need not be there.
    ///
    /// # Errors
    /// As [`Versioned::update`].
    pub fn settle_option(&mut self, left: Option<T>, failed: bool) -> Result<bool, Error> {
        let updating = self.updating()?;
        let change = if failed { Change::Nothing } else { updating.change(left.as_ref())? };
        drop(left);
        updating.settle(change)
    }
}

impl<'a, T> Attempts<'a, T> {
    fn updating(&mut self) -> Result<&mut Updating<'a, T>, Error> {
        self.0.as_mut().map_err(|error| error.clone())
    }
}

/// The budget and the pauses of a body that does everything by itself.
#[derive(Debug)]
pub struct Again(Result<proto::Again, ConfigError>);

/// For a body that may run `attempts` times within `within`.
#[must_use]
pub fn again(attempts: u32, within: Duration) -> Again {
    let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
    Again(proto::Again::checked(attempts, within, seed, time::now()))
}

impl Again {
    /// Whether it may run at all.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn attempt(&self) -> Result<(), Error> {
        self.0.as_ref().map(drop).map_err(|error| error.clone().into())
    }

    /// Pauses after a conflict about `key`.
    ///
    /// # Errors
    /// [`Error::Exhausted`].
    pub fn go_on(&mut self, key: Option<Key>) -> Result<(), Error> {
        let again = self.0.as_mut().map_err(|error| error.clone())?;
        let at = again.after_conflict(time::now(), key)?;
        std::thread::sleep(at.since(time::now()));
        Ok(())
    }
}
