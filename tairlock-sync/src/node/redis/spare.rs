//! Connections that one caller has at a time and that no pool manages: for batches of renewals that copies confirm.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tairlock::{
    Fault,
    dialect::{Batch, Reply},
    proto::{Op, Verdict},
};

use super::{
    super::Line,
    connector::{Connector, Manner, Seat},
};

/// As many as are under way at once, kept for the next time.
pub(crate) struct SpareLines {
    idle: Mutex<Vec<Seat>>,
    connector: Arc<Connector>,
}

impl SpareLines {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        Self { idle: Mutex::default(), connector }
    }

    /// As [`Line::call`], in this manner.
    pub(super) fn ask(&self, op: &Op, manner: Manner, within: Duration) -> Result<Verdict, Fault> {
        self.with(|seat| self.connector.call(seat, op, manner, within))
    }

    /// Says what is no operation.
    #[allow(dead_code, reason = "without clusters, nothing is")]
    pub(super) fn say(&self, batch: &Batch, within: Duration) -> Result<Vec<Reply>, Fault> {
        self.with(|seat| self.connector.say(seat, batch, within))
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Seat) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seat = idle().pop().unwrap_or_default();
        let answer = use_it(&mut seat);
        idle().push(seat);
        answer
    }
}

impl Line for SpareLines {
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.ask(op, Manner::default(), within)
    }

    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>> {
        Some(self.call(op, within))
    }

    fn ready(&self) -> Result<(), Fault> {
        self.with(|seat| self.connector.open(seat))
    }
}

impl fmt::Debug for SpareLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpareLines").field("connector", &self.connector).finish_non_exhaustive()
    }
}
