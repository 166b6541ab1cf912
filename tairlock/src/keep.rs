//! The keeper of one async client: a machine that guards reach into, and the task that drives it.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use event_listener::{Event, EventListener};

use crate::{
    Fault,
    core_private::describe,
    drive::{self, Port},
    node::{Node, Role, SharedLine},
    proto::{self, Keeper, Op, Verdict},
    runtime::{BoxFuture, Runtime, spawn_keeper},
    time,
};

/// Renews every lease of a client and sees its releases through, from a thread of its own.
pub(crate) struct Keep {
    machine: Mutex<Keeper<SharedLine>>,
    node: Arc<dyn Node>,
    wake: Event,
    /// Rings when work has been finished, for whoever waits for the last of it.
    progress: Event,
    /// Whether there is a task. Changed only by who holds the machine.
    running: AtomicBool,
}

impl Keep {
    pub(crate) fn new(node: Arc<dyn Node>, response_within: Duration) -> Arc<Self> {
        describe();
        Arc::new(Self {
            machine: Mutex::new(Keeper::new(response_within)),
            node,
            wake: Event::new(),
            progress: Event::new(),
            running: AtomicBool::new(false),
        })
    }

    /// Does something with the machine, and sees to it that there is a task, and awake, if there is
    /// something to do earlier than it thought.
    pub(crate) fn with<T>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Keeper<SharedLine>) -> T,
    ) -> T {
        let mut machine = drive::lock(&self.machine);
        let output = change(&mut machine);
        let oversleeps = machine.oversleeps();
        let start = !machine.is_idle() && !self.running.swap(true, Ordering::Relaxed);
        drop(machine);
        if start {
            let keep = Arc::clone(self);
            spawn_keeper(Box::pin(async move { keep.run().await }));
        } else if oversleeps {
            self.wake.notify(1);
        }
        output
    }

    async fn run(&self) {
        if let Some(runtime) = Runtime::current() {
            loop {
                let bell = self.wake.listen();
                drive::drive(&self.machine, self, bell, runtime).await;
                let machine = drive::lock(&self.machine);
                // A guard may have put something into the machine's hands since it was done.
                if machine.is_idle() {
                    self.running.store(false, Ordering::Relaxed);
                    break;
                }
            }
        }
        self.progress.notify(usize::MAX);
    }

    /// Waits until every release has been seen through, for at most `limit`; says whether it was.
    pub(crate) async fn drained(&self, runtime: Runtime, limit: Duration) -> bool {
        let drained = async {
            loop {
                let progress = self.progress.listen();
                if drive::lock(&self.machine).is_idle() {
                    return;
                }
                progress.await;
            }
        };
        runtime.limit(limit, drained).await.is_some()
    }

    /// Releases what is held and ends the task when that is done.
    pub(crate) fn close(self: &Arc<Self>) {
        self.with(|machine| machine.close(time::now()));
    }
}

impl Port<Option<SharedLine>> for Keep {
    fn call(
        &self,
        route: Option<SharedLine>,
        op: Op,
        within: Duration,
    ) -> BoxFuture<'_, Result<Verdict, Fault>> {
        Box::pin(async move {
            let line = match route {
                Some(line) => line,
                None => self.node.line(Role::Keeper).await?,
            };
            line.call(&op, within).await
        })
    }

    fn listen(&self) -> EventListener {
        self.wake.listen()
    }

    fn rung(&self) -> Option<proto::Event> {
        None
    }

    fn waits(&self) {
        self.progress.notify(usize::MAX);
    }
}

impl fmt::Debug for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keep").field("node", &self.node).finish_non_exhaustive()
    }
}
