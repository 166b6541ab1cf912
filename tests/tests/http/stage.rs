//! What the handlers of both services do, and how a test looks in on them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tairlock::{Client, Lock};
use tairlock_tower::{Answers, Asked, BadKey, Idempotency, LockKey};
use tokio::sync::{Semaphore, watch};

/// A room that handlers enter and leave, with a gate that can be closed while they are inside.
pub(crate) struct Stage {
    pub(crate) locks: Client,
    pub(crate) idempotency: Idempotency,
    pub(crate) answers: Answers,
    inside: AtomicUsize,
    most: AtomicUsize,
    visits: AtomicUsize,
    entered: Semaphore,
    left: Semaphore,
    gate: watch::Sender<bool>,
}

impl Stage {
    pub(crate) fn new(locks: Client) -> Arc<Self> {
        let idempotency = Idempotency::new(locks.clone());
        Self::with(locks, idempotency, Answers::default())
    }

    pub(crate) fn with(locks: Client, idempotency: Idempotency, answers: Answers) -> Arc<Self> {
        Arc::new(Self {
            locks,
            idempotency,
            answers,
            inside: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            visits: AtomicUsize::new(0),
            entered: Semaphore::new(0),
            left: Semaphore::new(0),
            gate: watch::Sender::new(true),
        })
    }

    /// From now on, who enters stays.
    pub(crate) fn close_gate(&self) {
        self.gate.send_replace(false);
    }

    pub(crate) fn open_gate(&self) {
        self.gate.send_replace(true);
    }

    /// Enters, waits at the gate, and leaves; answers how many have done so to the end.
    pub(crate) async fn visit(&self) -> usize {
        let _inside = self.come_in();
        // Somebody else has a chance to come in, if a lock lets them.
        tokio::task::yield_now().await;
        // The sender is ours, so the channel is not closed.
        _ = self.gate.subscribe().wait_for(|&open| open).await;
        self.visits.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Enters; the answer's drop leaves.
    pub(crate) fn come_in(&self) -> Inside<'_> {
        let now = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.entered.add_permits(1);
        Inside(self)
    }

    /// Resolves when one more has entered.
    pub(crate) async fn entered(&self) {
        self.entered.acquire().await.expect("never closed").forget();
    }

    /// Resolves when one more has left, in whichever way.
    pub(crate) async fn left(&self) {
        self.left.acquire().await.expect("never closed").forget();
    }

    /// How many were inside at most at once.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// How many visits came to their end.
    pub(crate) fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }

    pub(crate) async fn is_free(&self, key: &str) -> bool {
        match self.locks.lock(key).try_acquire().await.expect("the server answers") {
            None => false,
            Some(guard) => guard.release().await.expect("the server answers").was_held(),
        }
    }

    /// Waits until nobody holds the lock.
    pub(crate) async fn free(&self, key: &str) {
        let lock = self.locks.lock(key).wait(Duration::from_secs(9));
        let guard = lock.acquire().await.expect("it is released before its ttl of 10 s has passed");
        assert!(guard.release().await.expect("the server answers").was_held());
    }
}

/// Somebody inside.
pub(crate) struct Inside<'a>(&'a Stage);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
        self.0.left.add_permits(1);
    }
}

/// The thing that a path names: one type for both frameworks.
pub(crate) struct Item(pub(crate) u64);

impl LockKey for Item {
    fn find(request: &dyn Asked) -> Result<Self, BadKey> {
        let id = request.param("id").and_then(|id| id.parse().ok());
        id.map(Self).ok_or(BadKey("an item's id is a number"))
    }

    fn key(&self) -> String {
        format!("item:{}", self.0)
    }

    fn options(lock: Lock) -> Lock {
        lock.wait(Duration::from_secs(50))
    }
}

/// The same thing, for those who do not wait.
pub(crate) struct Hasty(pub(crate) Item);

impl LockKey for Hasty {
    fn find(request: &dyn Asked) -> Result<Self, BadKey> {
        Item::find(request).map(Self)
    }

    fn key(&self) -> String {
        self.0.key()
    }

    fn options(lock: Lock) -> Lock {
        lock.wait(Duration::ZERO)
    }
}
