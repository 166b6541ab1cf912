//! What the attribute expands to. Exempt from semantic versioning: write nothing against it.

pub use core;
pub use std;

pub use tairlock::{
    IsConflict, Lease,
    core_private::{Outcome, Template},
    value::{Change, DEFAULT_ATTEMPTS, DEFAULT_WITHIN},
};

pub use crate::versioned::Updating;
use crate::{Client, Codec, Coded, Error, Lock, LockGuard, Versioned, default::default_client};

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
pub struct Again(tairlock::proto::Again);

/// For a body that may run `attempts` times within `within`.
#[must_use]
pub fn again(attempts: u32, within: std::time::Duration) -> Again {
    let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
    Again(tairlock::proto::Again::new(attempts, within, seed, tairlock::time::now()))
}

impl Again {
    /// Pauses after a conflict; `false` if the budget is spent.
    pub fn go_on(&mut self) -> bool {
        let now = tairlock::time::now();
        let Some(at) = self.0.after_conflict(now) else { return false };
        std::thread::sleep(at.since(now));
        true
    }
}
