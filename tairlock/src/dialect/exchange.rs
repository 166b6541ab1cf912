//! An [`Exchange`] carries one operation through as many rounds of commands as its ways need.

use super::{Ask, Batch, Heard, Question, Reply, Speech, Way};
use crate::{
    Fault, Token, Ttl,
    fault::FaultKind,
    proto::{Op, Verdict},
    value::{Action, ValueOp},
};

/// Rounds after which an operation is given up: EVALSHA, EVAL and a fall-back fit in twice.
const MAX_ROUNDS: u8 = 8;

/// One operation on one connection: send [`Exchange::batch`], hand the replies to
/// [`Exchange::hear`], and again until it answers.
#[derive(Debug)]
pub struct Exchange<'a> {
    speech: &'a Speech,
    talks: Vec<Talk>,
    many: bool,
    rounds: u8,
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
            let ask = Ask { key: key.clone(), token: token.clone(), ttl, action: Action::Read };
            let index = speech.index(question);
            let way = question.ways()[index];
            Talk { ask, question, index, way, refused: None, result: None }
        };
        let (talks, many) = match op {
            Op::Acquire { key, token, ttl } => {
                (vec![talk(Question::Acquire, key, token, *ttl)], false)
            }
            Op::Release { key, token } => {
                (vec![talk(Question::Release, key, token, Ttl::DEFAULT)], false)
            }
            Op::RenewMany(renewals) => {
                let talks = renewals.iter().map(|r| talk(Question::Renew, &r.key, &r.token, r.ttl));
                (talks.collect(), true)
            }
            Op::Remaining { key } => {
                let nobody = Token::from_bytes("");
                (vec![talk(Question::Remaining, key, &nobody, Ttl::DEFAULT)], false)
            }
            Op::Value(ValueOp { key, action }) => {
                let nobody = Token::from_bytes("");
                let mut talk = talk(Question::Value, key, &nobody, Ttl::DEFAULT);
                talk.ask.action = action.clone();
                (vec![talk], false)
            }
        };
        Self { speech, talks, many, rounds: 0 }
    }

    /// What to send now: one command for each key that has no answer yet, and those behind it.
    #[must_use]
    pub fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        for talk in self.open() {
            batch.push(talk.way.say(&talk.ask));
            batch.extend(talk.way.say_behind(&talk.ask));
        }
        batch
    }

    /// Takes one reply for each command of [`Exchange::batch`]. `Some` is the end.
    pub fn hear(&mut self, replies: Vec<Reply>) -> Option<Result<Verdict, Fault>> {
        self.rounds += 1;
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
        if self.many { Some(Ok(Verdict::Many(results.collect()))) } else { results.next() }
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
            FaultKind::WrongType if self.question == Question::Value => {
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
