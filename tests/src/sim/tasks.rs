//! The tasks of a run: what the async and the blocking driver do around an acquire, a body, a release.

use std::{sync::Arc, time::Duration};

use tairlock::{
    Fault, Release,
    options::{Hold, Request},
    proto::{
        Acquire, Acquired, Event, Grant, Machine, Op, Route, SendId, Step, Undo, Verdict,
        response_deadline,
    },
    time::Timestamp,
};

use super::{
    breakage::Breakage,
    client::{Attempt, Bell, Driver, Guard, Last, LineId, State},
    clock::True,
    guards::HOT,
    referee::index,
    wire::Owner,
    world::{Happening, World},
};

impl World {
    pub(super) fn timer(&mut self, client: usize, task: usize, timer: u64) {
        if self.clients[client].tasks[task].timer != timer {
            return;
        }
        match self.clients[client].tasks[task].state {
            State::Resting => self.begin_attempt(client, task),
            _ => self.poll_task(client, task),
        }
    }

    pub(super) fn poll_task(&mut self, client: usize, task: usize) {
        match &mut self.clients[client].tasks[task].state {
            State::Acquiring(_) => self.poll_attempt(client, task),
            State::Holding(_) => self.poll_body(client, task),
            State::Resting | State::Releasing(_) | State::Over => {}
        }
    }

    fn rest(&mut self, client: usize, task: usize) {
        self.clients[client].tasks[task].state = State::Resting;
        let pause = if self.random.chance(400) { Duration::ZERO } else { self.random.ms(0, 300) };
        let at = self.now + pause + self.slack();
        self.set_timer(client, task, at);
    }

    /// `Lock::take`, to the first poll.
    fn begin_attempt(&mut self, at: usize, task: usize) {
        let key = self.random.below(self.keys.len());
        let ttl = Duration::from_millis(self.random.pick(self.weather.ttls));
        let wait = Duration::from_millis(self.random.pick(&[0, 40, 400, 3_000]));
        let renew = self.random.chance(700);
        let longest = self.weather.ttls.iter().max().copied().unwrap_or_default();
        let hold = Hold {
            min: self.random.chance(150).then(|| self.random.ms(1, longest)),
            max: self.random.chance(400).then(|| ttl + self.random.ms(0, 40)),
        };
        let cancels = self.weather.cancels && self.clients[at].driver == Driver::Async;
        let polls_left = (cancels && self.random.chance(200))
            .then(|| u32::try_from(self.random.between(1, 7)).unwrap_or(1));
        let soon = self.random.pick(&[2, 20, 60]);
        let cancelled = (cancels && self.random.chance(200)).then(|| self.random.ms(0, soon));
        let seed = self.random.next();
        let client = &mut self.clients[at];
        let now = client.clock.at(self.now);
        if client.tasks[task].jobs == 0 || client.closed {
            client.tasks[task].state = State::Over;
            return;
        }
        client.tasks[task].jobs -= 1;
        let request = Request::new(self.keys[key].clone())
            .ttl(ttl)
            .and_then(|request| request.wait(wait))
            .and_then(|request| request.renew(renew))
            .expect("within limits");
        let request = Request { hold, fence: self.random.chance(300), ..request };
        let token = self.referee.token(at, key, request.ttl);
        let mut machine = Acquire::new(&request, token.clone(), client.limit, seed, now)
            .among(Arc::clone(&client.crowds));
        let turn = (!wait.is_zero()).then(|| client.queue.enter(&request.key));
        let bell = Bell::of(turn.as_ref());
        if turn.as_ref().is_some_and(|turn| !turn.has_come()) {
            machine.stand_in_line();
        }
        let attempt = Attempt {
            machine,
            request,
            token,
            turn,
            bell,
            route: None,
            several: false,
            began: self.now,
            lost_time: client.lost_time,
            polls_left,
            last: Last::Nothing,
        };
        let name = index(&attempt.token);
        client.tasks[task].state = State::Acquiring(Box::new(attempt));
        let job = client.tasks[task].jobs;
        self.note(|| {
            format!("c{at} task {task} wants k{key} with #{name}: ttl {ttl:?}, wait {wait:?}")
        });
        if let Some(after) = cancelled {
            self.at(self.now + after, Happening::Cancel { client: at, task, job });
        }
        self.poll_attempt(at, task);
    }

    /// The driver's loop, until the machine waits or is done.
    pub(super) fn poll_attempt(&mut self, at: usize, task: usize) {
        for round in 0.. {
            if round > HOT {
                return self.referee.accuse("no hot loop", || format!("c{at} task {task}"));
            }
            let breakage = self.breakage;
            let client = &mut self.clients[at];
            let now = client.clock.at(self.now);
            let waker = client.tasks[task].waker.clone();
            let State::Acquiring(attempt) = &mut client.tasks[task].state else { return };
            match attempt.machine.poll(now) {
                Step::Done(acquired) => return self.acquired(at, task, acquired),
                Step::Send { id, route: Route::Listener, op, within } => {
                    self.inquire(at, task, id, op, within);
                }
                Step::Send { id, op, within, .. } => {
                    let op = if breakage == Some(Breakage::FreshToken) {
                        self.with_fresh_token(at, task, op)
                    } else {
                        op
                    };
                    let call = self.call(Owner::Attempt(at, task), id, op, within);
                    self.depart_soon(call, None);
                }
                Step::Wait(until) => {
                    if breakage != Some(Breakage::NoBell) && attempt.bell.rang(&waker) {
                        // Listening comes first: a ring after the question is not missed.
                        attempt.bell = Bell::of(attempt.turn.as_ref());
                        match attempt.turn.as_ref().and_then(tairlock::bell::Turn::told) {
                            Some(Event::Changed) if breakage == Some(Breakage::NoPush) => {}
                            Some(told) => attempt.machine.handle(told, now),
                            None => {}
                        }
                        continue;
                    }
                    if let Some(left) = &mut attempt.polls_left {
                        *left -= 1;
                        if *left == 0 {
                            return self.cancel_attempt(at, task);
                        }
                    }
                    return self.set_alarm(at, task, until);
                }
            }
        }
    }

    /// Wakes the task at this moment of its client's clock.
    fn set_alarm(&mut self, at: usize, task: usize, until: Timestamp) {
        let when = self.clients[at].clock.when(until);
        let late = self.slack();
        let when = if when == True::NEVER { when } else { when.max(self.now) + late };
        self.set_timer(at, task, when);
    }

    fn with_fresh_token(&mut self, at: usize, task: usize, op: Op) -> Op {
        let State::Acquiring(attempt) = &mut self.clients[at].tasks[task].state else { return op };
        let fenced = matches!(op, Op::AcquireFenced { .. });
        let (Op::Acquire { key, ttl, .. } | Op::AcquireFenced { key, ttl, .. }) = op else {
            return op;
        };
        let mut token = attempt.token.clone();
        if attempt.last == Last::Fault {
            let nth = self.referee.fate(&token).key;
            self.referee.asked(&token);
            token = self.referee.token(at, nth, ttl);
            attempt.token = token.clone();
        }
        if fenced { Op::AcquireFenced { key, token, ttl } } else { Op::Acquire { key, token, ttl } }
    }

    /// `Attempt::line`: notes which connections carried the acquire.
    pub(super) fn carried(&mut self, at: usize, task: usize, line: LineId) {
        if let State::Acquiring(attempt) = &mut self.clients[at].tasks[task].state {
            attempt.several |= attempt.route.is_some_and(|last| last != line);
            attempt.route = Some(line);
        }
    }

    pub(super) fn attempt_heard(
        &mut self,
        at: usize,
        task: usize,
        id: SendId,
        reply: Result<Verdict, Fault>,
    ) {
        let client = &mut self.clients[at];
        let now = client.clock.at(self.now);
        let State::Acquiring(attempt) = &mut client.tasks[task].state else { return };
        attempt.last = match &reply {
            Ok(Verdict::Busy) => Last::Busy,
            Ok(Verdict::Granted | Verdict::Ours | Verdict::Issued { .. }) => Last::Grant,
            Ok(_) => attempt.last,
            Err(_) => Last::Fault,
        };
        let reply = match reply {
            Err(_) if self.breakage == Some(Breakage::FaultAsBusy) => Ok(Verdict::Busy),
            reply => reply,
        };
        attempt.machine.handle(Event::Reply(id, reply), now);
        self.poll_attempt(at, task);
    }

    /// The machine is done.
    fn acquired(&mut self, at: usize, task: usize, acquired: Acquired) {
        self.judge_outcome(at, task, &acquired);
        let (sent, until, fence) = match acquired {
            Acquired::Granted { sent, until, fence, .. } => (sent, until, fence),
            acquired => {
                let failed = matches!(acquired, Acquired::Failed(_));
                self.referee.tally.failed += u64::from(failed);
                self.referee.tally.timed_out += u64::from(!failed);
                self.note(|| format!("c{at} task {task}: {acquired:?}"));
                return self.drop_attempt(at, task);
            }
        };
        let client = &mut self.clients[at];
        let now = client.clock.at(self.now);
        let State::Acquiring(attempt) = &mut client.tasks[task].state else { return };
        let Request { key, ttl, renew, hold, .. } = attempt.request.clone();
        let (sent, until) = match self.breakage {
            Some(Breakage::ClockAfterSend) => (now, now + ttl.certain()),
            _ => (sent, until),
        };
        let (token, turn) = (attempt.token.clone(), attempt.turn.take());
        let (own, confirm) = (token.clone(), None);
        let holding = tairlock::proto::Holding::default();
        let grant = Grant {
            key,
            token: own,
            ttl,
            renew,
            hold,
            confirm,
            fence,
            sent,
            until,
            late: false,
            holding,
        };
        let ((lease, tenancy), closed) =
            self.keep(at, |keeper| (keeper.admit(grant, turn, now), keeper.is_closing()));
        self.referee.granted(&token, lease.clone(), !closed, self.now);
        self.referee.fate(&token).hold = hold;
        self.referee.told_fence(&token, fence);
        let left = until.since(now);
        self.note(|| format!("c{at} task {task} holds #{} for {left:?}", index(&token)));
        if self.clients[at].closed && !closed {
            self.referee
                .accuse("closed", || format!("c{at} is closed and grants #{}", index(&token)));
        }
        if closed {
            self.referee.ends(&token, "its client was closed");
            return self.rest(at, task);
        }
        self.begin_body(at, task, Guard { lease, tenancy }, ttl, renew);
    }

    /// What the caller is told must be what happened.
    fn judge_outcome(&mut self, at: usize, task: usize, acquired: &Acquired) {
        let client = &self.clients[at];
        let State::Acquiring(attempt) = &client.tasks[task].state else { return };
        let (last, waits) = (attempt.last, !attempt.request.wait.is_zero());
        let honest = match acquired {
            Acquired::Granted { .. } => last == Last::Grant,
            Acquired::Busy => last == Last::Busy && !waits,
            Acquired::TimedOut { .. } => matches!(last, Last::Busy | Last::Nothing) && waits,
            Acquired::Failed(_) => matches!(last, Last::Fault | Last::Grant),
            // Nobody asked for copies.
            Acquired::NotReplicated { .. } => false,
        };
        let first = attempt.turn.as_ref().is_none_or(tairlock::bell::Turn::has_come);
        let took = self.now.since(attempt.began);
        let within = response_deadline(client.limit, attempt.request.ttl);
        let kept = client.lost_time - attempt.lost_time;
        let bound = attempt.request.wait + (within + Duration::from_secs(1)) * 3 + kept;
        if !honest {
            self.referee.accuse("I9 honesty", || format!("{acquired:?} after {last:?}"));
        }
        if matches!(acquired, Acquired::Granted { .. }) && !first {
            self.referee.accuse("order", || format!("c{at} task {task} overtook its own client"));
        }
        if took > bound + Duration::from_millis(50) {
            self.referee.accuse("I4 liveness", || format!("{acquired:?} took {took:?}"));
        }
        if self.promises.calm && matches!(acquired, Acquired::Failed(_)) {
            self.referee.accuse("calm", || format!("{acquired:?} though nothing failed"));
        }
    }

    pub(super) fn cancel(&mut self, client: usize, task: usize, job: u32) {
        let of = &self.clients[client].tasks[task];
        if of.jobs != job {
            return;
        }
        match of.state {
            State::Acquiring(_) => self.cancel_attempt(client, task),
            State::Releasing(_) => self.cut_release_off(client, task),
            _ => {}
        }
    }

    fn cancel_attempt(&mut self, at: usize, task: usize) {
        self.referee.tally.cancelled += 1;
        self.note(|| format!("c{at} task {task}: its acquire is dropped"));
        self.drop_attempt(at, task);
    }

    /// `Attempt::drop`, then its fields.
    fn drop_attempt(&mut self, at: usize, task: usize) {
        self.forget(Owner::Attempt(at, task));
        self.forget(Owner::Listener(at, task));
        let client = &mut self.clients[at];
        let now = client.clock.at(self.now);
        let state = std::mem::replace(&mut client.tasks[task].state, State::Over);
        let State::Acquiring(attempt) = state else { return };
        let Attempt { machine, request, token, turn, route, several, .. } = *attempt;
        if !machine.residue().is_empty() && self.breakage != Some(Breakage::NoRollBack) {
            let (route, again) = match (self.breakage, client.driver) {
                (Some(Breakage::RollBackElsewhere), _) => (None, false),
                (_, Driver::Async) => (route, several),
                (_, Driver::Blocking) => (None, true),
            };
            let until = now + request.ttl.as_duration();
            let undo = Undo { key: request.key, token: token.clone(), until, route, again };
            self.keep(at, |keeper| keeper.undo(undo, now));
        }
        self.referee.asked(&token);
        drop(turn);
        self.rest(at, task);
    }

    /// What a release came to.
    pub(super) fn told(&mut self, at: usize, task: usize, release: &Result<Release, Fault>) {
        self.note(|| format!("c{at} task {task}: its release: {release:?}"));
        self.rest(at, task);
    }
}
