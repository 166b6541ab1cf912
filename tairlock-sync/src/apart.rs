//! Threads that wait for copies in the keeper's place: other leases do not have as much time as copies were given.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tairlock::{
    Fault, FaultKind,
    proto::{Op, Verdict},
    time::{self, Timestamp},
};

use crate::{drive::lock, node::SharedLine};

/// How many there are at most. Each carries one batch of renewals.
const MOST: usize = 8;

/// What is to be asked apart from everything else, and the threads that do so. They end when nothing is left.
pub(crate) struct Apart {
    /// Gives every caller a connection of its own.
    line: SharedLine,
    jobs: Mutex<Jobs>,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    threads: usize,
}

struct Job {
    op: Op,
    within: Duration,
    since: Timestamp,
    tell: Tell,
}

type Tell = Box<dyn FnOnce(Result<Verdict, Fault>) + Send>;

impl Apart {
    pub(crate) fn new(line: SharedLine) -> Arc<Self> {
        Arc::new(Self { line, jobs: Mutex::default() })
    }

    /// Asks `op`, and tells what came of it, from another thread.
    pub(crate) fn ask(self: &Arc<Self>, op: Op, within: Duration, tell: Tell) {
        let mut jobs = lock(&self.jobs);
        jobs.waiting.push_back(Job { op, within, since: time::now(), tell });
        if jobs.threads < MOST {
            let apart = Arc::clone(self);
            let thread = std::thread::Builder::new().name("tairlock-confirm".into());
            jobs.threads += usize::from(thread.spawn(move || apart.work()).is_ok());
        }
        if jobs.threads > 0 {
            return;
        }
        let none = jobs.waiting.pop_back();
        drop(jobs);
        if let Some(Job { tell, .. }) = none {
            let text = "the operating system gives no thread to wait for copies";
            tell(Err(Fault::new(FaultKind::NotReady, text)));
        }
    }

    fn work(&self) {
        loop {
            let mut jobs = lock(&self.jobs);
            let Some(Job { op, within, since, tell }) = jobs.waiting.pop_front() else {
                jobs.threads -= 1;
                return;
            };
            drop(jobs);
            let patience = op.patience(within);
            tell(if time::now().since(since) > patience {
                let text = format!(
                    "none of {MOST} connections for confirmation was free within {patience:?}"
                );
                Err(Fault::new(FaultKind::Unreachable, text))
            } else {
                self.line.call(&op, within)
            });
        }
    }
}

impl fmt::Debug for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Apart").field("line", &self.line).finish_non_exhaustive()
    }
}
