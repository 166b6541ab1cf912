//! What the attribute expands to. Exempt from semantic versioning: write nothing against it.

#[path = "private/retry.rs"]
mod retry;

pub use core;
pub use std;

pub use tairlock::{
    Lease,
    core_private::{Outcome, Template},
};

pub use self::retry::*;
use crate::{Client, Error, Lock, LockGuard, default::default_client};

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

/// Runs `body` under `lock`, and answers in its own words: for results that can carry our error.
///
/// A body that blocks cannot be cut off: it runs to its end, and then the caller is told of a loss.
pub fn hold<T, F>(lock: Lock, body: F) -> T
where
    T: Outcome,
    F: FnOnce(Lease) -> T,
{
    let guard = match lock.acquire() {
        Ok(guard) => guard,
        Err(error) => return T::denied(error),
    };
    let output = body(guard.lease().clone());
    match settle(guard) {
        Some(lost) => output.tainted(lost),
        None => output,
    }
}

/// As [`hold`], for results of any kind: `or_else` makes one of our error.
pub fn hold_or<T, F, O>(lock: Lock, or_else: O, body: F) -> T
where
    F: FnOnce(Lease) -> T,
    O: FnOnce(Error) -> T,
{
    let guard = match lock.acquire() {
        Ok(guard) => guard,
        Err(error) => return or_else(error),
    };
    let output = body(guard.lease().clone());
    match settle(guard) {
        Some(lost) => or_else(lost),
        None => output,
    }
}

/// Gives the lock back; answers the loss if it was not ours to the end.
fn settle(guard: LockGuard) -> Option<Error> {
    let (key, state) = (guard.key().clone(), guard.state());
    let reason = tairlock::core_private::loss(state, guard.release().ok())?;
    Some(Error::Lost { key, reason })
}
