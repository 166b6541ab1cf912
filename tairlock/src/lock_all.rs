//! [`LockAll`]: several locks asked for together, all or none.

use std::time::Duration;

use crate::{
    Client, Error, Leases, Lock, LockGuard, Release,
    core_private::{Several, declined},
    options::Request,
    time,
};

/// Several locks as they are asked for: all or none, in one order whoever asks. See [`Client::lock_all`].
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
/// let client = tairlock::Client::in_memory();
/// let guards = client.lock_all(["account:7", "account:3"]).acquire().await?;
/// assert!(client.lock("account:3").try_acquire().await?.is_none());
/// guards.release().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "locks are not held before `acquire` or `try_acquire`"]
pub struct LockAll {
    client: Result<Client, Error>,
    all: Result<Several, Error>,
    request: Result<Request, Error>,
}

impl LockAll {
    crate::__lock_setters!();

    /// Takes all of them, one after the other in the order of their bytes, waiting while somebody else
    /// holds one. The wait is for all together.
    ///
    /// # Errors
    /// As [`Lock::acquire`], about the first that was not had; those that were taken are given back.
    /// [`Error::Lost`] if a lease ran out while another lock was waited for.
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn acquire(&self) -> Result<LockGuards, Error> {
        let (client, all) = self.checked()?;
        let began = time::now();
        let mut guards = Vec::with_capacity(all.keys().len());
        for key in all.keys() {
            let request = all.ask(key, began, time::now());
            let guard = Lock::new(Ok(client.clone()), Ok(request)).acquire().await;
            guards.push(guard.map_err(|error| all.tell(error, began, time::now()))?);
        }
        let guards = LockGuards::new(guards);
        match guards.guards.iter().find_map(LockGuard::loss) {
            Some(lost) => Err(lost),
            None => Ok(guards),
        }
    }

    /// Takes all of them if all are free now. `Ok(None)` means that somebody else holds one.
    ///
    /// # Errors
    /// As [`LockAll::acquire`], but never [`Error::Busy`], [`Error::TimedOut`] or [`Error::WouldDeadlock`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn try_acquire(&self) -> Result<Option<LockGuards>, Error> {
        match self.clone().wait(Duration::ZERO).acquire().await {
            Ok(guards) => Ok(Some(guards)),
            Err(Error::Busy { .. } | Error::WouldDeadlock { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn new(client: Result<Client, Error>, all: Result<Several, Error>) -> Self {
        let request = all.as_ref().map(|all| all.request().clone()).map_err(Clone::clone);
        Self { client, all, request }
    }

    fn checked(&self) -> Result<(&Client, Several), Error> {
        self.check().inspect_err(|error| declined(self.request.as_ref().ok(), error))
    }

    fn check(&self) -> Result<(&Client, Several), Error> {
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let all = self.all.as_ref().map_err(Clone::clone)?;
        Ok((client, all.with(self.request.as_ref().map_err(Clone::clone)?)))
    }
}

/// Holds several locks while it lives; dropping it releases them.
#[derive(Debug)]
#[must_use = "guards that are dropped at once hold nothing"]
pub struct LockGuards {
    guards: Vec<LockGuard>,
    leases: Leases,
}

impl LockGuards {
    fn new(guards: Vec<LockGuard>) -> Self {
        let leases = guards.iter().map(|guard| guard.lease().clone()).collect();
        Self { guards, leases }
    }

    /// A view of the leases that can be cloned and moved elsewhere: which keys, whether all are held, how
    /// long still, and what was lost.
    #[must_use]
    pub const fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Gives all of them back, the last first, and says what that did, ordered by key.
    ///
    /// # Errors
    /// As [`LockGuard::release`], the first; the others are released all the same.
    ///
    /// # Cancel safety
    /// As [`LockGuard::release`].
    pub async fn release(self) -> Result<Vec<Release>, Error> {
        let mut done = Vec::with_capacity(self.guards.len());
        for guard in self.guards.into_iter().rev() {
            done.push(guard.release().await);
        }
        done.into_iter().rev().collect()
    }

    pub(crate) fn guards(&self) -> &[LockGuard] {
        &self.guards
    }

    pub(crate) fn into_guards(self) -> Vec<LockGuard> {
        self.guards
    }
}
