//! [`LockGuard`]: holds a lock while it lives.

use std::time::Duration;

use crate::{
    Client, Error, Key, Lease, LeaseState, LossReason, Operation, Release,
    core_private::{Held, lent},
    node::Role,
    proto::{Op, Tenancy, response_deadline},
    time,
};

/// Holds a lock while it lives. Its lease is renewed in the background; dropping it releases the lock.
///
/// The release of a drop happens in the background too, from any place: inside or outside of a runtime,
/// in a panic, while a runtime shuts down. A process that ends at once leaves the key to its TTL;
/// [`Client::close`] waits for the releases. With [`min_hold`](crate::Lock::min_hold) a release or drop
/// before its time leaves the key for the rest of it.
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

    /// Resolves when the lease is lost, with the reason.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn lost(&self) -> LossReason {
        self.lease.lost().await
    }

    /// Gives the lock back, and says what that did.
    ///
    /// # Errors
    /// [`Error::Backend`] if the server refuses the release (a permission is missing, say). A reply
    /// that is lost is no error but [`Release::Unknown`].
    ///
    /// # Cancel safety
    /// The lock is as good as given back when this is called: dropped midway, the release is sent
    /// again in the background.
    pub async fn release(self) -> Result<Release, Error> {
        let mut guard = self;
        if guard.is_lent() {
            return Ok(lent(guard.state()));
        }
        let keep = std::sync::Arc::clone(&guard.client.inner().keep);
        let now = time::now();
        let begin = |keeper: &mut crate::proto::Keeper<_>| {
            keeper.begin_release(&guard.lease, guard.tenancy, now)
        };
        let op = keep.with(begin);
        guard.client.inner().crowds.released(guard.lease.key(), now);
        let reply = guard.send(op).await;
        // From here on there is no await: what follows is not cut off.
        guard.over = true;
        let (lease, tenancy) = (&guard.lease, guard.tenancy);
        keep.with(|keeper| keeper.end_release(lease, tenancy, reply, time::now())).map_err(
            |fault| {
                let key = Some(lease.key().clone());
                Error::Backend { key, operation: Operation::Release, fault }
            },
        )
    }

    async fn send(&self, op: Op) -> Result<crate::proto::Verdict, crate::Fault> {
        let inner = self.client.inner();
        let line = inner.node.line(Role::Commands).await?;
        let within = response_deadline(inner.limits.response, self.tenancy.ttl());
        line.call(&op, within).await
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if !self.over {
            let (lease, tenancy) = (&self.lease, self.tenancy);
            self.client.inner().crowds.released(lease.key(), time::now());
            let see = |keeper: &mut crate::proto::Keeper<_>| {
                keeper.see_release_through(lease, tenancy, time::now());
            };
            self.client.inner().keep.with(see);
        }
    }
}
