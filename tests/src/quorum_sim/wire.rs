//! Rounds under way, and the connections that carry their questions: in order on one, not across two.

use std::time::Duration;

use tairlock::{
    Fault, FaultKind,
    proto::{Event, Machine, Op, Quorum, Round, SendId, Step, Unheard, Verdict},
    time::Timestamp,
};

use super::{
    Breakage,
    run::{Happening, Run},
};
use crate::sim::clock::True;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Commands,
    Keeper,
}

/// Who is told what a round comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Task { client: usize, task: usize, job: u32, id: SendId },
    Keeper { client: usize, id: SendId },
}

impl Owner {
    pub(super) const fn client(self) -> usize {
        match self {
            Self::Task { client, .. } | Self::Keeper { client, .. } => client,
        }
    }
}

/// One caller's line to all servers (`QuorumLine`).
pub(super) struct Line {
    role: Role,
    carried: Vec<Option<usize>>,
    unheard: Unheard,
}

impl Line {
    /// As if every release had been answered.
    pub(super) fn forget(&mut self, quorum: Quorum) {
        self.unheard = Unheard::none(quorum);
    }
}

/// One connection to one server. A client that takes it for broken may have questions under way on it.
pub(super) struct Connection {
    pub(super) client: usize,
    pub(super) node: usize,
    epoch: u32,
    pub(super) broken: bool,
    there: True,
    back: True,
}

/// A round under way.
pub(super) struct Asked {
    pub(super) round: Round,
    pub(super) owner: Owner,
    pub(super) op: Op,
    line: usize,
    within: Duration,
    began: Timestamp,
    lost_time: Duration,
    /// How many have said yes, for machines that are broken on purpose.
    yes: usize,
    /// Who has answered, and how many of them had nothing of ours: for the law on joining again.
    pub(super) heard: Vec<bool>,
    pub(super) no: usize,
}

impl Run {
    pub(super) fn line(&mut self, role: Role) -> usize {
        let carried = vec![None; self.nodes.len()];
        self.lines.push(Line { role, carried, unheard: Unheard::none(self.quorum) });
        self.lines.len() - 1
    }

    /// Asks `op` of all servers.
    pub(super) fn ask(&mut self, owner: Owner, line: usize, op: Op, within: Duration) {
        let unheard = self.lines[line].unheard.clone();
        let round = Round::new(&op, self.quorum, within, unheard);
        self.next += 1;
        let client = &self.clients[owner.client()];
        let (began, lost_time) = (client.clock.at(self.now), client.lost_time);
        let heard = vec![false; self.nodes.len()];
        let (yes, no) = (0, 0);
        let asked = Asked { round, owner, op, line, within, began, lost_time, yes, heard, no };
        self.rounds.insert(self.next, asked);
        self.poll_round(self.next);
    }

    pub(super) fn poll_round(&mut self, name: u64) {
        loop {
            let Some(asked) = self.rounds.get_mut(&name) else { return };
            let clock = self.clients[asked.owner.client()].clock;
            match asked.round.poll(clock.at(self.now)) {
                Step::Send { id, route, op, within } => self.say(name, id, route, op, within),
                Step::Wait(until) => {
                    return self.at(clock.when(until), Happening::Poll { round: name });
                }
                Step::Done(reply) => return self.end_round(name, reply),
            }
        }
    }

    fn end_round(&mut self, name: u64, reply: Result<Verdict, Fault>) {
        let Some(asked) = self.rounds.remove(&name) else { return };
        self.lines[asked.line].unheard = asked.round.unheard();
        let client = &self.clients[asked.owner.client()];
        let took = client.clock.at(self.now).since(asked.began);
        let paused = client.lost_time > asked.lost_time;
        let each = asked.within / 3;
        // Two deadlines, and the little that is waited for who answers soon.
        let bound = each * 2 + each / 10 + Duration::from_micros(10);
        if !paused && took > bound {
            self.accuse("two deadlines", || {
                format!("{:?} took {took:?} of {each:?} for each server", asked.op)
            });
        }
        self.note(|| format!("round {name}: {reply:?}"));
        self.in_air += 1;
        self.at(self.now, Happening::Done { owner: asked.owner, reply });
    }

    /// `QuorumLine::connection`, then the question.
    fn say(&mut self, name: u64, id: SendId, node: usize, op: Op, within: Duration) {
        let Some(asked) = self.rounds.get(&name) else { return };
        let (at, client) = (asked.line, asked.owner.client());
        let acquires = matches!(asked.op, Op::Acquire { .. });
        let gives_back = matches!(op, Op::Release { .. } | Op::Retain(_));
        if matches!(asked.op, Op::RenewMany(_)) && matches!(op, Op::Acquire { .. }) {
            self.check_rejoin(name);
        }
        self.pending.insert((name, id), None);
        if acquires && gives_back && self.breakage == Some(Breakage::NoRollBack) {
            return self.reply_now(name, id, node, Ok(Verdict::Released));
        }
        let clock = self.clients[client].clock;
        let deadline = clock.when(clock.at(self.now) + within);
        self.at(deadline, Happening::Overdue { round: name, id, node });
        let line = &self.lines[at];
        if let Some(connection) = line.carried[node].filter(|_| gives_back) {
            return self.send(name, id, connection, op);
        }
        let usual = self.clients[client].usual[line.role as usize][node];
        if let Some(usual) = usual.filter(|&usual| !self.connections[usual].broken) {
            self.lines[at].carried[node] = Some(usual);
            return self.send(name, id, usual, op);
        }
        let there = self.now + self.delay(node) + self.delay(node);
        let server = &self.nodes[node];
        let deaf = server.deaf_until.max(server.mute_until);
        let ok = self.now >= server.down_until;
        // Nothing is refused that does not arrive.
        let when = if self.now < deaf { deaf + there.since(self.now) } else { there };
        self.at(when, Happening::Connected { round: name, id, node, op, ok });
    }

    fn reply_now(&mut self, round: u64, id: SendId, node: usize, reply: Result<Verdict, Fault>) {
        let Some(asked) = self.rounds.get(&round) else { return };
        let client = asked.owner.client();
        self.at(self.now, Happening::Answer { client, round, id, node, reply });
    }

    pub(super) fn connected(&mut self, name: u64, id: SendId, node: usize, op: Op, ok: bool) {
        let Some(asked) = self.rounds.get(&name) else { return };
        if !self.pending.contains_key(&(name, id)) {
            return;
        }
        if !ok || self.now < self.nodes[node].down_until {
            let fault = Fault::new(FaultKind::Unreachable, "refused");
            return self.answer(name, id, node, Err(fault));
        }
        let (at, client) = (asked.line, asked.owner.client());
        let epoch = self.nodes[node].epoch;
        let (there, back) = (self.now, self.now);
        self.connections.push(Connection { client, node, epoch, broken: false, there, back });
        let made = self.connections.len() - 1;
        let role = self.lines[at].role as usize;
        self.clients[client].usual[role][node] = Some(made);
        self.lines[at].carried[node] = Some(made);
        self.send(name, id, made, op);
    }

    fn send(&mut self, name: u64, id: SendId, at: usize, op: Op) {
        let node = self.connections[at].node;
        if self.connections[at].broken {
            let fault = Fault::new(FaultKind::Unreachable, "it was closed");
            return self.reply_now(name, id, node, Err(fault));
        }
        self.pending.insert((name, id), Some(at));
        if matches!(&self.rounds[&name].op, Op::Acquire { .. }) {
            self.asking.insert((name, id.0));
        }
        let arrives = self.now.max(self.nodes[node].deaf_until) + self.delay(node);
        let connection = &mut self.connections[at];
        connection.there = connection.there.max(arrives) + Duration::from_nanos(1);
        let arrives = connection.there;
        self.note(|| format!("round {name}: {op:?} to n{node} on connection {at}"));
        self.in_air += 1;
        self.at(arrives, Happening::Arrive { connection: at, round: name, id, op });
    }

    pub(super) fn arrive(&mut self, at: usize, round: u64, id: SendId, op: &Op) {
        let Connection { client, node, epoch, back, .. } = self.connections[at];
        let delay = self.delay(node);
        let server = &mut self.nodes[node];
        if server.epoch != epoch {
            // It has restarted: what was on the way is gone, and the connection too.
            self.connections[at].broken = true;
            let fault = Fault::ambiguous(FaultKind::Unreachable, "reset");
            let reply = Err(fault);
            return self.at(self.now + delay, Happening::Answer { client, round, id, node, reply });
        }
        let reply = server.store.apply(op, server.clock.at(self.now));
        let back = back.max(self.now.max(server.mute_until) + delay) + Duration::from_nanos(1);
        self.note(|| format!("n{node}: {op:?}: {reply:?}"));
        self.executed(node, op, &reply);
        self.check_order(node, (round, id.0), op, &reply);
        if self.breakage == Some(Breakage::RejoinsAlone)
            && let (Op::RenewMany(renewals), Ok(Verdict::Many(each))) = (op, &reply)
            && each[0] == Ok(Verdict::Gone)
        {
            let renewal = renewals[0].clone();
            let (key, token, ttl) = (renewal.key, renewal.token, renewal.ttl);
            let op = Op::Acquire { key, token, ttl };
            self.check_rejoin(round);
            let server = &mut self.nodes[node];
            _ = server.store.apply(&op, server.clock.at(self.now));
        }
        let connection = &mut self.connections[at];
        connection.back = back;
        if connection.broken {
            return;
        }
        self.at(back, Happening::Answer { client, round, id, node, reply });
    }

    /// A client takes a connection for broken: who waits for an answer on it is told.
    pub(super) fn break_connection(&mut self, at: usize) {
        self.connections[at].broken = true;
        let node = self.connections[at].node;
        let waits =
            |(&name, by): (&(u64, SendId), &Option<usize>)| (*by == Some(at)).then_some(name);
        let mut waiting: Vec<_> = self.pending.iter().filter_map(waits).collect();
        waiting.sort_unstable_by_key(|&(round, id)| (round, id.0));
        for (round, id) in waiting {
            let fault = Fault::ambiguous(FaultKind::Unreachable, "broken");
            self.reply_now(round, id, node, Err(fault));
        }
    }

    pub(super) fn overdue(&mut self, round: u64, id: SendId, node: usize) {
        let Some(carried) = self.pending.get(&(round, id)) else { return };
        let fault = match carried {
            Some(_) => Fault::ambiguous(FaultKind::NoReply, "no reply"),
            None => Fault::new(FaultKind::Unreachable, "no connection in time"),
        };
        self.answer(round, id, node, Err(fault));
    }

    pub(super) fn answer(
        &mut self,
        name: u64,
        id: SendId,
        node: usize,
        reply: Result<Verdict, Fault>,
    ) {
        if self.pending.remove(&(name, id)).is_none() {
            return;
        }
        let Some(asked) = self.rounds.get_mut(&name) else { return };
        if let Err(fault) = &reply
            && fault.kind() == FaultKind::Unreachable
        {
            self.lines[asked.line].carried[node] = None;
        }
        let clock = self.clients[asked.owner.client()].clock;
        asked.heard[node] = true;
        asked.no += usize::from(match &reply {
            Ok(Verdict::Many(each)) => matches!(each[0], Ok(Verdict::Gone | Verdict::Taken)),
            _ => false,
        });
        asked.yes += usize::from(match &reply {
            Ok(Verdict::Granted | Verdict::Ours) => matches!(asked.op, Op::Acquire { .. }),
            Ok(Verdict::Many(each)) => each[0] == Ok(Verdict::Renewed),
            _ => false,
        });
        let enough = self.breakage == Some(Breakage::TooFew) && asked.yes >= self.nodes.len() / 2;
        asked.round.handle(Event::Reply(id, reply), clock.at(self.now));
        match &asked.op {
            Op::Acquire { .. } if enough => self.end_round(name, Ok(Verdict::Granted)),
            Op::RenewMany(all) if enough => {
                let each = all.iter().map(|_| Ok(Verdict::Renewed)).collect();
                self.end_round(name, Ok(Verdict::Many(each)));
            }
            _ => self.poll_round(name),
        }
    }

    fn delay(&mut self, node: usize) -> Duration {
        if self.now < self.nodes[node].slow_until {
            self.random.ms(20, 400)
        } else if self.random.chance(20) {
            self.random.ms(1, 7)
        } else {
            self.random.ms(0, 2)
        }
    }
}
