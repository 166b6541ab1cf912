//! The listener of one async client: one connection on which its server tells who waits of changes.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::{
    Fault, FaultKind, Key,
    bell::Queue,
    drive,
    node::{Node, SharedLine},
    proto::{Hear, Hearing, Hub, News, Op, Verdict},
    runtime::spawn_keeper,
    time,
};

/// Rings for who waits. It is opened, on the keepers' thread, when somebody first waits for another client.
pub(crate) struct Listener {
    node: Arc<dyn Node>,
    queue: Arc<Queue>,
    hub: Mutex<Hub<SharedLine>>,
}

impl Listener {
    pub(crate) fn new(node: Arc<dyn Node>, queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self { node, queue, hub: Mutex::default() })
    }

    /// Asks on the listener's connection, where there is one. Without one, that is said at once.
    pub(crate) async fn ask(self: &Arc<Self>, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        let hearing = drive::lock(&self.hub).ask(time::now());
        let (epoch, line) = match hearing {
            Hearing::On(epoch, line) => (epoch, line),
            Hearing::Open(epoch, fault) => {
                let listener = Arc::clone(self);
                spawn_keeper(Box::pin(async move { listener.open(epoch).await }));
                return Err(fault);
            }
            Hearing::No(fault) => return Err(fault),
        };
        let reply = line.call(op, within).await;
        if let Err(fault) = &reply
            && matches!(fault.kind(), FaultKind::Unreachable | FaultKind::NoReply)
        {
            self.lost(epoch);
        }
        reply
    }

    async fn open(self: Arc<Self>, epoch: u64) {
        let listener = Arc::downgrade(&self);
        let hear: Hear = Arc::new(move |news| {
            if let Some(listener) = listener.upgrade() {
                listener.hear(epoch, news);
            }
        });
        match self.node.listen(hear).await {
            Ok(line) => {
                let wanted = drive::lock(&self.hub).opened(epoch, line);
                if wanted {
                    self.queue.ring_all();
                }
            }
            Err(fault) => drive::lock(&self.hub).failed(epoch, fault, time::now()),
        }
    }

    fn hear(&self, epoch: u64, news: News<'_>) {
        match news {
            News::Changed(key) => {
                if let Ok(key) = Key::new(key) {
                    self.queue.ring(&key);
                }
            }
            News::Everything => self.queue.ring_all(),
            News::Lost => self.lost(epoch),
        }
    }

    fn lost(&self, epoch: u64) {
        let news = drive::lock(&self.hub).lost(epoch, time::now());
        if news {
            self.queue.ring_all();
        }
    }

    /// Nobody is to be rung any more.
    pub(crate) fn close(&self) {
        drop(drive::lock(&self.hub).close());
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("node", &self.node).finish_non_exhaustive()
    }
}
