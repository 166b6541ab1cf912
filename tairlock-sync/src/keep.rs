//! The keeper of one client: a machine that guards reach into, and the thread that drives it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use event_listener::{Event, EventListener};
use tairlock::{
    Fault,
    core_private::describe,
    proto::{self, Keeper, Machine, Op, SendId, Verdict},
    time,
};

use crate::{
    apart::Apart,
    drive::{self, Port},
    node::SharedLine,
};

/// A connection that carried an acquire and must carry its undoing: there is none. Its reply is waited
/// for, and where none came the connection is gone.
#[derive(Clone, Debug)]
pub(crate) enum NoRoute {}

/// Renews every lease of a client and sees its releases through, from a thread of its own.
pub(crate) struct Keep {
    machine: Mutex<Keeper<NoRoute>>,
    line: SharedLine,
    /// For renewals that copies confirm, where there can be any.
    confirms: Option<Arc<Apart>>,
    me: Weak<Self>,
    wake: Event,
    /// Rings when work has been finished, for whoever waits for the last of it.
    progress: Event,
    /// Whether there is a thread. Changed only by who holds the machine.
    running: AtomicBool,
}

impl Keep {
    pub(crate) fn new(
        line: SharedLine,
        confirms: Option<SharedLine>,
        response_within: Duration,
    ) -> Arc<Self> {
        describe();
        Arc::new_cyclic(|me| Self {
            machine: Mutex::new(Keeper::new(response_within)),
            line,
            confirms: confirms.map(Apart::new),
            me: Weak::clone(me),
            wake: Event::new(),
            progress: Event::new(),
            running: AtomicBool::new(false),
        })
    }

    /// Does something with the machine, and sees to it that there is a thread, and awake, if there is
    /// something to do earlier than it thought.
    pub(crate) fn with<T>(self: &Arc<Self>, change: impl FnOnce(&mut Keeper<NoRoute>) -> T) -> T {
        let mut machine = drive::lock(&self.machine);
        let output = change(&mut machine);
        let oversleeps = machine.oversleeps();
        let start = !machine.is_idle() && !self.running.swap(true, Ordering::Relaxed);
        drop(machine);
        if start {
            self.start();
        } else if oversleeps {
            self.wake.notify(1);
        }
        output
    }

    /// Whether there is a thread. Without one, nothing is renewed.
    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed)
    }

    /// Waits until every release has been seen through, for at most `limit`; says whether it was.
    pub(crate) fn drained(&self, limit: Duration) -> bool {
        let until = time::now() + limit;
        loop {
            let progress = self.progress.listen();
            if drive::lock(&self.machine).is_idle() {
                return true;
            }
            if time::now() >= until {
                return false;
            }
            drive::wait(progress, until);
        }
    }

    /// Releases what is held; the thread ends when that is done.
    pub(crate) fn close(self: &Arc<Self>) {
        self.with(|machine| machine.close(time::now()));
    }

    fn start(self: &Arc<Self>) {
        let keep = Arc::clone(self);
        let thread = std::thread::Builder::new().name("tairlock-keeper".into());
        if thread.spawn(move || keep.run()).is_err() {
            // Tried again at the next change; until then a lease ends with its TTL, and says so.
            let _machine = drive::lock(&self.machine);
            self.running.store(false, Ordering::Relaxed);
        }
    }

    fn run(&self) {
        loop {
            let bell = self.wake.listen();
            drive::drive(&self.machine, self, bell);
            let machine = drive::lock(&self.machine);
            // A guard may have put something into the machine's hands since it was done.
            if machine.is_idle() {
                self.running.store(false, Ordering::Relaxed);
                break;
            }
        }
        self.progress.notify(usize::MAX);
    }
}

impl Port<Option<NoRoute>> for Keep {
    fn call(&self, _: Option<NoRoute>, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.line.call(op, within)
    }

    fn begin_apart(&self, id: SendId, op: &Op, within: Duration) -> bool {
        let (Op::Confirmed(_), Some(apart), Some(keep)) = (op, &self.confirms, self.me.upgrade())
        else {
            return false;
        };
        let tell = move |reply| {
            keep.with(|machine| machine.handle(proto::Event::Reply(id, reply), time::now()));
        };
        apart.ask(op.clone(), within, Box::new(tell));
        true
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
        f.debug_struct("Keep").field("line", &self.line).finish_non_exhaustive()
    }
}
