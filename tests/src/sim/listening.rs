//! The listener of a client: how it is opened, asked, told of changes, and lost.

use std::time::Duration;

use tairlock::{
    Fault, FaultKind,
    proto::{Event, Hearing, Machine, Op, SendId, Verdict},
};

use super::{
    client::{LineId, Role, State},
    wire::{CONNECT_WITHIN, Call, Owner},
    world::{Happening, World},
};

impl World {
    /// `Listener::ask`.
    pub(super) fn inquire(&mut self, at: usize, task: usize, id: SendId, op: Op, within: Duration) {
        let now = self.clients[at].now(self.now);
        let fault = match self.clients[at].hub.ask(now) {
            Hearing::On(_, line) => {
                let call = self.call(Owner::Listener(at, task), id, op, within);
                return self.depart_soon(call, Some(line));
            }
            Hearing::Open(epoch, fault) => {
                self.open_listener(at, epoch);
                fault
            }
            Hearing::No(fault) => fault,
        };
        if let State::Acquiring(attempt) = &mut self.clients[at].tasks[task].state {
            attempt.machine.handle(Event::Reply(id, Err(fault)), now);
        }
    }

    fn open_listener(&mut self, client: usize, epoch: u64) {
        let takes = self.delay() * 4;
        let cut_off = self.clients[client].cut_off_until.max(self.host.paused_until);
        let (up, limit) = (cut_off.max(self.now) + takes, self.now + CONNECT_WITHIN);
        let ok = !self.host.is_down(self.now) && up <= limit;
        self.at(up.min(limit), Happening::Listens { client, epoch, ok });
    }

    pub(super) fn listens(&mut self, client: usize, epoch: u64, ok: bool) {
        let now = self.clients[client].now(self.now);
        if !ok || self.host.is_down(self.now) {
            let fault = Fault::new(FaultKind::Unreachable, "no connection");
            return self.clients[client].hub.failed(epoch, fault, now);
        }
        let line = self.new_line(client, Role::Listener);
        if self.clients[client].hub.opened(epoch, line) {
            self.clients[client].listening = Some((epoch, line));
            self.note(|| format!("c{client} listens on line {line}"));
            self.clients[client].queue.ring_all();
        }
    }

    /// The server tells listeners what there is to tell. Pushes get lost, late, and doubled.
    pub(super) fn tell(&mut self) {
        for (listener, key) in self.host.store.news() {
            let line = usize::try_from(listener).expect("a line");
            let key = self.keys.iter().position(|other| *other == key);
            let lost = self.lines[line].mute || self.lines[line].cut;
            if lost || self.random.chance(self.weather.lost_replies) {
                continue;
            }
            let at = (self.now + self.delay()).max(self.lines[line].down);
            self.lines[line].down = at;
            self.at(at, Happening::Push { line, key });
            if self.random.chance(self.weather.doubled) {
                let again = at + self.delay() * 4;
                self.at(again, Happening::Push { line, key });
            }
        }
    }

    /// `Listener::hear`.
    pub(super) fn push(&mut self, line: LineId, key: Option<usize>) {
        let client = self.lines[line].client;
        let held_up = self.clients[client].cut_off_until;
        if self.now < held_up {
            return self.at(held_up, Happening::Push { line, key });
        }
        match key {
            Some(key) => {
                self.referee.tally.pushes += 1;
                self.clients[client].queue.ring(&self.keys[key]);
            }
            None => self.listener_lost(client, line),
        }
    }

    fn listener_lost(&mut self, client: usize, line: LineId) {
        self.lines[line].broken = true;
        self.host.store.deafen(line as u64);
        let now = self.clients[client].now(self.now);
        let Some((epoch, _)) = self.clients[client].listening.filter(|&(_, of)| of == line) else {
            return;
        };
        if self.clients[client].hub.lost(epoch, now) {
            self.note(|| format!("c{client} has lost its listener, line {line}"));
            self.clients[client].queue.ring_all();
        }
    }

    /// What the listener says, or that it says nothing.
    pub(super) fn inquiry_heard(
        &mut self,
        at: usize,
        task: usize,
        call: &Call,
        reply: Result<Verdict, Fault>,
    ) {
        if let (Err(fault), Some(line)) = (&reply, call.line)
            && matches!(fault.kind(), FaultKind::Unreachable | FaultKind::NoReply)
        {
            self.listener_lost(at, line);
        }
        let now = self.clients[at].now(self.now);
        if let State::Acquiring(attempt) = &mut self.clients[at].tasks[task].state {
            attempt.machine.handle(Event::Reply(call.id, reply), now);
            self.poll_attempt(at, task);
        }
    }
}
