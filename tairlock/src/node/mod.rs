//! Nodes and lines: where operations go, whatever stands behind.

#[cfg(feature = "cluster")]
pub(crate) mod cluster;
mod memory;
mod quorum;
#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(feature = "sentinel")]
pub(crate) mod sentinel;

use std::{fmt::Debug, sync::Arc, time::Duration};

pub(crate) use memory::MemoryNode;
pub(crate) use quorum::QuorumNode;

use crate::{
    Confirm, Fault, FaultKind,
    doctor::Report,
    proto::{Hear, Op, Verdict},
    runtime::BoxFuture,
};

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// What callers ask for.
    Commands,
    /// Renewals, and releases in place of guards: user code cannot exhaust or block it.
    Keeper,
}

/// One server, or what acts as one.
pub(crate) trait Node: Debug + Send + Sync {
    /// A connection that is up and whose server's ways are known.
    fn line(&self, role: Role) -> BoxFuture<'_, Result<SharedLine, Fault>>;

    /// A connection whose server tells `hear` of the next change of every key that is asked about on it.
    fn listen(&self, hear: Hear) -> BoxFuture<'_, Result<SharedLine, Fault>>;

    /// Connects.
    fn ready(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async move { self.line(Role::Commands).await.map(drop) })
    }

    /// What a crash or a failover can take from locks here.
    fn examine(
        &self,
        _within: Duration,
        _confirm: Option<Confirm>,
    ) -> BoxFuture<'_, Result<Report, Fault>> {
        let text = "there is no one server here to examine; ask each by a client of its own";
        Box::pin(std::future::ready(Err(Fault::new(FaultKind::Unsupported, text))))
    }

    /// What to call it. No password is in it.
    fn place(&self) -> String;
}

/// A connection that many share. What is sent first arrives first.
pub(crate) trait Line: Debug + Send + Sync {
    /// Asks, and waits for the answer for at most `within`.
    fn call<'a>(&'a self, op: &'a Op, within: Duration) -> BoxFuture<'a, Result<Verdict, Fault>>;

    /// Which server is at the other end, where that was to be found out.
    fn server(&self) -> Option<&str> {
        None
    }

    /// Whether it remembers what its caller has said: then everything about one acquire goes down it.
    fn is_callers_own(&self) -> bool {
        false
    }
}

pub(crate) type SharedLine = Arc<dyn Line>;
