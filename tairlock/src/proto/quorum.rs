//! A quorum: one operation is asked of several independent servers at once, and counts if enough agree.
//!
//! The algorithm is Redlock (<https://redis.io/docs/latest/develop/use/patterns/distributed-locks/>), with
//! what that page leaves open settled: what was granted in part is taken back down the connections that
//! carried it, and where that is not answered the lock is asked for with a new token, as a late release would
//! delete the old one; a renewal needs as many servers as a grant, and a server that has forgotten is joined
//! again only while no more have than may be away.

mod acquire;
mod release;
mod renew;
#[cfg(test)]
mod tests;

use std::time::Duration;

use acquire::Acquire;
use release::Release;
use renew::Renew;

use super::{Event, Machine, Op, SendId, Step, Verdict};
use crate::{ConfigError, Fault, FaultKind, Token, time::Timestamp};

/// How long who has won waits at least for those who are as quick as the others.
const AT_ONCE: Duration = Duration::from_millis(2);

/// How many servers there are, and how many of them must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorum {
    nodes: usize,
    needed: usize,
}

impl Quorum {
    /// `needed` of `nodes`; more than half of them if that is not said.
    ///
    /// # Errors
    /// [`ConfigError::Quorum`] where two holders could each have enough, or nobody ever.
    pub fn new(nodes: usize, needed: Option<usize>) -> Result<Self, ConfigError> {
        let needed = needed.unwrap_or(nodes / 2 + 1);
        if nodes == 0 || needed <= nodes / 2 || needed > nodes {
            return Err(ConfigError::Quorum { needed, nodes });
        }
        Ok(Self { nodes, needed })
    }

    /// How many servers there are.
    #[must_use]
    pub const fn nodes(self) -> usize {
        self.nodes
    }

    /// How many must agree.
    #[must_use]
    pub const fn needed(self) -> usize {
        self.needed
    }

    /// How many may fail.
    const fn spare(self) -> usize {
        self.nodes - self.needed
    }

    /// Whether enough servers are left where `faults` came from some of them.
    ///
    /// # Errors
    /// What the faults come to, if not.
    pub fn bears(self, faults: &[Fault]) -> Result<(), Fault> {
        if faults.len() <= self.spare() {
            return Ok(());
        }
        Err(no_quorum(self, faults.iter(), false))
    }

    /// How long one server has, of the time that an operation has: a round that is to be taken back takes
    /// twice as long.
    fn patience(within: Duration) -> Duration {
        within / 3
    }
}

/// Which server answers at each place, so that none is counted twice: two names may lead to one.
#[derive(Debug)]
pub struct Roll(Vec<Option<Box<str>>>);

impl Roll {
    /// Nobody is known.
    #[must_use]
    pub fn new(quorum: Quorum) -> Self {
        Self(vec![None; quorum.nodes])
    }

    /// At place `node` the server called `id` answers; one that restarts has a new name.
    ///
    /// # Errors
    /// The place where the same server has answered.
    pub fn enter(&mut self, node: usize, id: Option<&str>) -> Result<(), usize> {
        if let Some(id) = id
            && let Some(other) = self.0.iter().position(|known| known.as_deref() == Some(id))
            && other != node
        {
            return Err(other);
        }
        self.0[node] = id.map(Into::into);
        Ok(())
    }
}

/// What a caller's rounds so far leave behind: whose token stands on which server if a release that it has
/// not answered did not reach it. Before that is answered it is asked for nothing else.
#[derive(Clone, Debug)]
pub struct Unheard(Vec<Option<Token>>);

impl Unheard {
    /// All have answered.
    #[must_use]
    pub fn none(quorum: Quorum) -> Self {
        Self(vec![None; quorum.nodes])
    }
}

/// The machine that asks one operation of all servers.
#[derive(Debug)]
pub struct Round {
    within: Duration,
    task: Task,
    unheard: Unheard,
    to_send: Vec<(usize, Op)>,
    flights: Vec<Flight>,
    /// Who has been asked twice, as the connection broke.
    again: Vec<bool>,
    next_id: u64,
    /// When those must have answered who are being asked.
    until: Timestamp,
    /// It is decided; who has not answered by then is not waited for.
    linger: Option<Timestamp>,
}

/// What was sent and is not answered.
#[derive(Debug)]
struct Flight {
    id: SendId,
    node: usize,
    op: Op,
}

#[derive(Debug)]
enum Task {
    Acquire(Acquire),
    Renew(Renew),
    Release(Release),
    Refused(Fault),
}

/// What a task wants after it has heard something.
enum Next {
    /// To hear more.
    Listen,
    /// To say something more to some servers.
    Say(Vec<(usize, Op)>),
    /// It is decided; the rest is waited for a little, as it will come soon, or not.
    Linger,
    /// It is won; the rest is waited for as long again, so that a release finds it in its place.
    Won,
    /// Over.
    Done,
}

impl Round {
    /// Asks `op` of the servers; the whole takes at most `within`.
    #[must_use]
    pub fn new(op: &Op, quorum: Quorum, within: Duration, unheard: Unheard) -> Self {
        let task = match op {
            Op::Acquire { key, token, ttl } => {
                let owing = unheard.0.iter().map(Option::is_some);
                Task::Acquire(Acquire::new(quorum, key.clone(), token.clone(), *ttl, owing))
            }
            Op::RenewMany(renewals) => Task::Renew(Renew::new(quorum, renewals.clone())),
            Op::Release { .. } | Op::Retain(_) => Task::Release(Release::new(quorum)),
            other => Task::Refused(refused(other)),
        };
        let to_send = match &task {
            Task::Refused(_) => Vec::new(),
            // The last first: they are taken from the end.
            task => (0..quorum.nodes)
                .rev()
                .map(|node| match (task, &unheard.0[node]) {
                    (Task::Acquire(acquire), Some(token)) => (node, acquire.release(token)),
                    _ => (node, op.clone()),
                })
                .collect(),
        };
        let (within, flights) = (Quorum::patience(within), Vec::with_capacity(quorum.nodes));
        let (again, until) = (vec![false; quorum.nodes], Timestamp::NEVER);
        Self { within, task, unheard, to_send, flights, again, next_id: 0, until, linger: None }
    }

    /// What to begin the caller's next round with.
    #[must_use]
    pub fn unheard(&self) -> Unheard {
        self.unheard.clone()
    }

    fn output(&mut self) -> Result<Verdict, Fault> {
        match &mut self.task {
            Task::Acquire(acquire) => acquire.verdict(),
            Task::Renew(renew) => renew.verdict(),
            Task::Release(release) => release.verdict(),
            Task::Refused(fault) => Err(fault.clone()),
        }
    }

    fn act(&mut self, next: Next, now: Timestamp) {
        match next {
            Next::Listen => {}
            Next::Say(sends) => {
                self.until = now + self.within;
                self.to_send.extend(sends.into_iter().rev());
            }
            Next::Linger => _ = self.linger.get_or_insert(now + self.within / 10),
            Next::Won => {
                let took = self.within.saturating_sub(self.until.since(now));
                _ = self.linger.get_or_insert(now + took.max(AT_ONCE).min(self.within / 10));
            }
            Next::Done => self.linger = Some(Timestamp::default()),
        }
    }
}

impl Machine for Round {
    type Output = Result<Verdict, Fault>;
    /// Which server.
    type Route = usize;

    fn poll(&mut self, now: Timestamp) -> Step<Self::Output, usize> {
        if self.until == Timestamp::NEVER {
            self.until = now + self.within;
        }
        if let Some((node, op)) = self.to_send.pop() {
            if let (Task::Acquire(_), Op::Release { token, .. }) = (&self.task, &op) {
                self.unheard.0[node] = Some(token.clone());
            }
            self.next_id += 1;
            let id = SendId(self.next_id);
            self.flights.push(Flight { id, node, op: op.clone() });
            return Step::Send { id, route: node, op, within: self.until.since(now) };
        }
        // Every answer has its own deadline.
        let until = self.linger.unwrap_or(Timestamp::NEVER);
        if now < until && !self.flights.is_empty() {
            return Step::Wait(until);
        }
        if let Task::Acquire(acquire) = &mut self.task
            && acquire.is_to_be_undone()
        {
            let next = acquire.undo();
            self.linger = None;
            self.act(next, now);
            return self.poll(now);
        }
        Step::Done(self.output())
    }

    fn handle(&mut self, event: Event, now: Timestamp) {
        let Event::Reply(id, reply) = event else { return };
        let Some(at) = self.flights.iter().position(|flight| flight.id == id) else { return };
        let Flight { node, op, .. } = self.flights.swap_remove(at);
        let broke = |fault: &Fault| fault.kind() == FaultKind::Unreachable && fault.is_ambiguous();
        // A token that is taken back is acquired with again, if that is answered: then no release of it may
        // be late on another connection.
        let once = matches!(&self.task, Task::Acquire(acquire) if acquire.takes_back(&op));
        if reply.as_ref().is_err_and(broke)
            && !once
            && now < self.until
            && !std::mem::replace(&mut self.again[node], true)
        {
            // A connection that died idle is no outage.
            return self.to_send.push((node, op));
        }
        let next = match (&mut self.task, &op) {
            (Task::Acquire(acquire), Op::Release { .. }) => {
                if reply.is_ok() {
                    self.unheard.0[node] = None;
                }
                if once {
                    acquire.undone(node, &reply)
                } else {
                    let time = self.linger.is_none() && now < self.until;
                    if let Some(op) = acquire.settled(node, reply.is_ok(), time) {
                        return self.to_send.push((node, op));
                    }
                    acquire.next()
                }
            }
            (Task::Acquire(acquire), _) => acquire.heard(node, reply),
            (Task::Renew(renew), _) => renew.heard(node, &op, reply, now),
            (Task::Release(release), _) => release.heard(node, reply),
            (Task::Refused(_), _) => Next::Done,
        };
        self.act(next, now);
    }
}

fn refused(op: &Op) -> Fault {
    let text = match op {
        Op::AcquireFenced { .. } => {
            "a quorum issues no fences: its servers know nothing of each other, so no number of theirs \
             is sure to be above the last; use one server, or a lock without a fence"
        }
        Op::Value(_) | Op::Fenced(..) => {
            "values cannot be kept on a quorum: its servers know nothing of each other, and each would \
             have a value of its own; use a client of one server"
        }
        Op::Inspect(_) | Op::ForceRelease(_) => {
            "a quorum has no one server to look at; ask each of its servers, by a client of its own"
        }
        Op::Confirmed(_) => {
            "a quorum is not confirmed by replicas: that enough of its servers have the lock is the \
             confirmation; ask for it without `confirm`"
        }
        _ => "a quorum has no such operation",
    };
    Fault::new(FaultKind::Unsupported, text)
}

/// Why too few agreed: what the servers said that did not, or the reason that will not pass.
fn no_quorum<'a>(quorum: Quorum, faults: impl Iterator<Item = &'a Fault>, sent: bool) -> Fault {
    let faults: Vec<&Fault> = faults.collect();
    let lasting = faults.iter().filter(|fault| !fault.is_transient());
    let said: Vec<String> = faults.iter().map(|fault| fault.to_string()).collect();
    let Quorum { nodes, needed } = quorum;
    let text = format!(
        "{} of {nodes} servers failed, and {needed} must agree: {}",
        faults.len(),
        said.join("; ")
    );
    // Once so many say what time does not cure, waiting for the others is in vain.
    let kind = match lasting.clone().count() > quorum.spare() {
        true => lasting.map(|fault| fault.kind()).next().unwrap_or(FaultKind::NoQuorum),
        false => FaultKind::NoQuorum,
    };
    if sent { Fault::ambiguous(kind, text) } else { Fault::new(kind, text) }
}
