//! A [`Lease`] is a grant that ends by itself: who holds what, until when, and how it was lost.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use event_listener::{Event, EventListener, Listener};

use crate::{
    Fault, Key, Release, Token,
    bell::Turn,
    report::{Entered, Holding},
    time::{self, Timestamp},
};

/// How a lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossReason {
    /// It ran out: it was not to be renewed, or this process did not run when it should have been.
    Expired,
    /// Somebody else holds the lock now.
    Taken,
    /// The key is gone before its time: deleted, evicted, or lost by the server.
    Vanished,
    /// No server confirmed a renewal before the lease ran out.
    Unreachable,
    /// It was held for as long as it may be (`max_hold`).
    MaxHold,
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "it ran out",
            Self::Taken => "somebody else holds the lock",
            Self::Vanished => "the key is gone from the server (deleted or evicted)",
            Self::Unreachable => "no server confirmed a renewal in time",
            Self::MaxHold => "it was held for as long as `max_hold` allows",
        })
    }
}

/// What is known of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeaseState {
    /// Ours, and confirmed.
    Held,
    /// Still ours, but the last renewal was not confirmed.
    Uncertain,
    /// Not ours any more, for ever.
    Lost(LossReason),
    /// Given back by its guard.
    Released,
}

/// A grant that ends by itself: a clonable view of what a guard holds.
///
/// Answers come from memory and the local clock, without I/O.
#[derive(Clone)]
pub struct Lease(Arc<Shared>);

struct Shared {
    key: Key,
    token: Token,
    fence: Option<u64>,
    now: Mutex<Now>,
    over: Event,
}

struct Now {
    state: LeaseState,
    until: Timestamp,
    /// No renewal carries it beyond.
    limit: Timestamp,
    turn: Option<Turn>,
    /// Whoever holds the lock and watches over it: one, and without a listener of its own.
    watcher: Option<Waker>,
    /// What is told of it, until the end of it was told. Never with `Now` locked, as others listen.
    holding: Option<Holding>,
}

impl Lease {
    pub(crate) fn new(
        key: Key,
        token: Token,
        fence: Option<u64>,
        until: Timestamp,
        limit: Timestamp,
        turn: Option<Turn>,
        holding: Holding,
    ) -> Self {
        let (state, until, holding) = (LeaseState::Held, until.min(limit), Some(holding));
        let now = Mutex::new(Now { state, until, limit, turn, watcher: None, holding });
        Self(Arc::new(Shared { key, token, fence, now, over: Event::new() }))
    }

    /// The lock.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The token that stands under the key. Whoever has it can release the lock.
    #[must_use]
    pub fn token(&self) -> &Token {
        &self.0.token
    }

    /// The fence, where one was asked for: a number that increases with every grant of the key.
    #[must_use]
    pub fn fence(&self) -> Option<u64> {
        self.0.fence
    }

    /// What is known of the lease at this moment. Once lost, it stays lost.
    #[must_use]
    pub fn state(&self) -> LeaseState {
        self.state_at(time::now())
    }

    /// Whether the lock is surely still ours.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.state(), LeaseState::Held | LeaseState::Uncertain)
    }

    /// How long the lock is surely still ours, if nothing renews it; zero once it is not.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let now = time::now();
        match self.state_at(now) {
            LeaseState::Held | LeaseState::Uncertain => self.lock().until.since(now),
            LeaseState::Lost(_) | LeaseState::Released => Duration::ZERO,
        }
    }

    /// Resolves when the lease is lost, with the reason; pending for ever once it was released.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: a later call answers at once.
    pub async fn lost(&self) -> LossReason {
        let mut bell = None;
        poll_fn(|cx| self.poll_lost(&mut bell, cx)).await
    }

    /// [`Lease::lost`] for futures written by hand; `bell` is theirs to keep between polls.
    pub(crate) fn poll_lost(
        &self,
        bell: &mut Option<EventListener>,
        cx: &mut Context<'_>,
    ) -> Poll<LossReason> {
        loop {
            let listener = bell.get_or_insert_with(|| self.0.over.listen());
            // By the clock, at every poll: after a pause of the process, whoever selects on this must
            // learn of the loss even if they are polled before the keeper is.
            if let LeaseState::Lost(reason) = self.state() {
                return Poll::Ready(reason);
            }
            ready!(Pin::new(listener).poll(cx));
            *bell = None;
        }
    }

    /// [`Lease::poll_lost`] for the one who holds the lock: without a listener, which is an allocation.
    #[doc(hidden)]
    pub fn watch(&self, cx: &Context<'_>) -> Poll<LossReason> {
        if let LeaseState::Lost(reason) = self.state() {
            return Poll::Ready(reason);
        }
        let mut this = self.lock();
        match (this.state, &mut this.watcher) {
            (LeaseState::Lost(reason), _) => return Poll::Ready(reason),
            (_, Some(watcher)) => watcher.clone_from(cx.waker()),
            (_, none) => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// As [`Lease::lost`], blocking the thread for at most `limit`; `None` if it is not lost by then.
    #[must_use]
    pub fn wait_lost(&self, limit: Duration) -> Option<LossReason> {
        let limit = std::time::Instant::now().checked_add(limit);
        loop {
            let listener = self.0.over.listen();
            match (self.state(), limit) {
                (LeaseState::Lost(reason), _) => return Some(reason),
                (_, None) => listener.wait(),
                (_, Some(limit)) => {
                    listener.wait_deadline(limit)?;
                }
            }
        }
    }

    /// As [`Lease::state`], at a moment of the caller's choice: for simulations, whose time is not ours.
    #[doc(hidden)]
    #[must_use]
    pub fn state_at(&self, now: Timestamp) -> LeaseState {
        let this = self.lock();
        let reason = match this.state {
            // At the very moment it ends, it is over: the server may have granted it anew.
            LeaseState::Held | LeaseState::Uncertain
                if now >= this.until && this.until == this.limit =>
            {
                LossReason::MaxHold
            }
            LeaseState::Held if now >= this.until => LossReason::Expired,
            LeaseState::Uncertain if now >= this.until => LossReason::Unreachable,
            state => return state,
        };
        drop(this);
        self.end(LeaseState::Lost(reason));
        LeaseState::Lost(reason)
    }

    /// When it ends, if nothing renews it: for simulations.
    #[doc(hidden)]
    #[must_use]
    pub fn until(&self) -> Timestamp {
        self.lock().until
    }

    /// A renewal was confirmed; says whether the lease was still there to be prolonged.
    pub(crate) fn prolong(&self, until: Timestamp, now: Timestamp) -> bool {
        let alive = self.state_at(now);
        let mut this = self.lock();
        if matches!(alive, LeaseState::Held | LeaseState::Uncertain) && this.state == alive {
            this.state = LeaseState::Held;
            if let Some(holding) = &this.holding {
                holding.renewed(this.until.since(now));
            }
            this.until = this.until.max(until).min(this.limit);
            return true;
        }
        false
    }

    /// Whether no renewal can prolong it any more.
    pub(crate) fn is_at_its_limit(&self) -> bool {
        let this = self.lock();
        this.until == this.limit
    }

    /// A renewal was not confirmed, perhaps by a fault.
    pub(crate) fn doubt(&self, fault: Option<&Fault>) {
        let mut this = self.lock();
        if let Some(holding) = &this.holding {
            holding.unconfirmed();
        }
        if this.state == LeaseState::Held {
            this.state = LeaseState::Uncertain;
            let tell = this.holding.as_ref().map(Holding::doubt);
            drop(this);
            if let Some(tell) = tell {
                tell(self.key(), fault);
            }
        }
    }

    /// The release was answered, or given up; `None` if the server refuses it. Only the first answer counts.
    pub(crate) fn given_back(&self, release: Option<Release>) {
        let mut this = self.lock();
        let holding = this.holding.take();
        drop(this);
        if let Some(holding) = holding {
            holding.given_back(self.key(), release);
        }
    }

    /// The thread works under the lease from here on.
    pub(crate) fn enter(&self) -> Entered {
        let enter = self.lock().holding.as_ref().map(Holding::enter);
        enter.map_or_else(Entered::default, |enter| enter())
    }

    pub(crate) fn lose(&self, reason: LossReason) {
        self.end(LeaseState::Lost(reason));
    }

    /// The guard gives the lock back; nobody is told that it was lost from here on.
    pub(crate) fn let_go(&self) {
        let mut this = self.lock();
        if matches!(this.state, LeaseState::Held | LeaseState::Uncertain) {
            this.state = LeaseState::Released;
            if let Some(holding) = &mut this.holding {
                holding.let_go();
            }
        }
        let watcher = this.watcher.take();
        drop(this);
        drop(watcher);
    }

    /// Whoever waits in this process may go on: the release has been answered, or given up.
    pub(crate) fn pass_turn(&self) {
        let turn = self.lock().turn.take();
        drop(turn);
    }

    fn end(&self, state: LeaseState) {
        let mut this = self.lock();
        if matches!(this.state, LeaseState::Held | LeaseState::Uncertain) {
            this.state = state;
            // At its limit the key is still there, and is about to be released: the turn passes then.
            let stays = state == LeaseState::Lost(LossReason::MaxHold);
            let turn = if stays { None } else { this.turn.take() };
            let (watcher, holding) = (this.watcher.take(), this.holding.take());
            drop(this);
            drop(turn);
            if let Some(watcher) = watcher {
                watcher.wake();
            }
            self.0.over.notify(usize::MAX);
            if let (Some(holding), LeaseState::Lost(reason)) = (holding, state) {
                holding.lost(self.key(), reason);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("key", self.key())
            .field("token", self.token())
            .field("state", &self.state())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    fn lease(until: Timestamp) -> Lease {
        Lease::new(
            Key::new("k").unwrap(),
            Token::from_bytes("t"),
            None,
            until,
            Timestamp::NEVER,
            None,
            Holding::default(),
        )
    }

    #[test]
    fn lost_at_the_very_end_and_for_ever() {
        let lease = lease(at(100));
        assert_eq!(lease.state_at(at(99)), LeaseState::Held);
        assert_eq!(lease.state_at(at(100)), LeaseState::Lost(LossReason::Expired));
        assert!(!lease.prolong(at(200), at(101)));
        assert_eq!(lease.state_at(at(99)), LeaseState::Lost(LossReason::Expired));
    }

    #[test]
    fn doubt_ends_with_a_confirmation_or_with_the_lease() {
        let lease = lease(at(100));
        lease.doubt(None);
        assert_eq!(lease.state_at(at(50)), LeaseState::Uncertain);
        assert!(lease.prolong(at(200), at(60)));
        assert_eq!(lease.state_at(at(150)), LeaseState::Held);
        lease.doubt(None);
        assert_eq!(lease.state_at(at(200)), LeaseState::Lost(LossReason::Unreachable));
    }

    #[test]
    fn a_released_lease_is_not_lost() {
        let lease = lease(at(100));
        lease.let_go();
        assert_eq!(lease.state_at(at(500)), LeaseState::Released);
        lease.lose(LossReason::Taken);
        assert_eq!(lease.state_at(at(500)), LeaseState::Released);
        assert_eq!(lease.wait_lost(Duration::from_millis(1)), None);
    }

    #[test]
    fn a_waiting_thread_is_told() {
        let lease = lease(Timestamp::NEVER);
        let other = lease.clone();
        let waiter = std::thread::spawn(move || other.wait_lost(Duration::from_secs(60)));
        lease.lose(LossReason::Taken);
        assert_eq!(waiter.join().unwrap(), Some(LossReason::Taken));
    }
}
