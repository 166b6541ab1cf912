//! Several servers as one line: every operation is written to all of them before an answer is read.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use tairlock::{
    Confirm, Fault, FaultKind,
    doctor::Report,
    proto::{Event, Machine, Op, Quorum, Roll, Round, SendId, Step, Unheard, Verdict},
    time::{self, Timestamp},
};

use super::{Asked, Begun, Line, Node, SharedLine};

/// One server of a quorum.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) node: Node,
    pub(crate) place: String,
}

#[derive(Debug)]
struct Members {
    all: Vec<Member>,
    quorum: Quorum,
    roll: Mutex<Roll>,
    /// Until when a server is left alone that was waited for in vain: one after the other they would
    /// cost a caller all of its time.
    resting: Mutex<Vec<Option<Instant>>>,
}

/// Servers that know nothing of each other, of which enough must agree.
#[derive(Debug)]
pub(crate) struct QuorumLine {
    members: Arc<Members>,
    keeper: bool,
    /// What the rounds of one caller leave behind; `None` where each round is another caller's.
    unheard: Option<Mutex<Unheard>>,
}

impl QuorumLine {
    pub(crate) fn node(all: Vec<Member>, quorum: Quorum) -> Node {
        let (roll, resting) = (Mutex::new(Roll::new(quorum)), Mutex::new(vec![None; all.len()]));
        let members = Arc::new(Members { all, quorum, roll, resting });
        let line = |keeper| {
            Arc::new(Self { members: Arc::clone(&members), keeper, unheard: None }) as SharedLine
        };
        // It refuses by itself.
        Node { commands: line(false), keeper: line(true), confirm: Some(line(true)), listen: None }
    }

    fn line(&self, node: usize) -> &dyn Line {
        let Node { commands, keeper, .. } = &self.members.all[node].node;
        if self.keeper { &**keeper } else { &**commands }
    }

    /// Connects to those servers at the same time, and goes on with each as it is there: one that is silent
    /// takes all of its time.
    fn connect(&self, shut: Vec<ToSend>, mut then: impl FnMut(ToSend, Result<(), Fault>)) {
        if shut.len() < 2 {
            for next in shut {
                let opened = self.open(&next);
                then(next, opened);
            }
            return;
        }
        thread::scope(|scope| {
            let (done, opened) = mpsc::channel();
            for next in shut {
                let done = done.clone();
                scope.spawn(move || {
                    let opened = self.open(&next);
                    // Whoever asked is there until all have said something.
                    _ = done.send((next, opened));
                });
            }
            drop(done);
            for (next, opened) in opened {
                then(next, opened);
            }
        });
    }

    fn open(&self, next: &ToSend) -> Result<(), Fault> {
        let left = self.members.left(next)?;
        let opened = self.line(next.node).open(left);
        self.members.note(next, opened.is_err());
        opened
    }

    fn begin(&self, next: &ToSend) -> Begun<'_> {
        let left = match self.members.left(next) {
            Ok(left) => left,
            Err(fault) => return Begun::Over(Err(fault)),
        };
        let line = self.line(next.node);
        let begun = line.begin(next.op.clone(), left);
        self.members.note(next, matches!(begun, Begun::Over(Err(_))));
        match self.members.enter(next.node, line) {
            Ok(()) => begun,
            Err(fault) => Begun::Over(Err(fault)),
        }
    }
}

impl Members {
    fn is_resting(&self, node: usize) -> bool {
        lock(&self.resting)[node].is_some_and(|until| Instant::now() < until)
    }

    fn rest(&self, node: usize, within: Duration) {
        lock(&self.resting)[node] = Some(Instant::now() + within * 2);
    }

    /// How long a server has for this question.
    fn left(&self, next: &ToSend) -> Result<Duration, Fault> {
        let left = next.until.saturating_duration_since(Instant::now());
        if left.is_zero() || self.is_resting(next.node) {
            let text = "left alone for a moment, as it did not answer in time";
            return Err(Fault::new(FaultKind::Unreachable, text));
        }
        Ok(left)
    }

    /// What failed took all of its time, or not.
    fn note(&self, next: &ToSend, failed: bool) {
        if failed && Instant::now() >= next.until {
            self.rest(next.node, next.within);
        }
    }

    /// Whether a server was slow when it was last asked: it is read last.
    fn was_slow(&self, node: usize) -> bool {
        lock(&self.resting)[node].is_some()
    }

    fn enter(&self, node: usize, line: &dyn Line) -> Result<(), Fault> {
        let entered = lock(&self.roll).enter(node, line.server().as_deref());
        entered.map_err(|other| {
            let text = format!("it is the same server as {}", self.all[other].place);
            Fault::new(FaultKind::Config, text)
        })
    }
}

/// A question that is not asked yet.
struct ToSend {
    id: SendId,
    node: usize,
    op: Op,
    within: Duration,
    until: Instant,
}

struct Pending<'a> {
    next: ToSend,
    asked: Box<dyn Asked + 'a>,
}

impl Pending<'_> {
    fn answer(
        mut self,
        limit: Option<Instant>,
        members: &Members,
    ) -> (SendId, Result<Verdict, Fault>) {
        let ToSend { id, node, within, until, .. } = self.next;
        let reply = self.asked.answer(limit.map_or(until, |limit| until.min(limit)));
        match &reply {
            Err(fault) if fault.kind() == FaultKind::NoReply => members.rest(node, within),
            _ => lock(&members.resting)[node] = None,
        }
        (id, reply.map_err(|fault| fault.at(&members.all[node].place)))
    }
}

impl Line for QuorumLine {
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        let Self { members, unheard, .. } = self;
        let before = unheard.as_ref().map(|unheard| lock(unheard).clone());
        let before = before.unwrap_or_else(|| Unheard::none(members.quorum));
        let mut round = Round::new(op, members.quorum, within, before);
        let mut pending: Vec<Pending<'_>> = Vec::with_capacity(members.all.len());
        let mut to_send: Vec<ToSend> = Vec::with_capacity(members.all.len());
        let output = loop {
            match round.poll(time::now()) {
                Step::Done(output) => break output,
                Step::Send { id, route: node, op, within } => {
                    to_send.push(ToSend { id, node, op, within, until: Instant::now() + within });
                }
                Step::Wait(_) if !to_send.is_empty() => {
                    let batch = std::mem::take(&mut to_send);
                    // One question at a time on one connection.
                    for next in &batch {
                        if let Some(at) =
                            pending.iter().position(|asked| asked.next.node == next.node)
                        {
                            let (id, reply) = pending.remove(at).answer(None, members);
                            round.handle(Event::Reply(id, reply), time::now());
                        }
                    }
                    let (open, shut): (Vec<_>, Vec<_>) =
                        batch.into_iter().partition(|next| self.line(next.node).is_open());
                    let mut asked = |next: ToSend, begun| match begun {
                        Begun::Asked(asked) => pending.push(Pending { next, asked }),
                        Begun::Over(reply) => {
                            let place = &members.all[next.node].place;
                            let reply = reply.map_err(|fault| fault.at(place));
                            round.handle(Event::Reply(next.id, reply), time::now());
                        }
                    };
                    for next in open {
                        let begun = self.begin(&next);
                        asked(next, begun);
                    }
                    self.connect(shut, |next, opened| {
                        let begun = match opened {
                            Ok(()) => self.begin(&next),
                            Err(fault) => Begun::Over(Err(fault)),
                        };
                        asked(next, begun);
                    });
                }
                Step::Wait(until) => {
                    // Whose answer is not read loses its connection.
                    let limit = (until != Timestamp::NEVER)
                        .then(|| Instant::now() + until.since(time::now()).max(within / 30));
                    let prompt =
                        pending.iter().position(|asked| !members.was_slow(asked.next.node));
                    if pending.is_empty() {
                        let text = "a round waits for nobody";
                        break Err(Fault::ambiguous(FaultKind::Protocol, text));
                    }
                    let (id, reply) = pending.remove(prompt.unwrap_or(0)).answer(limit, members);
                    round.handle(Event::Reply(id, reply), time::now());
                }
            }
        };
        // It is decided. Who answers soon keeps its connection.
        let limit = Instant::now() + within / 30;
        for asked in pending {
            _ = asked.answer(Some(limit), members);
        }
        if let Some(unheard) = unheard {
            *lock(unheard) = round.unheard();
        }
        output
    }

    /// A release of several servers is left to the keeper.
    fn call_if_free(&self, _op: &Op, _within: Duration) -> Option<Result<Verdict, Fault>> {
        None
    }

    fn ready(&self) -> Result<(), Fault> {
        let ready = |node: usize, Member { node: server, place }: &Member| {
            let line = &*server.commands;
            let ready = line.ready().and_then(|()| self.members.enter(node, line));
            ready.map_err(|fault| fault.at(place))
        };
        let ready = &ready;
        let faults: Vec<Fault> = thread::scope(|scope| {
            let asked: Vec<_> = (self.members.all.iter().enumerate())
                .map(|(node, member)| scope.spawn(move || ready(node, member)))
                .collect();
            asked.into_iter().filter_map(|asked| asked.join().ok()?.err()).collect()
        });
        // What is said wrongly does not get right by itself; who is away may come back.
        match faults.iter().find(|fault| fault.kind() == FaultKind::Config) {
            Some(wrong) => Err(wrong.clone()),
            None => self.members.quorum.bears(&faults),
        }
    }

    fn examine(&self, within: Duration, confirm: Option<Confirm>) -> Result<Report, Fault> {
        let examined = |member: &Member| member.node.commands.examine(within, confirm);
        let told: Vec<_> = thread::scope(|scope| {
            let asked: Vec<_> = (self.members.all.iter())
                .map(|member| scope.spawn(move || examined(member)))
                .collect();
            let broken = || Fault::new(FaultKind::Protocol, "it was not examined");
            asked.into_iter().map(|asked| asked.join().unwrap_or_else(|_| Err(broken()))).collect()
        });
        let places: Vec<&str> = self.members.all.iter().map(|it| it.place.as_str()).collect();
        let (quorum, place) = (self.members.quorum, places.join(", "));
        let place = format!("{} of {place}", quorum.needed());
        Ok(Report::of_quorum(place, quorum, places.into_iter().zip(told)))
    }

    fn for_one_caller(&self) -> Option<SharedLine> {
        let unheard = Some(Mutex::new(Unheard::none(self.members.quorum)));
        Some(Arc::new(Self { members: Arc::clone(&self.members), keeper: self.keeper, unheard }))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
