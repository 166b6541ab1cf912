//! The embedded server as a node.

use std::{sync::Arc, time::Duration};

use tairlock::{
    Confirm, Fault,
    doctor::Report,
    memory::{Ear, SharedStore},
    proto::{Hear, News, Op, Verdict},
};

use super::{Line, Listen, Node, SharedLine};

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

    fn examine(&self, _within: Duration, _confirm: Option<Confirm>) -> Result<Report, Fault> {
        Ok(Report::of_memory("the embedded server"))
    }
}

/// A [`SharedStore`] that tells of changes.
#[derive(Debug)]
pub(crate) struct MemoryNode(Arc<SharedStore>);

impl MemoryNode {
    pub(crate) fn node(store: Arc<SharedStore>) -> Node {
        let listen: Arc<dyn Listen> = Arc::new(Self(Arc::clone(&store)));
        let line: SharedLine = Arc::new(MemoryLine(store));
        // It refuses by itself.
        let confirm = Some(Arc::clone(&line));
        Node { listen: Some(listen), confirm, ..Node::of(line) }
    }
}

impl Listen for MemoryNode {
    fn listen(self: Arc<Self>, hear: Hear) -> Result<SharedLine, Fault> {
        let ear = self.0.listen(Arc::new(move |key| hear(News::Changed(key.as_bytes()))));
        Ok(Arc::new(MemoryEar(ear)))
    }
}

#[derive(Debug)]
struct MemoryEar(Ear);

impl Line for MemoryEar {
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
