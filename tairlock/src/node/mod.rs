//! Nodes and lines: where operations go, whatever stands behind.

mod memory;
#[cfg(feature = "redis")]
pub(crate) mod redis;

use std::{fmt::Debug, sync::Arc, time::Duration};

pub(crate) use memory::MemoryNode;

use crate::{
    Fault,
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
}

/// A connection that many share. What is sent first arrives first.
pub(crate) trait Line: Debug + Send + Sync {
    /// Asks, and waits for the answer for at most `within`.
    fn call<'a>(&'a self, op: &'a Op, within: Duration) -> BoxFuture<'a, Result<Verdict, Fault>>;
}

pub(crate) type SharedLine = Arc<dyn Line>;
