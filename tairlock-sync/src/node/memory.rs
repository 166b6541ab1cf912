//! The embedded server as a node.

use std::{sync::Arc, time::Duration};

use tairlock::{
    Fault,
    memory::SharedStore,
    proto::{Op, Verdict},
};

use super::Line;

/// A [`SharedStore`] that is always there and answers at once.
#[derive(Debug)]
pub(crate) struct MemoryLine(pub(crate) Arc<SharedStore>);

impl Line for MemoryLine {
    fn call(&self, op: &Op, _within: Duration) -> Result<Verdict, Fault> {
        self.0.apply(op)
    }

    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>> {
        Some(self.call(op, within))
    }

    fn ready(&self) -> Result<(), Fault> {
        Ok(())
    }
}
