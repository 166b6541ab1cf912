//! [`Held`]: a lock held for a request, and work under it.

use std::{fmt, ops::Deref};

use tairlock::{Client, Error, Lease, LockGuard, LossReason, core_private::loss};

use crate::{LockKey, Refusal, key::lock};

/// A lock that is held for a request, with the key that was found in it.
///
/// Dropping it releases the lock in the background. [`run`](Self::run) and [`release`](Self::release)
/// wait for the release, so that the caller's next request finds the lock free.
#[must_use = "dropped at once, it holds nothing"]
pub struct Held<K> {
    key: K,
    guard: LockGuard,
}

impl<K: LockKey> Held<K> {
    /// Takes the lock of `key`.
    ///
    /// # Errors
    /// [`Refusal::Lock`] as [`tairlock::Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`tairlock::Lock::acquire`].
    pub async fn of(client: &Client, key: K) -> Result<Self, Refusal> {
        let guard = lock(client, &key).acquire().await?;
        Ok(Self { key, guard })
    }
}

impl<K> Held<K> {
    /// A view of the lease, which can be cloned and moved elsewhere.
    #[must_use]
    pub const fn lease(&self) -> &Lease {
        self.guard.lease()
    }

    /// Resolves when the lease is lost, with the reason.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn lost(&self) -> LossReason {
        self.guard.lost().await
    }

    /// Runs `work` as `#[distributed_lock]` runs a body: it is dropped at its next await if the lease is
    /// lost, and the lock is free again when this is ready. Its own error is never hidden.
    ///
    /// # Errors
    /// `work`'s own; [`Error::Lost`] if the lease was lost before `work` was done.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work` at its next await and releases the lock in the background.
    pub async fn run<T, E: From<Error>>(
        self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let output = under(&self.guard, work).await??;
        settle(self.guard).await?;
        Ok(output)
    }

    /// Gives the lock back, and waits until it is free.
    ///
    /// # Errors
    /// [`Error::Lost`] if it was not ours to the end: what was done, was not all done under it.
    ///
    /// # Cancel safety
    /// Dropped midway, the release goes on in the background.
    pub async fn release(self) -> Result<(), Error> {
        settle(self.guard).await
    }
}

impl<K> Deref for Held<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

impl<K> fmt::Debug for Held<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// Runs `work` until it is done or the lease is lost; then it is dropped at the await where it stands.
pub(crate) async fn under<F: Future>(guard: &LockGuard, work: F) -> Result<F::Output, Error> {
    let lost = std::pin::pin!(guard.lost());
    let work = std::pin::pin!(work);
    // The loss is looked at first: no work goes on under a lock that is somebody else's.
    match futures_util::future::select(lost, work).await {
        futures_util::future::Either::Left((reason, _)) => {
            Err(Error::Lost { key: guard.key().clone(), reason })
        }
        futures_util::future::Either::Right((output, _)) => Ok(output),
    }
}

/// Gives the lock back; an error if it was not ours to the end.
pub(crate) async fn settle(guard: LockGuard) -> Result<(), Error> {
    let (key, state) = (guard.key().clone(), guard.state());
    match loss(state, guard.release().await.ok()) {
        Some(reason) => Err(Error::Lost { key, reason }),
        None => Ok(()),
    }
}
