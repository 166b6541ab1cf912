//! [`LockGuard`]: holds a lock while it lives.

use std::time::Duration;

use tairlock::{
    Error, Fault, Key, Lease, LeaseState, LossReason, Operation, Release,
    proto::{Op, Tenancy, Verdict, response_deadline},
    time,
};

use crate::Client;

/// Holds a lock while it lives. Its lease is renewed in the background; dropping it releases the lock.
///
/// A drop, in a panic too, sends the release over a free connection of the pool and waits for the answer
/// for at most the response deadline. Where no connection is free, or the answer does not come, the
/// release goes on in the background. A process that ends at once leaves the key to its TTL;
/// [`Client::close`] waits for the releases.
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

    /// The fencing token, where one was asked for: a number that increases with every grant of the key.
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
        let client = self.client.clone();
        let inner = client.inner();
        self.begin();
        let reply = inner.commands.call(&self.op(), self.within());
        self.end(reply).map_err(|fault| {
            let key = Some(self.lease.key().clone());
            Error::Backend { key, operation: Operation::Release, fault }
        })
    }

    fn begin(&self) {
        let inner = self.client.inner();
        inner.keep.with(|keeper| keeper.begin_release(&self.lease, self.tenancy));
        inner.crowds.released(self.lease.key(), time::now());
    }

    fn end(&mut self, reply: Result<Verdict, Fault>) -> Result<Release, Fault> {
        self.over = true;
        let (lease, tenancy) = (&self.lease, self.tenancy);
        self.client
            .inner()
            .keep
            .with(|keeper| keeper.end_release(lease, tenancy, reply, time::now()))
    }

    fn op(&self) -> Op {
        Op::Release { key: self.lease.key().clone(), token: self.lease.token().clone() }
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
        self.begin();
        match self.client.inner().commands.call_if_free(&self.op(), self.within()) {
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
