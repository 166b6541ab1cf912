//! Taking a lock: stand in line, ask, wait, ask again, and settle what a lost reply left open.

mod acquired;

use std::{sync::Arc, time::Duration};

pub use acquired::Acquired;

use super::{
    Crowd, Crowds, Event, Machine, Op, Route, SendId, Step, Verdict,
    crowd::First,
    response_deadline,
    waiting::{Waiting, Want},
};
use crate::{
    Confirm, Fault, Key, Token, Ttl, fault::FaultKind, options::Request, report::Queued,
    time::Timestamp,
};

/// The machine that takes one lock, with one token wherever one server decides.
#[derive(Debug)]
pub struct Acquire {
    key: Key,
    /// The one that it was given; the one in use is `token`.
    first: Token,
    token: Token,
    /// Those of which a release was not answered, which would delete what they are granted from then on.
    spent: Vec<Token>,
    ttl: Ttl,
    /// Whether to ask for a fence, and the one that was issued.
    fenced: bool,
    fence: Option<u64>,
    /// Which copies must have the grant.
    confirm: Option<Confirm>,
    within: Duration,
    began: Timestamp,
    /// `None` is one try.
    deadline: Option<Timestamp>,
    waiting: Waiting,
    queued: Queued,
    crowds: Arc<Crowds>,
    crowd: Crowd,
    next_id: u64,
    state: State,
    /// Whether the reply that won was not everybody's.
    late: bool,
    /// When the first command whose fate is unknown was sent. Its grant, if it was one, began then.
    unsure_since: Option<Timestamp>,
    /// What the last reply was, for the error at the deadline.
    last: Last,
    /// A fault without any wait in between is retried once: a connection that died idle is no outage.
    retried_at_once: bool,
}

#[derive(Debug)]
enum State {
    /// Nothing is decided yet.
    New,
    /// Somebody in this process is in front.
    InLine,
    /// To be asked at this moment.
    Idle(Timestamp),
    /// Somebody else holds it.
    Waiting,
    Asking {
        id: SendId,
        sent: Timestamp,
    },
    /// A grant came too late to be used and is to be given back.
    Late,
    Undoing {
        id: SendId,
    },
    Over(Option<Acquired>),
}

#[derive(Debug)]
enum Last {
    Nothing,
    Busy,
    Fault(Fault),
}

impl Acquire {
    /// Takes `request.key` with `token`; `limit` is the client's response deadline.
    #[must_use]
    pub fn new(
        request: &Request,
        token: Token,
        limit: Duration,
        seed: u64,
        now: Timestamp,
    ) -> Self {
        Self {
            key: request.key.clone(),
            first: token.clone(),
            token,
            spent: Vec::new(),
            ttl: request.ttl,
            fenced: request.fence,
            fence: None,
            confirm: request.confirm.map(|confirm| confirm.of(request.ttl)),
            within: response_deadline(limit, request.ttl),
            began: now,
            deadline: (!request.wait.is_zero()).then(|| now + request.wait),
            waiting: Waiting::new(seed),
            queued: Queued::not_yet(request),
            crowds: Arc::default(),
            crowd: Crowd::default(),
            next_id: 0,
            state: State::New,
            late: false,
            unsure_since: None,
            last: Last::Nothing,
            retried_at_once: false,
        }
    }

    /// With what the client remembers of others who want the same lock, so that it lets them go first
    /// after its own release.
    #[must_use]
    pub fn among(mut self, crowds: Arc<Crowds>) -> Self {
        self.crowds = crowds;
        self
    }

    /// Nobody in this process is in front any more.
    fn come(&mut self, now: Timestamp) {
        self.crowd = self.crowds.about(&self.key);
        let first = if self.deadline.is_some() {
            self.crowd.begin(self.waiting.random(), now)
        } else {
            First::Now
        };
        self.state = match first {
            First::Now => State::Idle(now),
            First::Pause(until) => State::Idle(until.min(self.deadline.unwrap_or(now))),
            First::GiveWay(until) => {
                self.waiting.give_way(until);
                State::Waiting
            }
        };
    }

    /// Somebody in this process is in front: nothing is asked before [`Event::Rung`].
    pub fn stand_in_line(&mut self) {
        if let State::New = self.state {
            self.state = State::InLine;
            self.queued.begin();
        }
    }

    /// Which tokens of ours may stand on a server although they hold nothing: if this machine is dropped
    /// now, or is over, they must be released.
    #[must_use]
    pub fn residue(&self) -> Vec<Token> {
        let unsure = match self.state {
            State::Asking { .. } | State::Late | State::Undoing { .. } => true,
            _ => self.unsure_since.is_some(),
        };
        self.spent.iter().chain(unsure.then_some(&self.token)).cloned().collect()
    }

    /// Some of several servers have not answered a release of our token.
    fn spend_token(&mut self) {
        self.spent.push(self.token.clone());
        self.token = self.first.nth(self.spent.len());
        self.unsure_since = None;
    }

    fn finish(&mut self, acquired: Acquired) {
        self.state = State::Over(Some(acquired));
    }

    fn out_of_time(&mut self, now: Timestamp) {
        let last = std::mem::replace(&mut self.last, Last::Nothing);
        self.finish(match (last, self.deadline) {
            // A fault is never reported as "busy".
            (Last::Fault(fault), _) => Acquired::Failed(fault),
            (_, Some(_)) => Acquired::TimedOut { waited: now.since(self.began) },
            (_, None) => Acquired::Busy,
        });
    }

    fn ask_again(&mut self, now: Timestamp, pause: Duration) {
        match self.deadline {
            Some(deadline) if now < deadline => {
                self.state = State::Idle((now + pause).min(deadline))
            }
            _ => self.out_of_time(now),
        }
    }

    fn busy(&mut self, sent: Timestamp, now: Timestamp) {
        self.last = Last::Busy;
        self.crowd.took(now.since(sent));
        self.waiting.begin(now, &mut self.crowd);
        match self.deadline {
            Some(deadline) if now < deadline => {
                self.state = State::Waiting;
                self.queued.begin();
            }
            _ => self.out_of_time(now),
        }
        self.crowds.learned(&self.key, self.crowd, now);
    }

    fn granted(&mut self, sent: Timestamp, now: Timestamp) {
        self.waiting.end(now, &mut self.crowd);
        self.crowds.learned(&self.key, self.crowd, now);
        let until = sent + self.ttl.certain();
        if now < until {
            // Whatever else of ours arrives later finds the token that is there by right.
            self.unsure_since = None;
            let (token, fence) = (self.token.clone(), self.fence);
            self.finish(Acquired::Granted { token, sent, until, fence, late: self.late });
        } else {
            let late =
                "the grant came after its lease had run out; the ttl is too short for this server";
            self.last = Last::Fault(Fault::ambiguous(FaultKind::NoReply, late));
            self.unsure_since.get_or_insert(sent);
            self.state = State::Late;
        }
    }

    fn failed(&mut self, fault: Fault, sent: Timestamp, now: Timestamp) {
        if fault.is_ambiguous() && fault.kind() == FaultKind::NoQuorum {
            self.spend_token();
        } else if fault.is_ambiguous() {
            self.unsure_since.get_or_insert(sent);
        }
        if !fault.is_transient() {
            return self.finish(Acquired::Failed(fault));
        }
        let lost_line = fault.is_of_the_line();
        self.last = Last::Fault(fault);
        if lost_line && !self.retried_at_once {
            self.retried_at_once = true;
            self.state = State::Idle(now);
        } else {
            let pause = self.waiting.pause();
            self.ask_again(now, pause);
        }
    }

    fn id(&mut self) -> SendId {
        self.next_id += 1;
        SendId(self.next_id)
    }
}

impl Machine for Acquire {
    type Output = Acquired;
    type Route = Route;

    fn poll(&mut self, now: Timestamp) -> Step<Acquired, Route> {
        match &mut self.state {
            State::New => {
                self.come(now);
                self.poll(now)
            }
            State::InLine => match self.deadline {
                Some(deadline) if now < deadline => Step::Wait(deadline),
                _ => {
                    self.last = Last::Busy;
                    self.out_of_time(now);
                    self.poll(now)
                }
            },
            State::Waiting => {
                let deadline = self.deadline.unwrap_or(now);
                match self.waiting.poll(now) {
                    Want::Wait(until) if now < deadline => Step::Wait(until.min(deadline)),
                    Want::Inquire if now < deadline => {
                        let id = self.id();
                        self.waiting.inquiring(id);
                        let op = Op::Remaining { key: self.key.clone() };
                        Step::Send { id, route: Route::Listener, op, within: self.within }
                    }
                    _ => {
                        self.state = State::Idle(now);
                        self.poll(now)
                    }
                }
            }
            State::Idle(at) if now < *at => Step::Wait(*at),
            // The deadline was the moment waited for: one last look, as somebody may just have left.
            State::Idle(_) => {
                let id = self.id();
                self.state = State::Asking { id, sent: now };
                let (key, token, ttl) = (self.key.clone(), self.token.clone(), self.ttl);
                let op = if self.fenced {
                    Op::AcquireFenced { key, token, ttl }
                } else {
                    Op::Acquire { key, token, ttl }
                };
                let op = op.confirmed(self.confirm, self.within);
                let within = op.within(self.within);
                Step::Send { id, route: Route::Commands, op, within }
            }
            State::Late => {
                let id = self.id();
                self.state = State::Undoing { id };
                let op = Op::Release { key: self.key.clone(), token: self.token.clone() };
                Step::Send { id, route: Route::Commands, op, within: self.within }
            }
            State::Asking { .. } | State::Undoing { .. } => Step::Wait(Timestamp::NEVER),
            State::Over(output) => match output.take() {
                Some(output) => Step::Done(output),
                None => Step::Wait(Timestamp::NEVER),
            },
        }
    }

    fn handle(&mut self, event: Event, now: Timestamp) {
        match (event, &self.state) {
            (Event::Rung | Event::Changed, State::InLine) => self.come(now),
            (Event::Changed, State::Waiting) => self.waiting.changed(now, &mut self.crowd),
            (Event::Reply(id, reply), State::Waiting) => {
                self.waiting.heard(id, reply, now, &mut self.crowd);
            }
            (Event::Reply(id, reply), State::Asking { id: asked, sent }) if id == *asked => {
                let sent = *sent;
                if let Ok(Verdict::Issued { fence, .. }) = &reply {
                    self.fence = Some(*fence);
                }
                let (reply, open) = match reply {
                    Ok(Verdict::Open(verdict)) => (Ok(*verdict), true),
                    reply => (reply, false),
                };
                self.late = open;
                match reply {
                    Ok(Verdict::Granted | Verdict::Issued { again: false, .. }) => {
                        self.granted(sent, now);
                    }
                    // The command that won is one whose reply was lost; it may be the first of them.
                    // If all were answered, something on the way has repeated one.
                    Ok(Verdict::Ours | Verdict::Issued { again: true, .. }) => {
                        self.granted(self.unsure_since.unwrap_or(self.began), now);
                    }
                    Ok(Verdict::Busy) => {
                        if open {
                            self.spend_token();
                        }
                        self.busy(sent, now);
                    }
                    Ok(Verdict::Unconfirmed { acked, wanted, stays }) => {
                        if stays {
                            self.unsure_since.get_or_insert(sent);
                        }
                        self.finish(Acquired::NotReplicated { acked, wanted });
                    }
                    Ok(other) => {
                        let text = format!("an acquire was answered with {other:?}");
                        self.failed(Fault::ambiguous(FaultKind::Protocol, text), sent, now);
                    }
                    Err(fault) => self.failed(fault, sent, now),
                }
            }
            (Event::Reply(id, reply), State::Undoing { id: asked }) if id == *asked => {
                if matches!(reply, Ok(Verdict::Released | Verdict::Gone | Verdict::Taken)) {
                    // Still unsure: an acquire of before may be under way on another connection.
                    let pause = self.waiting.pause();
                    self.ask_again(now, pause);
                } else {
                    // The release may be under way, and would delete what is granted from here on.
                    self.out_of_time(now);
                }
            }
            _ => {}
        }
    }
}
