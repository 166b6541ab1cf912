//! Nodes and lines: where operations go, whatever stands behind.

mod memory;
#[cfg(feature = "redis")]
pub(crate) mod redis;

use std::{fmt::Debug, sync::Arc, time::Duration};

pub(crate) use memory::MemoryNode;
use tairlock::{
    Fault,
    proto::{Hear, Op, Verdict},
};

/// A way to one server, or to what acts as one. Any number of threads call at once.
pub(crate) trait Line: Debug + Send + Sync {
    /// Asks, connecting first where that is needed, and waits for the answer for at most `within`.
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault>;

    /// As [`Line::call`], if that takes neither waiting for a connection nor opening one.
    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>>;

    /// Connects.
    fn ready(&self) -> Result<(), Fault>;
}

pub(crate) type SharedLine = Arc<dyn Line>;

/// A server that tells of changes.
pub(crate) trait Listen: Debug + Send + Sync {
    /// A line whose server tells `hear` of the next change of every key that is asked about on it.
    fn listen(&self, hear: Hear) -> Result<SharedLine, Fault>;
}

/// One server, by what a way to it is for.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// What callers ask for.
    pub(crate) commands: SharedLine,
    /// Renewals, and releases in place of guards: where it is a line of its own, user code can neither
    /// exhaust nor block it.
    pub(crate) keeper: SharedLine,
    /// Being told of changes, where that can be.
    pub(crate) listen: Option<Arc<dyn Listen>>,
}

impl Node {
    /// One line for everything.
    pub(crate) fn of(line: SharedLine) -> Self {
        Self { commands: Arc::clone(&line), keeper: line, listen: None }
    }
}
