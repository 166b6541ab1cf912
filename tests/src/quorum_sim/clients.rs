//! The clients of a run: what the async driver does around an acquire, a body, a release.

use std::time::Duration;

use tairlock::{
    Fault, FaultKind, Lease, LeaseState, Token,
    options::Request,
    proto::{
        Acquire, Acquired, Event, Grant, Keeper, Machine, Op, Route, SendId, Step, Tenancy, Undo,
        Verdict, response_deadline,
    },
    time::Timestamp,
};

use super::{
    Breakage, World,
    laws::Fate,
    run::{Happening, Run},
    wire::{Owner, Role},
};
use crate::sim::clock::{Clock, True};

pub(super) struct Client {
    pub(super) clock: Clock,
    limit: Duration,
    pub(super) keeper: Keeper<usize>,
    pub(super) timer: u64,
    /// The shared connection to each server, for commands and for the keeper.
    pub(super) usual: [Vec<Option<usize>>; 2],
    pub(super) tasks: Vec<Task>,
    /// Nothing of it runs until then, and for how long that was so, all in all.
    pub(super) paused_until: True,
    pub(super) lost_time: Duration,
}

pub(super) struct Task {
    jobs: u32,
    pub(super) state: State,
    pub(super) timer: u64,
}

pub(super) enum State {
    Resting,
    Acquiring(Box<Attempt>),
    Holding { lease: Lease, tenancy: Tenancy, lost_time: Duration },
    Releasing { lease: Lease, tenancy: Tenancy },
    Over,
}

pub(super) struct Attempt {
    machine: Acquire,
    request: Request,
    token: Token,
    line: usize,
}

impl Client {
    pub(super) fn new(clock: Clock, limit: Duration, nodes: usize, jobs: Vec<u32>) -> Self {
        let task = |jobs| Task { jobs, state: State::Resting, timer: 0 };
        Self {
            clock,
            limit,
            keeper: Keeper::new(limit),
            timer: 0,
            usual: [vec![None; nodes], vec![None; nodes]],
            tasks: jobs.into_iter().map(task).collect(),
            paused_until: True(0),
            lost_time: Duration::ZERO,
        }
    }
}

impl Run {
    /// Does something with a keeper, and sees to it that it is awake.
    fn keep<T>(&mut self, at: usize, change: impl FnOnce(&mut Keeper<usize>) -> T) -> T {
        let output = change(&mut self.clients[at].keeper);
        self.wake_keeper(at, self.now);
        output
    }

    pub(super) fn poll_keeper(&mut self, at: usize) {
        loop {
            let client = &mut self.clients[at];
            match client.keeper.poll(client.clock.at(self.now)) {
                Step::Send { id, route, op, within } => {
                    let line = route.unwrap_or_else(|| self.line(Role::Keeper));
                    self.ask(Owner::Keeper { client: at, id }, line, op, within);
                }
                Step::Wait(until) => {
                    let until = client.clock.when(until);
                    return self.wake_keeper(at, until);
                }
                Step::Done(()) => return,
            }
        }
    }

    pub(super) fn done(&mut self, owner: Owner, reply: Result<Verdict, Fault>) {
        let now = self.clients[owner.client()].clock.at(self.now);
        match owner {
            Owner::Keeper { client, id } => {
                self.keep(client, |keeper| keeper.handle(Event::Reply(id, reply), now));
            }
            Owner::Task { client, task, job, id } => {
                let of = &mut self.clients[client].tasks[task];
                if of.jobs != job {
                    return;
                }
                match &mut of.state {
                    State::Acquiring(attempt) => {
                        attempt.machine.handle(Event::Reply(id, reply), now);
                        self.poll_task(client, task);
                    }
                    State::Releasing { lease, tenancy } => {
                        let (lease, tenancy) = (lease.clone(), *tenancy);
                        _ = self.keep(client, |k| k.end_release(&lease, tenancy, reply, now));
                        self.rest(client, task);
                    }
                    _ => {}
                }
            }
        }
    }

    pub(super) fn poll_task(&mut self, at: usize, task: usize) {
        match &mut self.clients[at].tasks[task].state {
            State::Resting => self.begin(at, task),
            State::Acquiring(_) => self.poll_attempt(at, task),
            State::Holding { .. } => self.end_body(at, task),
            State::Releasing { .. } | State::Over => {}
        }
    }

    fn begin(&mut self, at: usize, task: usize) {
        let ttl = self.ttl();
        let waits = self.world != World::Minority && self.random.chance(700);
        let wait = Duration::from_millis(if waits { self.random.between(50, 2_000) } else { 0 });
        let request = Request { ttl, wait, ..Request::new(self.key.clone()) };
        let token = Token::from_bytes(format!("{}/", self.fates.len()));
        self.fates.push(Fate::default());
        let line = self.line(Role::Commands);
        let seed = self.random.next();
        let client = &mut self.clients[at];
        let now = client.clock.at(self.now);
        let machine = Acquire::new(&request, token.clone(), client.limit, seed, now);
        let of = &mut client.tasks[task];
        of.state = State::Acquiring(Box::new(Attempt { machine, request, token, line }));
        let job = of.jobs;
        if self.world != World::Minority && self.random.chance(250) {
            let when = self.now + self.random.ms(0, 400);
            self.at(when, Happening::Cancel { client: at, task, job });
        }
        self.poll_attempt(at, task);
    }

    fn poll_attempt(&mut self, at: usize, task: usize) {
        loop {
            let client = &mut self.clients[at];
            let clock = client.clock;
            let Task { jobs: job, state: State::Acquiring(attempt), .. } = &mut client.tasks[task]
            else {
                return;
            };
            let (job, line, now) = (*job, attempt.line, clock.at(self.now));
            match attempt.machine.poll(now) {
                Step::Send { id, route: Route::Listener, .. } => {
                    let nobody = Fault::new(FaultKind::Unsupported, "nobody");
                    attempt.machine.handle(Event::Reply(id, Err(nobody)), now);
                }
                Step::Send { id, mut op, within, .. } => {
                    if let (Some(Breakage::OneToken), Op::Acquire { token, .. }) =
                        (self.breakage, &mut op)
                    {
                        *token = attempt.token.clone();
                        self.lines[line].forget(self.quorum);
                    }
                    let owner = Owner::Task { client: at, task, job, id };
                    self.ask(owner, line, op, within);
                }
                Step::Wait(until) => return self.set_timer(at, task, clock.when(until)),
                Step::Done(acquired) => return self.acquired(at, task, acquired),
            }
        }
    }

    fn acquired(&mut self, at: usize, task: usize, acquired: Acquired) {
        let Acquired::Granted { token, sent, until, fence, late } = acquired else {
            self.tally.refused += 1;
            if self.world == World::Minority {
                self.accuse("a free lock is granted", || format!("{acquired:?}"));
            }
            return self.drop_attempt(at, task);
        };
        let client = &mut self.clients[at];
        let now = client.clock.at(self.now);
        let State::Acquiring(attempt) = &client.tasks[task].state else { return };
        let Request { key, ttl, renew, hold, confirm, .. } = attempt.request.clone();
        let token = match self.breakage {
            Some(Breakage::OneToken) => attempt.token.clone(),
            _ => token,
        };
        let until = match self.breakage {
            Some(Breakage::FromLastReply) => now + ttl.certain(),
            _ => until,
        };
        let (own, holding) = (token.clone(), Default::default());
        let grant =
            Grant { key, token: own, ttl, renew, hold, confirm, fence, sent, until, late, holding };
        let (lease, tenancy) = self.keep(at, |keeper| keeper.admit(grant, None, now));
        self.granted(at, &token, &lease);
        let lost_time = self.clients[at].lost_time;
        let holding = State::Holding { lease, tenancy, lost_time };
        let before = std::mem::replace(&mut self.clients[at].tasks[task].state, holding);
        if let State::Acquiring(attempt) = before
            && self.breakage != Some(Breakage::OneToken)
        {
            self.undo(at, *attempt, now);
        }
        let until = self.now + self.random.ms(1, 1_500);
        self.set_timer(at, task, until);
    }

    fn end_body(&mut self, at: usize, task: usize) {
        let client = &self.clients[at];
        let now = client.clock.at(self.now);
        let State::Holding { lease, tenancy, lost_time } = &client.tasks[task].state else {
            return;
        };
        let (lease, tenancy, paused) = (lease.clone(), *tenancy, client.lost_time > *lost_time);
        let state = lease.state_at(now);
        let lost = matches!(state, LeaseState::Lost(_));
        self.tally.lost += u64::from(lost);
        if lost && !paused && matches!(self.world, World::Calm | World::Minority) {
            self.accuse("a lease is kept", || format!("{:?}: {state:?}", lease.token()));
        }
        if self.world != World::Minority
            && self.random.chance(300)
            && self.breakage != Some(Breakage::NoRollBack)
        {
            self.keep(at, |keeper| keeper.see_release_through(&lease, tenancy, now));
            return self.rest(at, task);
        }
        let op = self.keep(at, |keeper| keeper.begin_release(&lease, tenancy, now));
        let within = response_deadline(self.clients[at].limit, tenancy.ttl());
        let of = &mut self.clients[at].tasks[task];
        of.state = State::Releasing { lease, tenancy };
        let (job, id) = (of.jobs, SendId(0));
        let line = self.line(Role::Commands);
        self.ask(Owner::Task { client: at, task, job, id }, line, op, within);
    }

    pub(super) fn cancel(&mut self, at: usize, task: usize, job: u32) {
        let of = &self.clients[at].tasks[task];
        if of.jobs == job && matches!(of.state, State::Acquiring(_)) {
            self.tally.cancelled += 1;
            self.note(|| format!("c{at} task {task}: its acquire is dropped"));
            self.drop_attempt(at, task);
        }
    }

    /// `Attempt::drop`.
    fn drop_attempt(&mut self, at: usize, task: usize) {
        self.rounds.retain(|_, asked| {
            !matches!(asked.owner, Owner::Task { client, task: of, .. } if (client, of) == (at, task))
        });
        let client = &mut self.clients[at];
        let now = client.clock.at(self.now);
        let State::Acquiring(attempt) =
            std::mem::replace(&mut client.tasks[task].state, State::Resting)
        else {
            return;
        };
        self.undo(at, *attempt, now);
        self.rest(at, task);
    }

    fn undo(&mut self, at: usize, attempt: Attempt, now: Timestamp) {
        let Attempt { machine, request, token, line } = attempt;
        for mut left in machine.residue() {
            match self.breakage {
                Some(Breakage::NoRollBack) => continue,
                Some(Breakage::OneToken) => left = token.clone(),
                _ => {}
            }
            let (key, until) = (request.key.clone(), now + request.ttl.as_duration());
            let undo = Undo { key, token: left, until, route: Some(line), again: true };
            self.keep(at, |keeper| keeper.undo(undo, now));
        }
    }

    fn rest(&mut self, at: usize, task: usize) {
        let of = &mut self.clients[at].tasks[task];
        of.jobs -= 1;
        of.state = if of.jobs == 0 { State::Over } else { State::Resting };
        let when = self.now + self.random.ms(0, 100);
        self.set_timer(at, task, when);
    }
}
