//! The blocking driver: sends what a machine tells it to, waits where it waits, and decides nothing.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use event_listener::{EventListener, Listener};
use tairlock::{
    Fault,
    proto::{Event, Machine, Op, SendId, Step, Verdict},
    time::{self, Timestamp},
};

/// What a machine is plugged into.
pub(crate) trait Port<R> {
    /// Sends `op` and waits for its reply for at most `within`.
    fn call(&self, route: R, op: &Op, within: Duration) -> Result<Verdict, Fault>;

    /// Begins what would hold up the others if its reply were waited for here, and tells the machine of the
    /// reply by itself. Says whether it did.
    fn begin_apart(&self, _id: SendId, _op: &Op, _within: Duration) -> bool {
        false
    }

    /// What interrupts a wait.
    fn listen(&self) -> EventListener;

    /// The bell may have rung: is there something for the machine to know?
    fn rung(&self) -> Option<Event>;

    /// The machine has nothing to do for now.
    fn waits(&self) {}
}

/// Runs `machine` until it is done. Whoever else has a hand on it rings the port's bell.
///
/// `bell` listens since before the machine was made, so that no ring is missed.
pub(crate) fn drive<M, P>(machine: &Mutex<M>, port: &P, mut bell: EventListener) -> M::Output
where
    M: Machine,
    P: Port<M::Route>,
{
    loop {
        let step = lock(machine).poll(time::now());
        match step {
            Step::Done(output) => return output,
            Step::Send { id, op, within, .. } if port.begin_apart(id, &op, within) => {}
            Step::Send { id, route, op, within } => {
                let reply = port.call(route, &op, within);
                lock(machine).handle(Event::Reply(id, reply), time::now());
            }
            Step::Wait(until) => {
                port.waits();
                wait(bell, until);
                // Listening comes first: a ring after the question is not missed. The question is
                // asked after a wait that ran out too, as a ring at that very moment is not reported.
                bell = port.listen();
                if let Some(event) = port.rung() {
                    lock(machine).handle(event, time::now());
                }
            }
        }
    }
}

/// Parks the thread until the bell rings, and not beyond `until`.
pub(crate) fn wait(bell: EventListener, until: Timestamp) {
    let instant = match until {
        Timestamp::NEVER => None,
        until => Instant::now().checked_add(until.since(time::now())),
    };
    match instant {
        Some(instant) => _ = bell.wait_deadline(instant),
        None => bell.wait(),
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
