//! A client of a run: its machines, its connections, its tasks, and whether it runs at all.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use tairlock::{
    Lease, LossReason, Token,
    bell::{Queue, Turn},
    options::Request,
    proto::{Acquire, Crowds, Hub, Keeper, Tenancy},
    time::Timestamp,
};

use super::clock::{Clock, True};

/// Names a connection; what is sent first on one arrives first.
pub(super) type LineId = usize;

/// Which driver it imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Driver {
    /// Connections that many share; futures that can be dropped; the keeper's calls side by side.
    Async,
    /// A pool of connections, one caller at a time on each; the keeper makes one call after the other.
    Blocking,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Commands,
    Keeper,
    /// Told of changes; what comes down here is read by the keepers' thread.
    Listener,
}

pub(super) struct Client {
    pub(super) driver: Driver,
    pub(super) clock: Clock,
    pub(super) limit: Duration,
    pub(super) queue: Arc<Queue>,
    pub(super) crowds: Arc<Crowds>,
    /// Where its listener stands.
    pub(super) hub: Hub<LineId>,
    /// The opening and the connection of the last one.
    pub(super) listening: Option<(u64, LineId)>,
    pub(super) keep: Keep,
    pub(super) slots: [Slot; 3],
    /// Free connections of the blocking driver's pool.
    pub(super) idle: Vec<LineId>,
    pub(super) tasks: Vec<Task>,
    pub(super) closed: bool,
    pub(super) dead: bool,
    /// Nothing of it runs until then.
    pub(super) paused_until: True,
    /// Its executor does not run until then; its keeper does.
    pub(super) stalled_until: True,
    /// No message passes between it and the server until then.
    pub(super) cut_off_until: True,
    /// How long it has been kept from running, all in all.
    pub(super) lost_time: Duration,
}

/// Where the shared connection for one role stands.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) line: Option<LineId>,
    pub(super) connecting: bool,
}

/// The keeper, and how far its driver is.
pub(super) struct Keep {
    pub(super) machine: Keeper<LineId>,
    /// The loop of its driver runs.
    pub(super) runs: bool,
    /// A driver that makes one call at a time is making one.
    pub(super) busy: bool,
    /// Which alarm counts; those set before do not.
    pub(super) alarm: u64,
}

pub(super) struct Task {
    pub(super) jobs: u32,
    pub(super) state: State,
    /// Which timer counts; those set before do not.
    pub(super) timer: u64,
    pub(super) waker: Waker,
}

pub(super) enum State {
    Resting,
    Acquiring(Box<Attempt>),
    Holding(Box<Holding>),
    Releasing(Box<Guard>),
    Over,
}

/// One acquire under way.
pub(super) struct Attempt {
    pub(super) machine: Acquire,
    pub(super) request: Request,
    pub(super) token: Token,
    pub(super) turn: Option<Turn>,
    pub(super) bell: Bell,
    /// The connection that carried the acquire last, and whether there were several.
    pub(super) route: Option<LineId>,
    pub(super) several: bool,
    pub(super) began: True,
    pub(super) lost_time: Duration,
    /// It is dropped after so many polls.
    pub(super) polls_left: Option<u32>,
    pub(super) last: Last,
}

/// What the machine was told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    Nothing,
    Busy,
    Grant,
    Fault,
}

pub(super) struct Guard {
    pub(super) lease: Lease,
    pub(super) tenancy: Tenancy,
}

/// A body under a guard.
pub(super) struct Holding {
    pub(super) guard: Guard,
    pub(super) until: True,
    pub(super) ending: Ending,
    /// Resolves on loss, and then the body is dropped: what the attribute does.
    pub(super) lost: Option<Pin<Box<dyn Future<Output = LossReason> + Send>>>,
    pub(super) renewed: bool,
}

/// How a guard goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Release,
    /// The future of the release is dropped midway.
    ReleaseCutOff,
    Drop,
}

impl Client {
    pub(super) fn now(&self, now: True) -> Timestamp {
        self.clock.at(now)
    }

    pub(super) const fn slot(&mut self, role: Role) -> &mut Slot {
        &mut self.slots[role as usize]
    }

    /// Whether all of it runs.
    pub(super) fn runs(&self, now: True) -> bool {
        !self.dead && now >= self.paused_until && now >= self.stalled_until
    }
}

/// What rings for an attempt, as its driver listens to it.
pub(super) struct Bell(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Bell {
    /// Without a place in a line, nothing ever rings.
    pub(super) fn of(turn: Option<&Turn>) -> Self {
        Self(turn.map(|turn| Box::pin(turn.listen()) as _))
    }

    pub(super) fn rang(&mut self, waker: &Waker) -> bool {
        let Some(bell) = &mut self.0 else { return false };
        bell.as_mut().poll(&mut Context::from_waker(waker)).is_ready()
    }
}

impl Holding {
    /// Why the body is to be dropped, if it is.
    pub(super) fn lost(&mut self, waker: &Waker) -> Option<LossReason> {
        let lost = self.lost.as_mut()?;
        match lost.as_mut().poll(&mut Context::from_waker(waker)) {
            Poll::Ready(reason) => Some(reason),
            Poll::Pending => None,
        }
    }
}

/// Which tasks were woken since somebody looked.
#[derive(Debug, Default)]
pub(super) struct Woken(Mutex<Vec<(usize, usize)>>);

impl Woken {
    pub(super) fn take(&self) -> Vec<(usize, usize)> {
        std::mem::take(&mut *self.0.lock().expect("one thread"))
    }
}

/// Notes that its task is to be polled.
pub(super) struct TaskWaker {
    pub(super) woken: Arc<Woken>,
    pub(super) task: (usize, usize),
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.woken.0.lock().expect("one thread").push(self.task);
    }
}
