//! What the attributes expand to. Exempt from semantic versioning: write nothing against it.

#[path = "private/held.rs"]
mod held;
#[path = "private/hold.rs"]
mod hold;
#[path = "private/retry.rs"]
mod retry;

pub use core;
pub use core::{
    option::Option::{self, None, Some},
    result::Result::{Err, Ok},
    time::Duration,
};
pub use std;

pub use self::{hold::hold, retry::*};
use crate::{Client, Error, Lock, LockAll, default::default_client};
pub use crate::{
    core_private::{Template, or_else, outcome, skip, skip_or_else},
    lease::Lease,
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
