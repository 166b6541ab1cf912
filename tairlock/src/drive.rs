//! The async driver: sends what a machine tells it to, waits where it waits, and decides nothing.

use std::{
    future::Future,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use event_listener::EventListener;
use futures_util::{StreamExt, stream::FuturesUnordered};

use crate::{
    Fault,
    proto::{Event, Machine, Op, SendId, Step, Verdict},
    runtime::{BoxFuture, Runtime},
    time,
};

/// What a machine is plugged into.
pub(crate) trait Port<R>: Sync {
    /// Sends `op` and waits for its reply for at most `within`.
    fn call(&self, route: R, op: Op, within: Duration) -> BoxFuture<'_, Result<Verdict, Fault>>;

    /// What interrupts a wait.
    fn listen(&self) -> EventListener;

    /// The bell rang: is there something for the machine to know?
    fn rung(&self) -> Option<Event>;

    /// The machine has nothing to do for now.
    fn waits(&self) {}
}

enum Happened {
    Reply(SendId, Result<Verdict, Fault>),
    Bell,
    Elapsed,
}

/// Runs `machine` until it is done. Whoever else has a hand on it rings the port's bell.
///
/// `bell` listens since before the machine was made, so that no ring is missed.
pub(crate) async fn drive<M, P>(
    machine: &Mutex<M>,
    port: &P,
    mut bell: EventListener,
    runtime: Runtime,
) -> M::Output
where
    M: Machine,
    P: Port<M::Route>,
{
    let mut calls = FuturesUnordered::new();
    loop {
        let step = lock(machine).poll(time::now());
        let until = match step {
            Step::Done(output) => return output,
            Step::Send { id, route, op, within } => {
                let call = port.call(route, op, within);
                calls.push(async move { (id, call.await) });
                continue;
            }
            Step::Wait(until) => until,
        };
        port.waits();
        let mut sleep = runtime.sleep_until(until);
        let happened = std::future::poll_fn(|cx| {
            if let Poll::Ready(Some((id, reply))) = calls.poll_next_unpin(cx) {
                return Poll::Ready(Happened::Reply(id, reply));
            }
            if Pin::new(&mut bell).poll(cx).is_ready() {
                return Poll::Ready(Happened::Bell);
            }
            sleep.as_mut().poll(cx).map(|()| Happened::Elapsed)
        });
        match happened.await {
            Happened::Reply(id, reply) => {
                lock(machine).handle(Event::Reply(id, reply), time::now());
            }
            Happened::Bell => {
                // Listening comes first: a ring after the question is not missed.
                bell = port.listen();
                if let Some(event) = port.rung() {
                    lock(machine).handle(event, time::now());
                }
            }
            Happened::Elapsed => {}
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
