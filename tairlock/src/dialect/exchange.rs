//! An [`Exchange`] carries one operation through as many rounds of commands as its ways need.

use super::{Ask, Batch, Heard, Question, Reply, Speech, Way, asking};
use crate::{
    Confirm, Fault, Token, Ttl,
    fault::FaultKind,
    proto::{Op, Renewal, Verdict},
    value::{Action, FencedAction, ValueOp},
};

/// Rounds after which an operation is given up: EVALSHA, EVAL and a fall-back fit in twice.
const MAX_ROUNDS: u8 = 8;

/// One operation on one connection: send [`Exchange::batch`], hand the replies to
/// [`Exchange::hear`], and again until it answers.
#[derive(Debug)]
pub struct Exchange<'a> {
    speech: &'a Speech,
    talks: Vec<Talk>,
    answer: Answer,
    rounds: u8,
    /// Whether each command is to be preceded by word that we were sent.
    asking: bool,
}

/// What becomes of the verdicts.
#[derive(Clone, Copy, Debug)]
enum Answer {
    One,
    Many,
    /// It was asked as a renewal is.
    Retain,
}

/// One key's part of it.
#[derive(Debug)]
struct Talk {
    ask: Ask,
    question: Question,
    /// Where `way` stands on its list; a follow-up keeps the place of what it follows.
    index: usize,
    way: &'static dyn Way,
    /// The first permission that was missing, if a later way must stand in for an earlier one.
    refused: Option<Fault>,
    result: Option<Result<Verdict, Fault>>,
}

impl<'a> Exchange<'a> {
    /// Begins to ask `op` in the ways of `speech`.
    #[must_use]
    pub fn new(op: &Op, speech: &'a Speech) -> Self {
        let talk = |question: Question, key: &crate::Key, token: &Token, ttl| {
            let (action, fenced) = (Action::Read, FencedAction::Get);
            let (key, token, confirm) = (key.clone(), token.clone(), Confirm::none());
            let ask = Ask { key, token, ttl, action, fenced, confirm };
            let index = speech.index(question);
            let way = question.ways()[index];
            Talk { ask, question, index, way, refused: None, result: None }
        };
        let nobody = Token::from_bytes("");
        let (talks, answer) = match op {
            Op::Acquire { key, token, ttl } => {
                (vec![talk(Question::Acquire, key, token, *ttl)], Answer::One)
            }
            Op::AcquireFenced { key, token, ttl } => {
                (vec![talk(Question::AcquireFenced, key, token, *ttl)], Answer::One)
            }
            Op::Release { key, token } => {
                (vec![talk(Question::Release, key, token, Ttl::DEFAULT)], Answer::One)
            }
            Op::RenewMany(renewals) => {
                let talks = renewals.iter().map(|r| talk(Question::Renew, &r.key, &r.token, r.ttl));
                (talks.collect(), Answer::Many)
            }
            Op::Retain(Renewal { key, token, ttl, .. }) => {
                (vec![talk(Question::Renew, key, token, *ttl)], Answer::Retain)
            }
            Op::Inspect(key) => {
                (vec![talk(Question::Inspect, key, &nobody, Ttl::DEFAULT)], Answer::One)
            }
            Op::ForceRelease(key) => {
                (vec![talk(Question::ForceRelease, key, &nobody, Ttl::DEFAULT)], Answer::One)
            }
            Op::Fenced(key, action) => {
                let mut talk = talk(Question::Fenced, key, &nobody, Ttl::DEFAULT);
                talk.ask.fenced = action.clone();
                (vec![talk], Answer::One)
            }
            Op::Remaining { key } => {
                (vec![talk(Question::Remaining, key, &nobody, Ttl::DEFAULT)], Answer::One)
            }
            Op::Value(ValueOp { key, action }) => {
                let mut talk = talk(Question::Value, key, &nobody, Ttl::DEFAULT);
                talk.ask.action = action.clone();
                (vec![talk], Answer::One)
            }
            Op::Copies { key, confirm } => {
                let mut talk = talk(Question::of_copies(*confirm), key, &nobody, Ttl::DEFAULT);
                talk.ask.confirm = *confirm;
                (vec![talk], Answer::One)
            }
            // Each of its steps is an exchange of its own: what is granted here would not be confirmed.
            Op::Confirmed(confirmed) => {
                let mut exchange = Self::new(&confirmed.op, speech);
                for talk in &mut exchange.talks {
                    let text = "nothing is confirmed on this connection";
                    talk.result = Some(Err(Fault::new(FaultKind::Unsupported, text)));
                }
                return exchange;
            }
        };
        Self { speech, talks, answer, rounds: 0, asking: false }
    }

    /// With word before each command that we were sent: a node of a cluster that is about to be given a
    /// slot serves nobody else.
    #[must_use]
    pub const fn asking(mut self, asking: bool) -> Self {
        self.asking = asking;
        self
    }

    /// What to send now: one command for each key that has no answer yet, and those behind it.
    #[must_use]
    pub fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        for talk in self.open() {
            batch.push(talk.way.say(&talk.ask));
            batch.extend(talk.way.say_behind(&talk.ask));
        }
        if self.asking {
            batch = batch.into_iter().flat_map(|command| [asking(), command]).collect();
        }
        batch
    }

    /// Takes one reply for each command of [`Exchange::batch`]. `Some` is the end.
    pub fn hear(&mut self, mut replies: Vec<Reply>) -> Option<Result<Verdict, Fault>> {
        self.rounds += 1;
        if self.asking {
            let mut of_command = false;
            replies.retain(|_| {
                of_command = !of_command;
                !of_command
            });
        }
        if replies.len() != self.open().map(Talk::size).sum::<usize>() {
            let text = "the server answered another number of commands than were sent";
            return Some(Err(Fault::ambiguous(FaultKind::Protocol, text)));
        }
        let last = self.rounds == MAX_ROUNDS;
        let mut replies = replies.into_iter();
        for talk in self.talks.iter_mut().filter(|talk| talk.result.is_none()) {
            let behind = talk.size() - 1;
            let Some(reply) = replies.next() else { break };
            talk.hear(reply, replies.by_ref().take(behind).collect(), self.speech);
            if last && talk.result.is_none() {
                let text = "the server never came to an answer";
                talk.result = Some(Err(Fault::ambiguous(FaultKind::Protocol, text)));
            }
        }
        if self.open().next().is_some() {
            return None;
        }
        let mut results = self.talks.drain(..).filter_map(|talk| talk.result);
        match self.answer {
            Answer::Many => Some(Ok(Verdict::Many(results.collect()))),
            Answer::One => results.next(),
            Answer::Retain => results.next().map(|result| match result {
                Ok(Verdict::Renewed) => Ok(Verdict::Retained),
                other => other,
            }),
        }
    }

    fn open(&self) -> impl Iterator<Item = &Talk> {
        self.talks.iter().filter(|talk| talk.result.is_none())
    }
}

impl Talk {
    /// How many commands it has in the batch.
    fn size(&self) -> usize {
        1 + self.way.say_behind(&self.ask).len()
    }

    fn hear(&mut self, reply: Reply, behind: Vec<Reply>, speech: &Speech) {
        match self.way.hear_all(&self.ask, reply, behind) {
            Heard::Verdict(verdict) => self.result = Some(Ok(verdict)),
            Heard::Then(way) => self.way = way,
            Heard::Unknown(fault) => {
                speech.demote(self.question, self.index);
                self.try_next(fault);
            }
            // A command that this user may not send says nothing about the server; another way may do.
            // Of values another way is another form, which would hide them from each other.
            Heard::Fault(fault)
                if fault.kind() == FaultKind::Permission && self.question != Question::Value =>
            {
                self.try_next(fault);
            }
            Heard::Fault(fault) => self.fail(fault),
        }
    }

    fn try_next(&mut self, fault: Fault) {
        if fault.kind() == FaultKind::Permission {
            self.refused.get_or_insert_with(|| fault.clone());
        }
        match self.question.ways().get(self.index + 1) {
            Some(way) => {
                self.index += 1;
                self.way = *way;
            }
            None => {
                let fault = self.refused.take().unwrap_or(fault);
                self.fail(fault);
            }
        }
    }

    fn fail(&mut self, fault: Fault) {
        let hint = match fault.kind() {
            FaultKind::WrongType if matches!(self.question, Question::Value | Question::Fenced) => {
                "use another key, or a prefix of your own, or remove what is there".to_owned()
            }
            FaultKind::Permission if self.question == Question::Value => {
                let commands = match self.index {
                    0 => "EXGET, EXCAS, EXSET, EXCAD, EVALSHA and EVAL",
                    _ => {
                        "EVALSHA, EVAL, HMGET, HSET, HGET, HINCRBY, DEL, EXISTS, TYPE, TIME, \
                          PEXPIRE and PERSIST"
                    }
                };
                let key = &self.ask.key;
                format!("grant the user {commands} and a key pattern (`~…`) that covers {key:?}")
            }
            FaultKind::Permission if self.question == Question::Fenced => {
                let key = &self.ask.key;
                format!(
                    "grant the user EVALSHA, EVAL, HMGET, HSET, EXISTS and TYPE and a key pattern \
                     (`~…`) that covers {key:?}"
                )
            }
            FaultKind::Permission if self.question == Question::AcquireFenced => {
                let (key, fence) = (&self.ask.key, crate::slot::fence_key(&self.ask.key));
                format!(
                    "a fence needs a script: grant the user EVALSHA, EVAL, GET, SET and TIME and key \
                     patterns (`~…`) that cover {key:?} and {fence:?}"
                )
            }
            FaultKind::Unsupported
                if matches!(self.question, Question::Replicas | Question::Files) =>
            {
                "ask for the lock without `confirm`".to_owned()
            }
            FaultKind::Unsupported if self.question == Question::AcquireFenced => {
                "a fence needs scripts; ask for the lock without one".to_owned()
            }
            FaultKind::Permission
                if matches!(self.question, Question::Replicas | Question::Files) =>
            {
                format!("grant the user {}, or ask for the lock without `confirm`", self.way.name())
            }
            FaultKind::Permission => {
                let ways: Vec<_> = self.question.ways().iter().map(|way| way.name()).collect();
                format!(
                    "grant the user one of {} and a key pattern (`~…`) that covers {:?}",
                    ways.join(", "),
                    self.ask.key
                )
            }
            FaultKind::WrongType => "something that is no lock stands under this key; \
                                     use another key, or a prefix of your own"
                .to_owned(),
            FaultKind::ReadOnly => "connect to the primary".to_owned(),
            FaultKind::OutOfMemory => "raise `maxmemory`, or free memory".to_owned(),
            _ => return self.result = Some(Err(fault)),
        };
        self.result = Some(Err(fault.hint(&hint)));
    }
}
