//! The listener of one client: two connections by which its server tells who waits of changes.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tairlock::{
    Fault, FaultKind, Key,
    bell::Queue,
    proto::{Hear, Hearing, Hub, News, Op, Verdict},
    time,
};

use crate::{
    drive,
    node::{Listen, SharedLine},
};

/// Rings for who waits. It is opened, by a thread, when somebody first waits for another client.
pub(crate) struct Listener {
    node: Arc<dyn Listen>,
    queue: Arc<Queue>,
    hub: Mutex<Hub<SharedLine>>,
}

impl Listener {
    pub(crate) fn new(node: Arc<dyn Listen>, queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self { node, queue, hub: Mutex::default() })
    }

    /// Asks on the listener's connection, where there is one. Without one, that is said at once.
    pub(crate) fn ask(self: &Arc<Self>, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        let hearing = drive::lock(&self.hub).ask(time::now());
        let (epoch, line) = match hearing {
            Hearing::On(epoch, line) => (epoch, line),
            Hearing::Open(epoch, fault) => {
                self.start(epoch);
                return Err(fault);
            }
            Hearing::No(fault) => return Err(fault),
        };
        let reply = line.call(op, within);
        if let Err(fault) = &reply
            && matches!(fault.kind(), FaultKind::Unreachable | FaultKind::NoReply)
        {
            self.lost(epoch);
        }
        reply
    }

    fn start(self: &Arc<Self>, epoch: u64) {
        let listener = Arc::clone(self);
        let thread = std::thread::Builder::new().name("tairlock-listener".into());
        if thread.spawn(move || listener.open(epoch)).is_err() {
            let fault = Fault::new(FaultKind::Config, "the operating system gives no thread");
            drive::lock(&self.hub).failed(epoch, fault, time::now());
        }
    }

    fn open(self: &Arc<Self>, epoch: u64) {
        let listener = Arc::downgrade(self);
        let hear: Hear = Arc::new(move |news| {
            if let Some(listener) = listener.upgrade() {
                listener.hear(epoch, news);
            }
        });
        match Arc::clone(&self.node).listen(hear) {
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
        let line = drive::lock(&self.hub).close();
        drop(line);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("node", &self.node).finish_non_exhaustive()
    }
}
