//! The end of a guard: released, dropped, or its release cut off; and the keeper that sees to the rest.

use std::time::Duration;

use tairlock::{
    Fault, Release,
    proto::{Event, Keeper, Machine, Op, SendId, Step, Tenancy, Verdict, response_deadline},
};

use super::{
    breakage::Breakage,
    client::{Driver, Ending, Guard, LineId, State},
    wire::Owner,
    world::{Happening, World},
};

/// More rounds than a driver makes without waiting for anything.
pub(super) const HOT: u32 = 1_000;

impl World {
    /// `LockGuard::release`, to its first await.
    pub(super) fn begin_release(&mut self, at: usize, task: usize, ending: Ending) {
        let Some(guard) = self.take_guard(at, task) else { return };
        let Guard { lease, tenancy } = &guard;
        let within = self.release_within(at, *tenancy);
        let now = self.clients[at].clock.at(self.now);
        let op = if self.breakage == Some(Breakage::RenewsAfterRelease) {
            Op::Release { key: lease.key().clone(), token: lease.token().clone() }
        } else {
            self.keep(at, |keeper| keeper.begin_release(lease, *tenancy, now))
        };
        self.clients[at].crowds.released(lease.key(), now);
        self.referee.ends(lease.token(), "its release was begun");
        self.clients[at].tasks[task].state = State::Releasing(Box::new(guard));
        let call = self.call(Owner::Release(at, task), SendId(0), op, within);
        self.depart_soon(call, None);
        if ending == Ending::ReleaseCutOff {
            let job = self.clients[at].tasks[task].jobs;
            let when = self.now + self.random.ms(0, 5);
            self.at(when, Happening::Cancel { client: at, task, job });
        }
    }

    /// `LockGuard::release`, from its await on.
    pub(super) fn release_heard(&mut self, at: usize, task: usize, reply: Result<Verdict, Fault>) {
        let Some(Guard { lease, tenancy }) = self.take_guard(at, task) else { return };
        let now = self.clients[at].clock.at(self.now);
        let release = self.keep(at, |keeper| {
            keeper.begin_release(&lease, tenancy, now);
            keeper.end_release(&lease, tenancy, reply, now)
        });
        self.referee.fate(lease.token()).guarded = false;
        if let Ok(release) = release
            && release != Release::Unknown
        {
            self.referee.released(lease.token(), release);
        }
        self.told(at, task, &release);
    }

    /// The future of a release is dropped.
    pub(super) fn cut_release_off(&mut self, at: usize, task: usize) {
        self.note(|| format!("c{at} task {task}: its release is cut off"));
        self.forget(Owner::Release(at, task));
        self.drop_guard(at, task);
    }

    /// `LockGuard::drop`.
    pub(super) fn drop_guard(&mut self, at: usize, task: usize) {
        // The blocking one makes one round trip if a connection is free, and hears what came of it.
        let blocking = self.clients[at].driver == Driver::Blocking;
        if blocking && !self.clients[at].idle.is_empty() {
            return self.begin_release(at, task, Ending::Drop);
        }
        let Some(Guard { lease, tenancy }) = self.take_guard(at, task) else { return };
        let now = self.clients[at].clock.at(self.now);
        self.clients[at].crowds.released(lease.key(), now);
        self.keep(at, |keeper| keeper.see_release_through(&lease, tenancy, now));
        self.referee.ends(lease.token(), "its guard was dropped");
        self.referee.fate(lease.token()).guarded = false;
        self.told(at, task, &Ok(Release::Unknown));
    }

    fn take_guard(&mut self, at: usize, task: usize) -> Option<Guard> {
        let state = &mut self.clients[at].tasks[task].state;
        match std::mem::replace(state, State::Over) {
            State::Holding(holding) => Some(holding.guard),
            State::Releasing(guard) => Some(*guard),
            other => {
                *state = other;
                None
            }
        }
    }

    fn release_within(&self, at: usize, tenancy: Tenancy) -> Duration {
        response_deadline(self.clients[at].limit, tenancy.ttl())
    }

    /// `Keep::with`: does something with the machine, and wakes its driver if it must be.
    pub(super) fn keep<T>(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut Keeper<LineId>) -> T,
    ) -> T {
        let keep = &mut self.clients[at].keep;
        let output = change(&mut keep.machine);
        let starts = !keep.runs && !keep.machine.is_idle();
        keep.runs |= starts;
        if starts || keep.machine.oversleeps() {
            let when = self.now + self.slack();
            self.at(when, Happening::Keeper { client: at, alarm: None });
        }
        output
    }

    /// The keeper's driver, until the machine waits or is done.
    pub(super) fn poll_keeper(&mut self, at: usize) {
        for round in 0.. {
            if round > HOT {
                return self.referee.accuse("no hot loop", || format!("the keeper of c{at}"));
            }
            let client = &mut self.clients[at];
            let (now, driver) = (client.clock.at(self.now), client.driver);
            let keep = &mut client.keep;
            if keep.busy || !keep.runs {
                return;
            }
            match keep.machine.poll(now) {
                Step::Done(()) => {
                    // Whatever comes to it from here on starts it again.
                    keep.runs = false;
                    keep.alarm += 1;
                    return;
                }
                Step::Send { id, route, op, within } => {
                    keep.busy = driver == Driver::Blocking;
                    let call = self.call(Owner::Keeper(at), id, op, within);
                    self.depart_soon(call, route);
                }
                Step::Wait(until) => {
                    keep.alarm += 1;
                    let alarm = Some(keep.alarm);
                    let when = self.clients[at].clock.when(until);
                    if when < super::clock::True::NEVER {
                        let when = when.max(self.now) + self.slack();
                        self.at(when, Happening::Keeper { client: at, alarm });
                    }
                    return;
                }
            }
        }
    }

    pub(super) fn keeper_heard(&mut self, at: usize, id: SendId, reply: Result<Verdict, Fault>) {
        let client = &mut self.clients[at];
        let now = client.clock.at(self.now);
        client.keep.busy = false;
        client.keep.machine.handle(Event::Reply(id, reply), now);
        self.poll_keeper(at);
    }
}
