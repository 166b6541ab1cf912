//! Nodes and lines: where operations go, whatever stands behind.

mod memory;
mod quorum;
#[cfg(feature = "redis")]
pub(crate) mod redis;

use std::{
    fmt::Debug,
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) use memory::MemoryNode;
pub(crate) use quorum::{Member, QuorumLine};
use tairlock::{
    Confirm, Fault, FaultKind,
    doctor::Report,
    proto::{Hear, Op, Verdict},
};

/// A way to one server, or to what acts as one. Any number of threads call at once.
pub(crate) trait Line: Debug + Send + Sync {
    /// Asks, connecting first where that is needed, and waits for the answer for at most `within`.
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault>;

    /// As [`Line::call`], if that takes neither waiting for a connection nor opening one.
    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>>;

    /// Whether a question can be asked without connecting first.
    fn is_open(&self) -> bool {
        true
    }

    /// Connects, if the next question would have to, in this time.
    fn open(&self, _within: Duration) -> Result<(), Fault> {
        Ok(())
    }

    /// Connects.
    fn ready(&self) -> Result<(), Fault>;

    /// What a crash or a failover can take from locks here.
    fn examine(&self, _within: Duration, _confirm: Option<Confirm>) -> Result<Report, Fault> {
        let text = "there is no one server here to examine; ask each by a client of its own";
        Err(Fault::new(FaultKind::Unsupported, text))
    }

    /// As [`Line::call`], in two halves: several servers can be asked before one has answered.
    fn begin(&self, op: Op, within: Duration) -> Begun<'_> {
        Begun::Over(self.call(&op, within))
    }

    /// Which server it was when last connected to, where that was to be found out.
    fn server(&self) -> Option<Box<str>> {
        None
    }

    /// A line for one acquire, where it must remember what was said before.
    fn for_one_caller(&self) -> Option<SharedLine> {
        None
    }
}

/// The first half of a call.
pub(crate) enum Begun<'a> {
    /// There is no second.
    Over(Result<Verdict, Fault>),
    /// The question was sent.
    #[cfg_attr(not(feature = "redis"), allow(dead_code, reason = "memory answers at once"))]
    Asked(Box<dyn Asked + 'a>),
}

/// A question that was sent.
pub(crate) trait Asked {
    /// Waits for the answer, which comes but once.
    fn answer(&mut self, until: Instant) -> Result<Verdict, Fault>;
}

pub(crate) type SharedLine = Arc<dyn Line>;

/// A server that tells of changes.
pub(crate) trait Listen: Debug + Send + Sync {
    /// A line whose server tells `hear` of the next change of every key that is asked about on it.
    fn listen(self: Arc<Self>, hear: Hear) -> Result<SharedLine, Fault>;
}

/// One server, by what a way to it is for.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// What callers ask for.
    pub(crate) commands: SharedLine,
    /// Renewals, and releases in place of guards: where it is a line of its own, user code can neither
    /// exhaust nor block it.
    pub(crate) keeper: SharedLine,
    /// Renewals that copies confirm, each on a connection that it has to itself; `None` where there are none
    /// but the caller's own, and nothing is confirmed.
    pub(crate) confirm: Option<SharedLine>,
    /// Being told of changes, where that can be.
    pub(crate) listen: Option<Arc<dyn Listen>>,
}

impl Node {
    /// One line for everything.
    pub(crate) fn of(line: SharedLine) -> Self {
        Self { commands: Arc::clone(&line), keeper: line, confirm: None, listen: None }
    }
}
