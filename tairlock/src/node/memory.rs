//! The embedded server as a node.

use std::{fmt, sync::Arc, time::Duration};

use super::{Line, Node, Role, SharedLine};
use crate::{
    Confirm, Fault,
    doctor::Report,
    memory::{Ear, SharedStore},
    proto::{Hear, News, Op, Verdict},
    runtime::BoxFuture,
};

/// A [`SharedStore`] that is always there and answers at once.
pub(crate) struct MemoryNode(Arc<SharedStore>);

impl MemoryNode {
    pub(crate) fn new(store: Arc<SharedStore>) -> Self {
        Self(store)
    }
}

impl Node for MemoryNode {
    fn line(&self, _role: Role) -> BoxFuture<'_, Result<SharedLine, Fault>> {
        let line: SharedLine = Arc::new(MemoryLine(Arc::clone(&self.0)));
        Box::pin(std::future::ready(Ok(line)))
    }

    fn listen(&self, hear: Hear) -> BoxFuture<'_, Result<SharedLine, Fault>> {
        let ear = self.0.listen(Arc::new(move |key| hear(News::Changed(key.as_bytes()))));
        let line: SharedLine = Arc::new(MemoryEar(ear));
        Box::pin(std::future::ready(Ok(line)))
    }

    fn examine(
        &self,
        _within: Duration,
        _confirm: Option<Confirm>,
    ) -> BoxFuture<'_, Result<Report, Fault>> {
        Box::pin(std::future::ready(Ok(Report::of_memory(self.place()))))
    }

    fn place(&self) -> String {
        "the embedded server".to_owned()
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
    fn call<'a>(&'a self, op: &'a Op, _within: Duration) -> BoxFuture<'a, Result<Verdict, Fault>> {
        Box::pin(async move { self.0.apply(op) })
    }
}

#[derive(Debug)]
struct MemoryEar(Ear);

impl Line for MemoryEar {
    fn call<'a>(&'a self, op: &'a Op, _within: Duration) -> BoxFuture<'a, Result<Verdict, Fault>> {
        Box::pin(async move { self.0.apply(op) })
    }
}
