//! What a release did.

use std::time::Duration;

use crate::{LeaseState, LossReason};

/// What a release did to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use]
pub enum Release {
    /// It was ours, and is free now.
    Released,
    /// It was ours, and its key stays for the rest of `min_hold`: nobody gets the lock before.
    Retained {
        /// For how long.
        left: Duration,
    },
    /// It was not ours any more: the lease had run out, and nobody holds the lock.
    Expired,
    /// It was not ours any more: somebody else holds the lock, and keeps it.
    Taken,
    /// It is held still: a call around this one holds it, and shared its lease (`reentrant`).
    Kept,
    /// The reply was lost. The release is sent again in the background until the TTL has passed.
    Unknown,
}

impl Release {
    /// Whether the lock was ours to the end.
    #[must_use]
    pub const fn was_held(self) -> bool {
        matches!(self, Self::Released | Self::Kept | Self::Retained { .. })
    }
}

/// Whether work that ran under a lock was covered by it to the end: `state` as it was before the
/// release, and what the release did, if it came to an answer.
#[must_use]
pub const fn loss(state: LeaseState, release: Option<Release>) -> Option<LossReason> {
    match (state, release) {
        (LeaseState::Lost(reason), _) => Some(reason),
        (_, Some(Release::Expired)) => Some(LossReason::Vanished),
        (_, Some(Release::Taken)) => Some(LossReason::Taken),
        // The work is done under the lock, and the key dies with its TTL.
        (
            _,
            Some(Release::Released | Release::Kept | Release::Retained { .. } | Release::Unknown)
            | None,
        ) => None,
    }
}

/// What the release of a shared lease does, which is nothing: `state` is what is known of it.
pub const fn lent(state: LeaseState) -> Release {
    match state {
        LeaseState::Held | LeaseState::Uncertain => Release::Kept,
        LeaseState::Lost(LossReason::Taken) => Release::Taken,
        LeaseState::Lost(_) | LeaseState::Released => Release::Expired,
    }
}
