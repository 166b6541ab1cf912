//! What the attributes expand to. Exempt from semantic versioning: write nothing against it.

#[path = "private/held.rs"]
mod held;
#[path = "private/hold.rs"]
mod hold;

pub use core;
pub use core::{
    option::Option::{self, None, Some},
    time::Duration,
};
pub use std;

pub use self::hold::hold;
pub use crate::versioned::Updating;
use crate::{
    Client, Codec, Error, Lock, LockAll, Versioned, default::default_client, value::Coded,
};
pub use crate::{
    conflict::IsConflict,
    core_private::{Template, or_else, outcome, skip, skip_or_else},
    lease::Lease,
    value::{Change, DEFAULT_ATTEMPTS, DEFAULT_WITHIN},
};

/// A lock on the default client. That there is none is said when the lock is asked for.
pub fn default_lock(key: impl AsRef<[u8]>) -> Lock {
    match default_client() {
        Ok(client) => client.lock(key),
        Err(error) => Lock::refused(error),
    }
}

/// A lock on the client named by `using`.
pub fn lock_on(client: &Client, key: impl AsRef<[u8]>) -> Lock {
    client.lock(key)
}

/// Several locks on the default client.
pub fn default_locks<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> LockAll {
    match default_client() {
        Ok(client) => client.lock_all(keys),
        Err(error) => LockAll::new(Err(error), Err(Error::Closed)),
    }
}

/// Several locks on the client named by `using`.
pub fn locks_on<K: AsRef<[u8]>>(client: &Client, keys: impl IntoIterator<Item = K>) -> LockAll {
    client.lock_all(keys)
}

/// One of several keys.
pub fn key(key: impl AsRef<[u8]>) -> Vec<u8> {
    key.as_ref().to_vec()
}

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

/// Begins an update whose body stands in the caller's own loop: `Updating::attempt` gives a copy,
/// `Updating::change` says what the body left of it, `Updating::settle` whether to go on.
///
/// # Errors
/// As [`Versioned::update`].
pub fn updating<T>(versioned: &Versioned<T>) -> Result<Updating<'_, T>, Error> {
    versioned.begin()
}

/// The budget and the pauses of a body that runs again after a conflict: [`Again::go_on`] says whether
/// it may, once it may.
#[derive(Debug)]
pub struct Again(crate::proto::Again);

/// For a body that may run `attempts` times within `within`.
#[must_use]
pub fn again(attempts: u32, within: Duration) -> Again {
    let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
    Again(crate::proto::Again::new(attempts, within, seed, crate::time::now()))
}

impl Again {
    /// Pauses after a conflict; `false` if the budget is spent.
    pub async fn go_on(&mut self) -> bool {
        let Some(at) = self.0.after_conflict(crate::time::now()) else { return false };
        if crate::time::now() < at
            && let Some(runtime) = crate::runtime::Runtime::current()
        {
            runtime.sleep_until(at).await;
        }
        true
    }
}
