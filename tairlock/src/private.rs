//! What the attributes expand to. Exempt from semantic versioning: write nothing against it.

#[path = "private/retry.rs"]
mod retry;

use std::future::Future;

pub use core;
pub use std;

pub use self::retry::*;
use crate::{Client, Error, Lock, LockGuard, default::default_client};
pub use crate::{
    core_private::{Outcome, Template},
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

/// Runs `body` under `lock`, and answers in its own words: for results that can carry our error.
pub async fn hold<T, F, Fut>(lock: Lock, body: F) -> T
where
    T: Outcome,
    F: FnOnce(Lease) -> Fut,
    Fut: Future<Output = T>,
{
    // On the heap: an acquire is large, and every caller's future would hold room for it.
    let guard = match Box::pin(lock.acquire()).await {
        Ok(guard) => guard,
        Err(error) => return T::denied(error),
    };
    match under(&guard, body).await {
        Err(lost) => T::denied(lost),
        Ok(output) => match Box::pin(settle(guard)).await {
            Some(lost) => output.tainted(lost),
            None => output,
        },
    }
}

/// As [`hold`], for results of any kind: `or_else` makes one of our error.
pub async fn hold_or<T, F, Fut, O>(lock: Lock, or_else: O, body: F) -> T
where
    F: FnOnce(Lease) -> Fut,
    Fut: Future<Output = T>,
    O: FnOnce(Error) -> T,
{
    let guard = match Box::pin(lock.acquire()).await {
        Ok(guard) => guard,
        Err(error) => return or_else(error),
    };
    match under(&guard, body).await {
        Err(lost) => or_else(lost),
        Ok(output) => match Box::pin(settle(guard)).await {
            Some(lost) => or_else(lost),
            None => output,
        },
    }
}

/// Runs `body` until it is done or the lease is lost; then it is dropped at the await where it stands.
async fn under<T, F, Fut>(guard: &LockGuard, body: F) -> Result<T, Error>
where
    F: FnOnce(Lease) -> Fut,
    Fut: Future<Output = T>,
{
    let body = std::pin::pin!(body(guard.lease().clone()));
    let lost = std::pin::pin!(guard.lost());
    // The loss is looked at first: a body must not go on under a lock that is somebody else's.
    match futures_util::future::select(lost, body).await {
        futures_util::future::Either::Left((reason, _)) => {
            Err(Error::Lost { key: guard.key().clone(), reason })
        }
        futures_util::future::Either::Right((output, _)) => Ok(output),
    }
}

/// Gives the lock back; answers the loss if it was not ours to the end.
async fn settle(guard: LockGuard) -> Option<Error> {
    let (key, state) = (guard.key().clone(), guard.state());
    let reason = crate::release::loss(state, guard.release().await.ok())?;
    Some(Error::Lost { key, reason })
}
