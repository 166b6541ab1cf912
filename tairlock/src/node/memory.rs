//! The embedded server as a node.

use std::{fmt, sync::Arc};

use super::{Line, Node, Role, SharedLine};
use crate::{
    Fault,
    memory::SharedStore,
    proto::{Op, Verdict},
    runtime::BoxFuture,
};

/// A [`SharedStore`] that is always there and answers at once.
pub(crate) struct MemoryNode(SharedLine);

impl MemoryNode {
    pub(crate) fn new(store: Arc<SharedStore>) -> Self {
        Self(Arc::new(MemoryLine(store)))
    }
}

impl Node for MemoryNode {
    fn line(&self, _role: Role) -> BoxFuture<'_, Result<SharedLine, Fault>> {
        Box::pin(std::future::ready(Ok(Arc::clone(&self.0))))
    }
}

impl fmt::Debug for MemoryNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryNode")
    }
}

struct MemoryLine(Arc<SharedStore>);

impl fmt::Debug for MemoryLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryLine")
    }
}

impl Line for MemoryLine {
    fn call<'a>(&'a self, op: &'a Op) -> BoxFuture<'a, Result<Verdict, Fault>> {
        Box::pin(async move { self.0.apply(op) })
    }
}
