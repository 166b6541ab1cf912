//! One question about one value, seen through faults: asked again where that is safe, and settled
//! where a lost reply left open what a write did.

use std::{sync::Arc, time::Duration};

use super::{Backoff, Event, Machine, Op, SendId, Step, Verdict, backoff::SplitMix64};
use crate::{
    Error, Fault, Key, Operation,
    fault::FaultKind,
    time::Timestamp,
    value::{Action, Known, LAST_VERSION, Mark, Stored, ValueOp, ValueRequest, version_at_its_end},
};

/// The machine that asks one question about a value and sees to it that it is answered.
///
/// A write whose reply was lost is sent once more as it was: no version can be swapped twice, so that
/// either it is done now, or the refusal shows what stands there, by whose mark.
#[derive(Debug)]
pub struct Errand {
    op: ValueOp,
    within: Duration,
    deadline: Timestamp,
    backoff: Backoff,
    next_id: u64,
    state: State,
    /// The fault since which it may have been executed.
    unsure: Option<Fault>,
    /// A fault without any wait in between is retried once: a connection that died idle is no outage.
    retried_at_once: bool,
}

/// What a caller wants of a value, in one go.
#[derive(Clone, Debug)]
pub enum Deed {
    /// What is there?
    Read,
    /// These bytes, if its version is still this one.
    Swap(Arc<[u8]>, u64),
    /// These bytes, if nothing is there.
    Create(Arc<[u8]>),
    /// These bytes, whatever is there.
    Overwrite(Arc<[u8]>),
    /// Nothing, if its version is still this one.
    Remove(u64),
}

#[derive(Debug)]
enum State {
    Idle(Timestamp),
    Asking(SendId),
    Over(Option<Outcome>),
}

/// What came of a question about a value.
#[derive(Debug)]
pub enum Outcome {
    /// A read: this is there.
    Read(Option<Stored>),
    /// A write: it is done, with this version.
    Written(u64),
    /// A removal: it is done.
    Removed,
    /// A write or removal: this stands there instead of what was expected, and is left as it is.
    Conflict(Option<Stored>),
    /// A fault that waiting does not cure, or that lasted. Nothing was done.
    Failed(Fault),
    /// A reply was lost, and nothing tells any more what was done.
    Unknown(Fault),
}

impl Errand {
    /// Asks `op`, each time for at most `within`, and again after faults that time may cure until
    /// `deadline`.
    #[must_use]
    pub fn new(
        op: ValueOp,
        within: Duration,
        deadline: Timestamp,
        seed: u64,
        now: Timestamp,
    ) -> Self {
        let state = match op.action {
            // Nothing can follow the last version, and no value has one beyond.
            Action::Swap { expected: LAST_VERSION.., .. } => {
                State::Over(Some(Outcome::Failed(version_at_its_end())))
            }
            _ => State::Idle(now),
        };
        let backoff = Backoff::polling(seed);
        Self {
            op,
            within,
            deadline,
            backoff,
            next_id: 0,
            state,
            unsure: None,
            retried_at_once: false,
        }
    }

    /// Asks what `deed` says about the value of `request`.
    #[must_use]
    pub fn of(
        request: &ValueRequest,
        deed: Deed,
        within: Duration,
        seed: u64,
        now: Timestamp,
    ) -> Self {
        let mut random = SplitMix64(seed).fork();
        let mut draft = |value| request.draft(value, Mark(random.next()));
        let action = match deed {
            Deed::Read => Action::Read,
            Deed::Swap(value, expected) => Action::Swap { expected, draft: draft(value) },
            Deed::Create(value) => Action::Create { draft: draft(value), first: request.first() },
            Deed::Overwrite(value) => {
                Action::Overwrite { draft: draft(value), first: request.first() }
            }
            Deed::Remove(expected) => Action::Remove { expected },
        };
        let op = ValueOp { key: request.key.clone(), action };
        Self::new(op, within, now + request.within, random.next(), now)
    }

    /// What is asked.
    #[must_use]
    pub const fn op(&self) -> &ValueOp {
        &self.op
    }

    fn finish(&mut self, outcome: Outcome) {
        self.state = State::Over(Some(outcome));
    }

    fn answered(&mut self, verdict: Verdict) {
        let Some(fault) = self.unsure.take() else {
            let outcome = self.plainly(verdict);
            return self.finish(outcome);
        };
        let outcome = match verdict {
            // This time it was done, so that it was not before.
            Verdict::Written(_) | Verdict::Removed => self.plainly(verdict),
            Verdict::Stored(stored) => match fate(&self.op.action, &stored) {
                Fate::Done => Outcome::Written(match self.op.action.expected() {
                    Some(expected) => expected + 1,
                    None => stored.version,
                }),
                Fate::NotDone => Outcome::Conflict(Some(stored)),
                Fate::Unknown => Outcome::Unknown(fault),
            },
            _ => Outcome::Unknown(fault),
        };
        self.finish(outcome);
    }

    fn plainly(&self, verdict: Verdict) -> Outcome {
        match (verdict, &self.op.action) {
            (Verdict::Stored(stored), Action::Read) => Outcome::Read(Some(stored)),
            (Verdict::Gone, Action::Read) => Outcome::Read(None),
            (Verdict::Stored(stored), _) => Outcome::Conflict(Some(stored)),
            (Verdict::Gone, _) => Outcome::Conflict(None),
            (Verdict::Written(version), _) => Outcome::Written(version),
            (Verdict::Removed, _) => Outcome::Removed,
            (other, action) => {
                let text = format!("{action:?} was answered with {other:?}");
                let fault = Fault::ambiguous(FaultKind::Protocol, text);
                if *action == Action::Read {
                    Outcome::Failed(fault)
                } else {
                    Outcome::Unknown(fault)
                }
            }
        }
    }

    fn failed(&mut self, fault: Fault, now: Timestamp) {
        if fault.is_ambiguous() && self.op.action != Action::Read {
            self.unsure.get_or_insert_with(|| fault.clone());
        }
        let lost_line = fault.is_of_the_line();
        if fault.is_transient() && lost_line && !self.retried_at_once && now < self.deadline {
            self.retried_at_once = true;
            self.state = State::Idle(now);
            return;
        }
        let again = now + self.backoff.next().unwrap_or_default();
        if fault.is_transient() && again < self.deadline {
            self.state = State::Idle(again);
            return;
        }
        let outcome = match self.unsure.take() {
            Some(first) => Outcome::Unknown(first),
            None => Outcome::Failed(fault),
        };
        self.finish(outcome);
    }

    /// What to send: an overwrite that may have been executed is looked for rather than repeated, as
    /// repeating it would undo what others have made of it.
    fn now_to_ask(&self) -> Op {
        let repeat = self.unsure.is_none() || !matches!(self.op.action, Action::Overwrite { .. });
        let action = if repeat { self.op.action.clone() } else { Action::Read };
        Op::Value(ValueOp { key: self.op.key.clone(), action })
    }
}

impl Machine for Errand {
    type Output = Outcome;
    type Route = ();

    fn poll(&mut self, now: Timestamp) -> Step<Outcome, ()> {
        match &mut self.state {
            State::Idle(at) if now < *at => Step::Wait(*at),
            State::Idle(_) => {
                self.next_id += 1;
                let id = SendId(self.next_id);
                self.state = State::Asking(id);
                Step::Send { id, route: (), op: self.now_to_ask(), within: self.within }
            }
            State::Asking(_) => Step::Wait(Timestamp::NEVER),
            State::Over(outcome) => match outcome.take() {
                Some(outcome) => Step::Done(outcome),
                None => Step::Wait(Timestamp::NEVER),
            },
        }
    }

    fn handle(&mut self, event: Event, now: Timestamp) {
        match (event, &self.state) {
            (Event::Reply(id, reply), State::Asking(asked)) if id == *asked => match reply {
                Ok(verdict) => self.answered(verdict),
                Err(fault) => self.failed(fault, now),
            },
            _ => {}
        }
    }
}

/// What became of a write whose reply was lost.
enum Fate {
    Done,
    NotDone,
    Unknown,
}

/// What `stored`, found afterwards, tells of the write `action`.
fn fate(action: &Action, stored: &Stored) -> Fate {
    if let (Some(ours), Some(theirs)) = (action.mark(), stored.mark)
        && ours == theirs
    {
        return Fate::Done;
    }
    match action {
        // Whoever wrote the version that ours would have is somebody else: another mark, or another
        // value. Where there are no marks, the same value may be either's.
        Action::Swap { expected, draft } if stored.version == expected + 1 => {
            let another = stored.mark.is_some() || stored.value != draft.value;
            if another { Fate::NotDone } else { Fate::Unknown }
        }
        Action::Remove { expected } if stored.version == expected + 1 => Fate::NotDone,
        // What was to stand there does, whoever wrote it.
        Action::Overwrite { draft, .. } if stored.mark.is_none() && stored.value == draft.value => {
            Fate::Done
        }
        _ => Fate::Unknown,
    }
}

impl Outcome {
    /// What is known of the value afterwards; `op` is what was asked.
    #[must_use]
    pub fn known(&self, op: &ValueOp) -> Known {
        match (self, &op.action) {
            (Self::Read(stored) | Self::Conflict(stored), _) => stored.clone().into(),
            (
                Self::Written(version),
                Action::Swap { draft, .. }
                | Action::Create { draft, .. }
                | Action::Overwrite { draft, .. },
            ) => {
                let (value, mark) = (draft.value.clone(), Some(draft.mark));
                Known::There(Stored { value, version: *version, mark })
            }
            (Self::Removed, _) => Known::Absent,
            _ => Known::Nothing,
        }
    }

    /// The version that was written, or what the caller is told.
    ///
    /// # Errors
    /// [`Error::Conflict`], [`Error::MaybeCommitted`], [`Error::Backend`].
    pub fn written(self, op: &ValueOp) -> Result<u64, Error> {
        let key = op.key.clone();
        match self {
            Self::Written(version) => Ok(version),
            Self::Removed => Ok(op.action.expected().unwrap_or_default()),
            Self::Conflict(found) | Self::Read(found) => {
                let (expected, found) = (op.action.expected(), found.map(|stored| stored.version));
                Err(Error::Conflict { key, expected, found })
            }
            Self::Failed(fault) => Err(backend(key, Operation::of(&op.action), fault)),
            Self::Unknown(fault) => Err(Error::MaybeCommitted { key, fault }),
        }
    }

    /// What was read, or what the caller is told.
    ///
    /// # Errors
    /// [`Error::Backend`].
    pub fn read(self, op: &ValueOp) -> Result<Option<Stored>, Error> {
        match self {
            Self::Read(stored) => Ok(stored),
            other => other.written(op).map(|_| None),
        }
    }
}

pub(super) fn backend(key: Key, operation: Operation, fault: Fault) -> Error {
    Error::Backend { key: Some(key), operation, fault }
}
