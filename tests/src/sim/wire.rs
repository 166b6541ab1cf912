//! Connections and calls: how an operation gets to the server and its reply back, or does not.

use std::time::Duration;

use tairlock::{
    Fault, FaultKind,
    proto::{Op, SendId, Verdict},
    time::Timestamp,
};

use super::{
    client::{Driver, LineId, Role},
    clock::True,
    world::{Happening, World},
};

/// How long a driver tries to connect.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Line {
    pub(super) client: usize,
    pub(super) role: Role,
    /// The driver sends nothing down here any more.
    pub(super) broken: bool,
    /// The client's end is closed.
    pub(super) cut: bool,
    /// What is still under way to the server is lost.
    pub(super) severed: bool,
    /// Nothing that is sent from now on arrives.
    pub(super) deaf: bool,
    /// Nothing that is answered from now on arrives.
    pub(super) mute: bool,
    /// When the last request and the last reply arrive.
    pub(super) up: True,
    pub(super) down: True,
}

/// Who waits for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Attempt(usize, usize),
    Release(usize, usize),
    Keeper(usize),
    /// An attempt's question to the listener.
    Listener(usize, usize),
}

/// What is under way to the server.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) line: LineId,
    call: u64,
    op: Op,
    asked: Timestamp,
    /// Whether its reply is sent back.
    answered: bool,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) owner: Owner,
    pub(super) id: SendId,
    pub(super) op: Op,
    pub(super) within: Duration,
    /// What the client's clock showed before it was sent.
    pub(super) asked: Timestamp,
    /// `None` while it waits for a connection.
    pub(super) line: Option<LineId>,
}

impl Owner {
    pub(super) const fn client(self) -> usize {
        match self {
            Self::Attempt(client, _)
            | Self::Release(client, _)
            | Self::Keeper(client)
            | Self::Listener(client, _) => client,
        }
    }

    const fn role(self) -> Role {
        match self {
            Self::Attempt(..) | Self::Release(..) => Role::Commands,
            Self::Keeper(_) => Role::Keeper,
            Self::Listener(..) => Role::Listener,
        }
    }
}

impl World {
    /// A driver calls: down `route`, or its usual connection, which it opens if it must.
    pub(super) fn call(&mut self, owner: Owner, id: SendId, op: Op, within: Duration) -> u64 {
        let asked = self.clients[owner.client()].now(self.now);
        self.referee.decided(&op);
        self.next_call += 1;
        let name = self.next_call;
        self.calls.insert(name, Call { owner, id, op, within, asked, line: None });
        name
    }

    /// Finds the usual connection for a call, or opens one.
    pub(super) fn connect(&mut self, name: u64) {
        let owner = self.calls[&name].owner;
        let (at, role) = (owner.client(), owner.role());
        let client = &mut self.clients[at];
        if client.driver == Driver::Blocking && role == Role::Commands {
            while let Some(line) = client.idle.pop() {
                if !self.lines[line].broken {
                    return self.send(name, line);
                }
            }
            return self.open(at, role, Some(name));
        }
        let slot = client.slot(role);
        match slot.line {
            Some(line) if !self.lines[line].broken => self.send(name, line),
            _ if slot.connecting => {}
            _ => {
                slot.connecting = true;
                self.open(at, role, None);
            }
        }
    }

    fn open(&mut self, client: usize, role: Role, call: Option<u64>) {
        let (takes, began) = (self.delay() * 4, self.now);
        let limit = self.now + CONNECT_WITHIN;
        let at = self.now + takes;
        let cut_off = self.clients[client].cut_off_until.max(self.host.paused_until);
        let up = cut_off.max(self.now) + takes;
        let (at, ok) = match () {
            () if self.host.is_down(self.now) => (at.min(limit), false),
            () if up > limit => (limit, false),
            () => (up, true),
        };
        self.note(|| {
            format!("c{client} connects ({role:?}), which will take {:?}", at.since(began))
        });
        self.at(at, Happening::Connected { client, role, call, ok });
    }

    pub(super) fn connected(&mut self, client: usize, role: Role, call: Option<u64>, ok: bool) {
        let line = (ok && !self.host.is_down(self.now)).then(|| self.new_line(client, role));
        let waiting: Vec<u64> = match call {
            Some(call) => self.calls.contains_key(&call).then_some(call).into_iter().collect(),
            None => {
                let slot = self.clients[client].slot(role);
                slot.connecting = false;
                slot.line = line;
                let waits = |call: &Call| {
                    call.line.is_none()
                        && call.owner.client() == client
                        && call.owner.role() == role
                };
                self.calls.iter().filter(|(_, call)| waits(call)).map(|(&name, _)| name).collect()
            }
        };
        if let (Some(line), true) = (line, waiting.is_empty() && call.is_some()) {
            self.clients[client].idle.push(line);
        }
        for name in waiting {
            match line {
                Some(line) => self.send(name, line),
                None => {
                    let fault = Fault::new(FaultKind::Unreachable, "no connection");
                    self.finish(name, Err(fault));
                }
            }
        }
    }

    pub(super) fn new_line(&mut self, client: usize, role: Role) -> LineId {
        self.lines.push(Line {
            client,
            role,
            broken: false,
            cut: false,
            severed: false,
            deaf: false,
            mute: false,
            up: self.now,
            down: self.now,
        });
        self.lines.len() - 1
    }

    /// Puts a call's request on the wire.
    pub(super) fn send(&mut self, name: u64, line: LineId) {
        let Some(call) = self.calls.get_mut(&name) else { return };
        call.line = Some(line);
        let (owner, within, op, asked) = (call.owner, call.within, call.op.clone(), call.asked);
        let client = owner.client();
        if let Owner::Attempt(client, task) = owner {
            self.carried(client, task, line);
        }
        self.note(|| format!("c{client} sends {} on line {line}", show(&op)));
        let clock = self.clients[client].clock;
        let overdue = clock.when(clock.at(self.now) + within) + self.slack();
        self.at(overdue, Happening::Overdue { call: name });
        if self.lines[line].cut {
            self.lines[line].broken = true;
            let at = self.now + self.slack();
            return self.at(at, Happening::Broken { call: name });
        }
        if self.lines[line].deaf || self.random.chance(self.weather.lost_requests) {
            self.note(|| "… and it is lost".to_owned());
            return;
        }
        // An executor that stands still writes nothing either.
        let stalled = self.clients[client].stalled_until;
        let leaves = match self.lines[line].role {
            Role::Commands => self.now.max(stalled),
            Role::Keeper | Role::Listener => self.now,
        };
        let arrives = (leaves + self.delay()).max(self.lines[line].up);
        self.lines[line].up = arrives;
        self.referee.flies(&op);
        if self.random.chance(self.weather.doubled) {
            // Something on the way waited for a reply, got none, and has sent it once more.
            self.referee.flies(&op);
            let first = Request { line, call: name, op: op.clone(), asked, answered: false };
            self.at(arrives, Happening::Arrive(first));
            let again = arrives + self.delay() * self.random.between(1, 8) as u32;
            self.lines[line].up = again;
            let second = Request { line, call: name, op, asked, answered: true };
            return self.at(again, Happening::Arrive(second));
        }
        self.at(
            arrives,
            Happening::Arrive(Request { line, call: name, op, asked, answered: true }),
        );
    }

    /// A request reaches the server.
    pub(super) fn arrive(&mut self, request: Request) {
        let Request { line, call, ref op, asked, answered } = request;
        let client = self.lines[line].client;
        let held_up = self.clients[client].cut_off_until.max(self.host.paused_until);
        if self.lines[line].severed || self.host.is_down(self.now) {
            self.referee.landed(op);
            return self.note(|| format!("{} of c{client} is lost", show(op)));
        }
        if self.now < held_up {
            return self.at(held_up, Happening::Arrive(request));
        }
        self.referee.landed(op);
        self.referee.before(op, &self.host, self.now);
        let listener = (self.lines[line].role == Role::Listener).then_some(line as u64);
        let reply = self.host.execute(op, listener, self.now);
        self.tell();
        self.note(|| format!("server: {} of c{client} on line {line}: {reply:?}", show(op)));
        self.referee.executed(op, &reply, asked, &self.host, self.now);
        let closed = !answered || self.lines[line].mute || self.lines[line].cut;
        if closed || self.random.chance(self.weather.lost_replies) {
            return self.note(|| "… and the reply is lost".to_owned());
        }
        let arrives = (self.now + self.delay()).max(self.lines[line].down);
        self.lines[line].down = arrives;
        self.at(arrives, Happening::Answer { line, call, reply });
    }

    /// A reply reaches the client.
    pub(super) fn answer(&mut self, line: LineId, call: u64, reply: Result<Verdict, Fault>) {
        let held_up = self.clients[self.lines[line].client].cut_off_until;
        if self.now < held_up {
            return self.at(held_up, Happening::Answer { line, call, reply });
        }
        if self.calls.contains_key(&call) && !self.lines[line].cut {
            self.finish(call, reply);
        }
    }

    /// No reply came in time.
    pub(super) fn overdue(&mut self, name: u64) {
        let Some(call) = self.calls.get(&name) else { return };
        if let Some(line) = call.line {
            self.lines[line].broken = true;
        }
        self.finish(name, Err(Fault::ambiguous(FaultKind::NoReply, "no reply in time")));
    }

    /// The connection under a call broke.
    pub(super) fn broken(&mut self, name: u64) {
        let Some(Some(line)) = self.calls.get(&name).map(|call| call.line) else { return };
        self.lines[line].broken = true;
        self.finish(name, Err(Fault::ambiguous(FaultKind::Unreachable, "broken pipe")));
    }

    /// A connection breaks; what is under way to the server still arrives, or not.
    pub(super) fn cut(&mut self, line: LineId, severed: bool) {
        self.lines[line].cut = true;
        self.lines[line].severed |= severed;
        if self.lines[line].role == Role::Listener {
            // Its end may see it, or may find it out when it next asks.
            self.host.store.deafen(line as u64);
            if self.random.chance(700) {
                let at = self.now + self.delay();
                self.at(at, Happening::Push { line, key: None });
            }
        }
        let of_line = |call: &Call| call.line == Some(line);
        let names: Vec<u64> =
            self.calls.iter().filter(|(_, call)| of_line(call)).map(|(&name, _)| name).collect();
        for name in names {
            let at = self.now + self.slack();
            self.at(at, Happening::Broken { call: name });
        }
    }

    /// A call is over: hands its reply to whoever made it.
    fn finish(&mut self, name: u64, reply: Result<Verdict, Fault>) {
        let Some(call) = self.calls.remove(&name) else { return };
        self.give_back(&call);
        match call.owner {
            Owner::Attempt(client, task) => self.attempt_heard(client, task, call.id, reply),
            Owner::Release(client, task) => self.release_heard(client, task, reply),
            Owner::Keeper(client) => self.keeper_heard(client, call.id, reply),
            Owner::Listener(client, task) => self.inquiry_heard(client, task, &call, reply),
        }
    }

    /// The futures of calls are dropped. What was sent stays sent.
    pub(super) fn forget(&mut self, owner: Owner) {
        self.calls.retain(|_, call| call.owner != owner);
    }

    fn give_back(&mut self, call: &Call) {
        let client = &mut self.clients[call.owner.client()];
        if let (Driver::Blocking, Role::Commands, Some(line)) =
            (client.driver, call.owner.role(), call.line)
            && !self.lines[line].broken
        {
            client.idle.push(line);
        }
    }

    pub(super) fn delay(&mut self) -> Duration {
        let weather = self.weather;
        if self.random.chance(weather.delayed) {
            return self.random.ms(0, weather.longest);
        }
        Duration::from_micros(self.random.between(20, weather.delay))
    }

    /// How late a timer or a thread is.
    pub(super) fn slack(&mut self) -> Duration {
        Duration::from_micros(self.random.between(1, 400))
    }
}

pub(super) fn show(op: &Op) -> String {
    super::host::named(op).iter().fold(verb(op).to_owned(), |text, (key, token)| {
        let (key, token) = (key.as_bytes(), token.as_bytes());
        format!("{text} {} #{}", key.escape_ascii(), token.escape_ascii())
    })
}

const fn verb(op: &Op) -> &'static str {
    match op {
        Op::Acquire { .. } | Op::AcquireFenced { .. } => "acquire",
        Op::RenewMany(_) => "renew",
        Op::Release { .. } => "release",
        Op::Retain(_) => "retain",
        Op::Remaining { .. } => "what remains",
        _ => "something else",
    }
}
