//! The protocol: machines that decide what to send and when, without doing either.
//!
//! A machine is handed the time, the replies and a seed; it has no clock, no randomness and no I/O of
//! its own, so that a run replays. Drivers, async and blocking, wait and send for it and decide
//! nothing. For authors of drivers and simulations; exempt from semantic versioning.

mod acquire;
mod backoff;
mod confirm;
mod crowd;
mod errand;
mod hub;
mod inquiry;
mod journey;
mod keeper;
mod pace;
mod quorum;
mod redirect;
mod tenancy;
#[cfg(test)]
mod tests;
mod topology;
mod update;
mod waiting;

use std::time::Duration;

pub use acquire::{Acquire, Acquired};
pub use backoff::Backoff;
pub use confirm::{Confirmed, Confirming};
pub use crowd::{Crowd, Crowds};
pub use errand::{Deed, Errand, Outcome};
pub use hub::{Hear, Hearing, Hub, News};
pub use inquiry::Inquiry;
pub use journey::{Journey, Leg};
pub use keeper::Keeper;
pub use pace::{Again, Pace, Pacing};
pub use quorum::{Quorum, Roll, Round, Unheard};
pub use redirect::Redirect;
pub use tenancy::{Grant, Tenancy, Undo};
pub use topology::{Address, Range, Topology};
pub use update::{Update, Updated};

pub use crate::report::Holding;
use crate::{
    Confirm, Fault, Key, Lease, Token, Ttl,
    time::Timestamp,
    value::{FencedAction, FencedValue, Stored, ValueOp},
};

/// Something that runs until it is done, fed by a driver.
pub trait Machine {
    /// What it comes to.
    type Output;
    /// Where its operations are to be sent.
    type Route;

    /// What to do now. Called again after every event, and until it answers [`Step::Wait`] or
    /// [`Step::Done`].
    fn poll(&mut self, now: Timestamp) -> Step<Self::Output, Self::Route>;

    /// Something happened.
    fn handle(&mut self, event: Event, now: Timestamp);
}

/// What a machine wants next.
#[derive(Debug)]
pub enum Step<T, R> {
    /// Send `op`, and report its reply under `id`; without one after `within`, report the fault.
    Send {
        /// Names the reply.
        id: SendId,
        /// Where to.
        route: R,
        /// What.
        op: Op,
        /// For how long to wait for the reply.
        within: Duration,
    },
    /// Nothing to do before this moment, a reply, or a bell.
    Wait(Timestamp),
    /// Over.
    Done(T),
}

/// Names a reply after the [`Step::Send`] that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SendId(pub u64);

/// What a driver tells a machine.
#[derive(Debug)]
pub enum Event {
    /// A reply, or what came in its place.
    Reply(SendId, Result<Verdict, Fault>),
    /// Whoever was in front has left.
    Rung,
    /// The key has changed, or may have: a server said so, or the one who listened for that was lost.
    Changed,
}

/// Which connection an acquire's question goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The one for commands.
    Commands,
    /// The listener's: its server tells of changes of the keys that are asked about on it. Where there is
    /// none yet, or none at all, the answer is a fault, at once.
    Listener,
}

/// What can be asked of a server. How it is said is a dialect's business.
#[derive(Clone, Debug)]
pub enum Op {
    /// Take the lock if it is free.
    Acquire {
        /// The lock.
        key: Key,
        /// What to put there.
        token: Token,
        /// For how long.
        ttl: Ttl,
    },
    /// Take the lock if it is free, and issue a fence for it in the same step.
    AcquireFenced {
        /// The lock.
        key: Key,
        /// What to put there.
        token: Token,
        /// For how long.
        ttl: Ttl,
    },
    /// Prolong leases that are still ours.
    RenewMany(Vec<Renewal>),
    /// Give the lock back if it is still ours.
    Release {
        /// The lock.
        key: Key,
        /// What must stand there.
        token: Token,
    },
    /// Give the lock back if it is still ours, but leave the key for as long as the renewal says.
    Retain(Renewal),
    /// Who holds the lock?
    Inspect(Key),
    /// Give the lock back, whoever holds it.
    ForceRelease(Key),
    /// Ask how long the lock is held unless that is prolonged. Asked by a listener, which is told of the
    /// key's next change.
    Remaining {
        /// The lock.
        key: Key,
    },
    /// Ask about a versioned value, or change it.
    Value(ValueOp),
    /// Ask about the fenced value under a key, or write it.
    Fenced(Key, FencedAction),
    /// A grant, or renewals, that count only once copies have them. Sent by a [`Confirming`], as its steps.
    Confirmed(Box<Confirmed>),
    /// How many copies have what was last written on this connection?
    Copies {
        /// What that was about.
        key: Key,
        /// Which copies, and how long they have.
        confirm: Confirm,
    },
}

impl Op {
    /// The same, `confirmed` by copies if that is asked for.
    #[must_use]
    pub fn confirmed(self, confirm: Option<Confirm>, each: Duration) -> Self {
        match confirm {
            Some(confirm) => Self::Confirmed(Box::new(Confirmed { op: self, confirm, each })),
            None => self,
        }
    }

    /// How long all of it may take, where each reply may take as long as `each`.
    #[must_use]
    pub fn within(&self, each: Duration) -> Duration {
        match self {
            Self::Confirmed(confirmed) => confirmed.within(),
            _ => each,
        }
    }

    /// How long to wait for the first reply, or for a connection to ask on, if all of it may take `within`.
    #[must_use]
    pub fn patience(&self, within: Duration) -> Duration {
        match self {
            Self::Confirmed(confirmed) => confirmed.each.min(within),
            _ => within,
        }
    }
}

impl Op {
    /// The key that it is about; `None` for a batch, which is about several.
    #[must_use]
    pub const fn key(&self) -> Option<&Key> {
        match self {
            Self::Acquire { key, .. }
            | Self::AcquireFenced { key, .. }
            | Self::Release { key, .. }
            | Self::Retain(Renewal { key, .. })
            | Self::Inspect(key)
            | Self::ForceRelease(key)
            | Self::Remaining { key }
            | Self::Value(ValueOp { key, .. })
            | Self::Fenced(key, _)
            | Self::Copies { key, .. } => Some(key),
            Self::Confirmed(confirmed) => confirmed.op.key(),
            Self::RenewMany(_) => None,
        }
    }
}

/// One lease of a batch that is to be prolonged.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// The lock.
    pub key: Key,
    /// What must stand there.
    pub token: Token,
    /// For how long from now on.
    pub ttl: Ttl,
    /// Whose lock it is, if anybody's: a server is not joined again with what was let go meanwhile.
    pub of: Option<Lease>,
}

/// What stands under a lock's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Somebody's token, or what another program has put there.
    pub token: Token,
    /// For how long it will stand there; `None` if it never expires.
    pub left: Option<Duration>,
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// To an acquire: the lock is ours from this command on.
    Granted,
    /// To an acquire: our token was there already, from an earlier command whose reply was lost.
    Ours,
    /// To an acquire with a fence: the lock is ours, with this one.
    Issued {
        /// Above all that were issued for this lock before.
        fence: u64,
        /// Our token was there already, as with [`Verdict::Ours`]; the fence is the one of then.
        again: bool,
    },
    /// To an acquire: somebody else holds it.
    Busy,
    /// To a renewal: done.
    Renewed,
    /// To a release: done.
    Released,
    /// To [`Op::Retain`]: done.
    Retained,
    /// To [`Op::Inspect`]: this stands there.
    Seen(Seen),
    /// To [`Op::ForceRelease`]: this stood there, and is gone.
    Evicted(Seen),
    /// To a renewal, a release, or a question about a value: nothing stands under the key.
    Gone,
    /// To a renewal or release: something else stands under the key.
    Taken,
    /// To the question what remains: so much; `None` is for ever. [`Verdict::Gone`] if nobody holds it.
    Remaining(Option<Duration>),
    /// To a read: what is there. To a write of a value: what stands there instead of what was expected.
    Stored(Stored),
    /// To a write of a value: done, with this version.
    Written(u64),
    /// To a read of a fenced value: what is there.
    Fenced(FencedValue),
    /// To a write of a fenced value: done.
    Accepted,
    /// To a write of a fenced value: it has this newer fence.
    Refused(u64),
    /// To the removal of a value: done.
    Removed,
    /// To [`Op::Copies`]: so many have it, of those that were asked for.
    Copies(u32),
    /// To [`Op::Confirmed`]: it was granted, and fewer copies than wanted have it.
    Unconfirmed {
        /// How many have it.
        acked: u32,
        /// How many were to have it.
        wanted: u32,
        /// Whether the token of a grant may still stand there: taking it back failed.
        stays: bool,
    },
    /// From several servers: this, but our token may stand on one of them against our will: not all have
    /// answered, or one was joined again and may have heard of a release before.
    Open(Box<Self>),
    /// To [`Op::RenewMany`]: one answer for each, in order.
    Many(Vec<Result<Self, Fault>>),
}

impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.is_ambiguous() == other.is_ambiguous()
    }
}

impl Eq for Fault {}

/// How long to wait for a reply: the client's deadline, and never above a third of the TTL.
#[must_use]
pub fn response_deadline(limit: Duration, ttl: Ttl) -> Duration {
    limit.min(ttl.as_duration() / 3)
}
