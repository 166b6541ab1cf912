//! A server of the Redis family as a node: a pool for commands, and a connection for the keeper.

#[cfg(feature = "cluster")]
pub(crate) mod cluster;
mod connector;
#[cfg(feature = "cluster")]
mod ears;
mod given;
mod listening;
mod own;
#[cfg(feature = "sentinel")]
pub(crate) mod sentinel;
mod spare;
mod wire;

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

pub(crate) use connector::Connector;
pub(crate) use given::GivenPool;
pub(crate) use own::{OwnLine, OwnPool};
pub(crate) use spare::SpareLines;
use tairlock::{Fault, FaultKind};

/// When a connection was last found dead. What was open then is not trusted any more: a server that
/// went away left all of them dead, and finding that out one command at a time would fail callers.
#[derive(Debug, Default)]
pub(crate) struct Outage(Mutex<Option<Instant>>);

impl Outage {
    /// Whether a connection that was last known to work at `known` may have died since.
    fn since(&self, known: Instant) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|last| known <= last)
    }

    /// A connection that was last known to work at `known` failed with `fault`.
    fn note(&self, fault: &Fault, known: Instant) {
        if fault.kind() == FaultKind::Unreachable {
            self.declare(known);
        }
    }

    /// A connection that was last known to work at `known` is of no use any more.
    fn declare(&self, known: Instant) {
        // One that died before the last outage was noted tells nothing about newer ones.
        if !self.since(known) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }
}
