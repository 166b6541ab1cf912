//! [`LockGuard`]: holds a lock while it lives.

use std::time::Duration;

use tairlock::{
    Error, Fault, Key, Lease, LeaseState, LossReason, Operation, Release,
    core_private::{Held, lent},
    proto::{Op, Tenancy, Verdict, response_deadline},
    time,
};

use crate::Client;

/// Holds a lock while it lives. Its lease is renewed in the background; dropping it releases the lock.
///
/// A drop, in a panic too, sends the release over a free connection of the pool and waits for the answer
/// for at most the response deadline. Where no connection is free, or the answer does not come, the
/// release goes on in the background. A process that ends at once leaves the key to its TTL;
/// [`Client::close`] waits for the releases. With [`min_hold`](crate::Lock::min_hold) a release or drop
/// before its time leaves the key for the rest of it.
///
/// ```
/// # use std::time::Duration;
/// # fn main() -> Result<(), tairlock_sync::Error> {
/// let client = tairlock_sync::Client::in_memory();
/// let guard = client.lock("job").ttl(Duration::from_secs(5)).acquire()?;
/// assert!(guard.remaining() > Duration::from_secs(4));
/// assert_eq!(guard.release()?, tairlock_sync::Release::Released);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a guard that is dropped at once holds nothing"]
pub struct LockGuard {
    client: Client,
    lease: Lease,
    tenancy: Tenancy,
    over: bool,
}

impl LockGuard {
    pub(crate) const fn new(client: Client, lease: Lease, tenancy: Tenancy) -> Self {
        Self { client, lease, tenancy, over: false }
    }

    /// A share in what a call around this one holds: for it, there is nothing to release.
    pub(crate) fn lent(client: Client, held: Held) -> Self {
        Self { client, lease: held.lease, tenancy: held.tenancy, over: true }
    }

    /// Whether it is a share in what a call around this one holds.
    pub(crate) const fn is_lent(&self) -> bool {
        self.over
    }

    /// What its owner is told if it is lost.
    pub(crate) fn loss(&self) -> Option<Error> {
        match self.state() {
            LeaseState::Lost(reason) => Some(Error::Lost { key: self.key().clone(), reason }),
            _ => None,
        }
    }

    /// What it holds, for the scope of a body.
    pub(crate) fn held(&self) -> Held {
        Held { client: self.client.id(), lease: self.lease.clone(), tenancy: self.tenancy }
    }

    /// The lock's key, prefix included.
    #[must_use]
    pub fn key(&self) -> &Key {
        self.lease.key()
    }

    /// A view of the lease that can be cloned and moved elsewhere.
    #[must_use]
    pub const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The fence, where [`Lock::fence`](crate::Lock::fence) asked for one: a number that increases with
    /// every grant of the key. The store that is written to must refuse a lower one than it has seen.
    #[must_use]
    pub fn fence(&self) -> Option<u64> {
        self.lease.fence()
    }

    /// Whether the lock is surely still ours. No I/O: the local clock decides.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.lease.is_held()
    }

    /// How long the lock is surely still ours if nothing renews it.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.lease.remaining()
    }

    /// What is known of the lease. Once lost, it stays lost.
    #[must_use]
    pub fn state(&self) -> LeaseState {
        self.lease.state()
    }

    /// Blocks until the lease is lost, and answers with the reason; `None` if it is not lost by `limit`.
    ///
    /// For a thread that watches while another works: [`LockGuard::lease`] can be cloned for it.
    #[must_use]
    pub fn wait_lost(&self, limit: Duration) -> Option<LossReason> {
        self.lease.wait_lost(limit)
    }

    /// Gives the lock back, and says what that did.
    ///
    /// # Errors
    /// [`Error::Backend`] if the server refuses the release (a permission is missing, say). A reply
    /// that is lost is no error but [`Release::Unknown`].
    pub fn release(mut self) -> Result<Release, Error> {
        if self.is_lent() {
            return Ok(lent(self.state()));
        }
        let client = self.client.clone();
        let inner = client.inner();
        let op = self.begin();
        let reply = inner.commands.call(&op, self.within());
        self.end(reply).map_err(|fault| {
            let key = Some(self.lease.key().clone());
            Error::Backend { key, operation: Operation::Release, fault }
        })
    }

    /// Nothing is renewed from here on; answers what to send.
    fn begin(&self) -> Op {
        let (lease, tenancy, now) = (&self.lease, self.tenancy, time::now());
        let inner = self.client.inner();
        let op = inner.keep.with(|keeper| keeper.begin_release(lease, tenancy, now));
        inner.crowds.released(lease.key(), now);
        op
    }

    fn end(&mut self, reply: Result<Verdict, Fault>) -> Result<Release, Fault> {
        self.over = true;
        let (lease, tenancy) = (&self.lease, self.tenancy);
        self.client
            .inner()
            .keep
            .with(|keeper| keeper.end_release(lease, tenancy, reply, time::now()))
    }

    fn within(&self) -> Duration {
        response_deadline(self.client.inner().limits.response, self.tenancy.ttl())
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let op = self.begin();
        match self.client.inner().commands.call_if_free(&op, self.within()) {
            // Nobody is there to be told what came of it.
            Some(reply) => _ = self.end(reply),
            None => {
                let (lease, tenancy) = (&self.lease, self.tenancy);
                let now = time::now();
                self.client
                    .inner()
                    .keep
                    .with(|keeper| keeper.see_release_through(lease, tenancy, now));
            }
        }
    }
}
