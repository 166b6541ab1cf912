//! What a task does while it holds the lock: work for a while, ask whether it still holds it, and end.

use std::{future::Future, pin::Pin};

use tairlock::{LeaseState, LossReason, Ttl, time::Timestamp};

use super::{
    client::{Driver, Ending, Guard, Holding, State},
    referee::index,
    world::World,
};

impl World {
    pub(super) fn begin_body(
        &mut self,
        at: usize,
        task: usize,
        guard: Guard,
        ttl: Ttl,
        renewed: bool,
    ) {
        let most = u64::try_from(ttl.as_duration().as_millis()).unwrap_or(u64::MAX) * 2;
        let most = if self.random.chance(300) { most } else { most / 8 };
        let until = self.now + self.random.ms(0, most);
        let ending = self.random.pick(&[
            Ending::Release,
            Ending::Release,
            Ending::Drop,
            Ending::ReleaseCutOff,
        ]);
        let ending = match ending {
            Ending::ReleaseCutOff
                if !self.weather.cancels || self.clients[at].driver == Driver::Blocking =>
            {
                Ending::Release
            }
            ending => ending,
        };
        let attributed = self.clients[at].driver == Driver::Async && self.random.chance(500);
        let lease = guard.lease.clone();
        let lost = attributed.then(|| {
            Box::pin(async move { lease.lost().await })
                as Pin<Box<dyn Future<Output = LossReason> + Send>>
        });
        let holding = Box::new(Holding { guard, until, ending, lost, renewed });
        self.clients[at].tasks[task].state = State::Holding(holding);
        self.poll_body(at, task);
    }

    /// The body goes on for a while.
    pub(super) fn poll_body(&mut self, at: usize, task: usize) {
        let client = &mut self.clients[at];
        let now = client.clock.at(self.now);
        let waker = client.tasks[task].waker.clone();
        let State::Holding(holding) = &mut client.tasks[task].state else { return };
        if let Some(reason) = holding.lost(&waker) {
            self.note(|| format!("c{at} task {task}: its body is dropped, as the lease {reason}"));
            return self.drop_guard(at, task);
        }
        let (lease, until) = (holding.guard.lease.clone(), holding.until);
        let (name, attributed) = (index(lease.token()), holding.lost.is_some());
        // What `is_held` asks. It is asked now and then, so that who never asks is told as well.
        if self.random.chance(300) {
            let held = matches!(lease.state_at(now), LeaseState::Held | LeaseState::Uncertain);
            if held && now >= lease.until() {
                self.referee.accuse("I7 accounting", || format!("#{name} is held after its end"));
            }
        }
        let raw = lease.state_at(Timestamp::default());
        if attributed && matches!(raw, LeaseState::Held | LeaseState::Uncertain) {
            self.check_told(at, name);
        }
        if self.now >= until {
            return self.end_body(at, task);
        }
        let next = (self.now + self.random.ms(1, 60)).min(until) + self.slack();
        self.set_timer(at, task, next);
    }

    fn end_body(&mut self, at: usize, task: usize) {
        let State::Holding(holding) = &self.clients[at].tasks[task].state else { return };
        match holding.ending {
            Ending::Drop => self.drop_guard(at, task),
            ending => self.begin_release(at, task, ending),
        }
    }
}
