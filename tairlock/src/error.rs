//! [`Error`]: everything an operation can answer besides what was asked for.

mod words;

use std::time::Duration;

use words::{During, Moved};

use crate::{Fault, Key, Label, LossReason, Ttl};

/// Why an operation did not do what was asked.
///
/// *Busy* ([`Error::Busy`], [`Error::TimedOut`]) means that a server answered and somebody else holds
/// the lock. A fault of a server or of the network is [`Error::Backend`], never busy.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else holds the lock, and the caller asked not to wait.
    #[error("lock {key:?} is held by somebody else; pass a `wait` to queue for it")]
    Busy {
        /// The lock.
        key: Key,
    },
    /// Somebody else held the lock for as long as the caller was ready to wait.
    #[error(
        "lock {key:?} was not free within {waited:?}; pass a longer `wait`, or try again later"
    )]
    TimedOut {
        /// The lock.
        key: Key,
        /// How long the caller waited.
        waited: Duration,
    },
    /// The lock was granted, and given back, as too few copies had it in time.
    #[error(
        "lock {key:?} was granted and given back, as {acked} of {wanted} copies had it in time; see to the \
         replicas, give them longer (`within`), or ask for fewer"
    )]
    NotReplicated {
        /// The lock.
        key: Key,
        /// How many copies had it.
        acked: u32,
        /// How many were to have it ([`Confirm`](crate::Confirm)).
        wanted: u32,
    },
    /// The lease ended before the work did.
    #[error("the lease of lock {key:?} was lost: {reason}")]
    Lost {
        /// The lock.
        key: Key,
        /// How it was lost.
        reason: LossReason,
    },
    /// The call is inside of a body that holds this very lock, and would wait for itself.
    #[error(
        "lock {key:?} is held by the call that asks for it again, which would wait for itself; pass \
         `reentrant = true` to share its lease, or take the lock once, around both"
    )]
    WouldDeadlock {
        /// The lock.
        key: Key,
    },
    /// Of the servers of a quorum too few could be asked, or answered.
    #[error("lock {key:?} needs a quorum: {fault}; see that the servers are up, and try again")]
    NoQuorum {
        /// The lock.
        key: Key,
        /// What the servers said that did not grant it.
        fault: Fault,
    },
    /// The value's version is not the expected one; nothing was written.
    #[error("value {key:?} {}; read it and try again", Moved(*expected, *found))]
    Conflict {
        /// The value.
        key: Key,
        /// The version that it was to have; `None` if nothing was to be there.
        expected: Option<u64>,
        /// The version that it has; `None` if nothing is there.
        found: Option<u64>,
    },
    /// An update met conflicts for all of its budget; nothing was written.
    #[error(
        "value {key:?} was not updated in {attempts} attempts within {elapsed:?}: others changed it \
         each time; try again later, raise `max_attempts` or `within`, or take a lock"
    )]
    Exhausted {
        /// The value.
        key: Key,
        /// How many times it was tried.
        attempts: u32,
        /// For how long.
        elapsed: Duration,
    },
    /// The reply to a write was lost, and nothing tells any more whether the write was done.
    #[error(
        "value {key:?} may have been written or not, as the reply was lost ({fault}); read it to decide"
    )]
    MaybeCommitted {
        /// The value.
        key: Key,
        /// How the reply was lost.
        fault: Fault,
    },
    /// A fenced value has been written with a newer fence; nothing was written.
    #[error(
        "value {key:?} refuses fence {fence}, as it was written with {newest}: the lock has had another \
         holder since, so stop, and do not try again with this lease"
    )]
    StaleFence {
        /// The value.
        key: Key,
        /// The fence that was to be written with.
        fence: u64,
        /// The fence that it was written with.
        newest: u64,
    },
    /// There is no value to update.
    #[error("value {key:?} does not exist; create it, or update it with a default")]
    Absent {
        /// The value.
        key: Key,
    },
    /// What stands under the key cannot be read by the codec; it is left as it is.
    #[error(
        "value {key:?} cannot be read as {codec}: {reason}; use the codec that it was written with"
    )]
    Decode {
        /// The value.
        key: Key,
        /// The codec.
        codec: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The codec cannot write the value; nothing was written.
    #[error("value {key:?} cannot be written as {codec}: {reason}; use another codec or type")]
    Encode {
        /// The value.
        key: Key,
        /// The codec.
        codec: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A server, or the way to it, failed.
    #[error("{}: {fault}", During(*operation, key.as_ref()))]
    Backend {
        /// The lock, where the operation concerned one.
        key: Option<Key>,
        /// What was being done.
        operation: Operation,
        /// What went wrong. Its text is part of this error's own.
        fault: Fault,
    },
    /// The request made no sense; nothing was sent.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no default client.
    #[error(
        "no default client: call `set_default(client)` once at start-up, or name a client with \
         `using = …`"
    )]
    NoDefaultClient,
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
}

impl Error {
    /// Whether somebody else held the lock: [`Error::Busy`] or [`Error::TimedOut`].
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::TimedOut { .. })
    }

    /// Whether the lease was lost while the work was under way.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Whether a value was not as expected, and nothing was written: what `#[optimistic_retry]` tries
    /// again.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Whether the same call may well succeed a little later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Busy { .. }
            | Self::TimedOut { .. }
            | Self::NotReplicated { .. }
            | Self::Lost { .. }
            | Self::Conflict { .. }
            | Self::Exhausted { .. } => true,
            Self::NoQuorum { fault, .. } => fault.is_transient(),
            Self::Backend { fault, .. } => fault.is_transient(),
            // To repeat what may have been done is not to try again.
            Self::MaybeCommitted { .. }
            | Self::StaleFence { .. }
            | Self::Absent { .. }
            | Self::Decode { .. }
            | Self::Encode { .. }
            | Self::WouldDeadlock { .. }
            | Self::Config(_)
            | Self::NoDefaultClient
            | Self::Closed => false,
        }
    }

    /// The lock or value that the operation was about, if it was about one.
    #[must_use]
    pub const fn key(&self) -> Option<&Key> {
        match self {
            Self::Busy { key }
            | Self::TimedOut { key, .. }
            | Self::NotReplicated { key, .. }
            | Self::Lost { key, .. }
            | Self::WouldDeadlock { key }
            | Self::NoQuorum { key, .. }
            | Self::Conflict { key, .. }
            | Self::Exhausted { key, .. }
            | Self::MaybeCommitted { key, .. }
            | Self::StaleFence { key, .. }
            | Self::Absent { key }
            | Self::Decode { key, .. }
            | Self::Encode { key, .. } => Some(key),
            Self::Backend { key, .. } => key.as_ref(),
            Self::Config(_) | Self::NoDefaultClient | Self::Closed => None,
        }
    }

    /// What a server or the network did, if that is what failed.
    #[must_use]
    pub const fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Backend { fault, .. }
            | Self::MaybeCommitted { fault, .. }
            | Self::NoQuorum { fault, .. } => Some(fault),
            _ => None,
        }
    }
}

/// What was being done when a server failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Opening a connection.
    Connect,
    /// Taking a lock.
    Acquire,
    /// Prolonging a lease.
    Renew,
    /// Giving a lock back.
    Release,
    /// Reading a value.
    Read,
    /// Writing a value.
    Write,
    /// Deleting a value.
    Remove,
    /// Looking who holds a lock.
    Inspect,
    /// Examining a server.
    Examine,
    /// Taking a lock away from whoever holds it.
    ForceRelease,
}

/// A request that makes no sense. It is refused before anything is sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A key has at least one byte.
    #[error("a lock's key must not be empty")]
    EmptyKey,
    /// The key is longer than [`Key::MAX_LEN`].
    #[error("a lock's key has at most {max} bytes, prefix included; this one has {len}")]
    KeyTooLong {
        /// How long it is.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// The TTL is outside [`Ttl::MIN`] `..=` [`Ttl::MAX`].
    #[error("a ttl is {:?} to {} days; this one is {given:?}", Ttl::MIN, Ttl::MAX.as_secs() / 86_400)]
    TtlOutOfRange {
        /// What was asked for.
        given: Duration,
    },
    /// A lock cannot be held for less than one lease.
    #[error("max_hold is at least the ttl, which is {:?}; this one is {given:?}", ttl.as_duration())]
    MaxHoldBelowTtl {
        /// What was asked for.
        given: Duration,
        /// The TTL that goes with it.
        ttl: Ttl,
    },
    /// A lock cannot stay for longer than it may be held.
    #[error("min_hold is at most max_hold, and 24 days: here {most:?}; this one is {given:?}")]
    MinHoldTooLong {
        /// What was asked for.
        given: Duration,
        /// What it may be.
        most: Duration,
    },
    /// Confirmation by no replica is none.
    #[error(
        "a grant is confirmed by at least 1 replica; `Confirm::none()` asks for no confirmation"
    )]
    ConfirmedByNobody,
    /// Copies have 1 ms to a third of the TTL for their confirmation.
    #[error(
        "copies have 1 ms to a third of the ttl, here {most:?}, to confirm a grant; this is {given:?}"
    )]
    ConfirmOutOfRange {
        /// What was asked for.
        given: Duration,
        /// What it may be.
        most: Duration,
    },
    /// A quorum that two holders could have at the same time, or nobody ever.
    #[error(
        "{needed} of {nodes} servers are no quorum: more than half of them must agree, and no more than \
         there are"
    )]
    Quorum {
        /// How many were to agree.
        needed: usize,
        /// How many there are.
        nodes: usize,
    },
    /// The same server was given twice.
    #[error(
        "{place} was given twice; a quorum is of servers that fail independently of each other"
    )]
    SameServer {
        /// Where it is.
        place: String,
    },
    /// The label is empty, too long, or holds a control character.
    #[error(
        "a label has 1 to {} bytes and no control characters; this one has {len}",
        Label::MAX_LEN
    )]
    BadLabel {
        /// How long it is.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// A value stays for 1 ms to 100 years.
    #[error("a value expires after 1 ms to 100 years, or never; this one after {given:?}")]
    ExpiryOutOfRange {
        /// What was asked for.
        given: Duration,
    },
    /// A value's first version is 1 to i64::MAX − 1.
    #[error("a value's first version is 1 to {}; this one is {given}", i64::MAX - 1)]
    VersionOutOfRange {
        /// What was asked for.
        given: u64,
    },
    /// An update tries at least once.
    #[error("an update has at least 1 attempt")]
    NoAttempts,
    /// Several locks are at least one.
    #[error(
        "no key: name at least one lock, or do without the lock where there is nothing to lock"
    )]
    NoKeys,
    /// A deadline of zero never lets a command finish.
    #[error("the {what} deadline must not be zero")]
    ZeroDeadline {
        /// Which deadline.
        what: &'static str,
    },
    /// The server's address cannot be used.
    #[error("{0}")]
    Address(String),
    /// The builder was not told where the server is, or was told twice.
    #[error("{0}")]
    Builder(&'static str),
    /// The default client is set once and stays.
    #[error("the default client is already set; set it once, at start-up")]
    DefaultAlreadySet,
}
