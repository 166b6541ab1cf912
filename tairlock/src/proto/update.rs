//! An update of a value: computed on what is known of it, swapped in, and computed again on what a
//! conflict's reply carried.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::{Errand, Event, Machine, Outcome, Pace, Step, backoff::SplitMix64};
use crate::{
    Error, Fault, Operation,
    report::{Changed, Changing},
    time::Timestamp,
    value::{
        Action, Change, Known, LAST_VERSION, Mark, Stored, ValueOp, ValueRequest,
        version_at_its_end,
    },
};

/// The machine that updates one value.
///
/// It is done whenever something is to be computed, and goes on when it is polled after
/// [`Update::computed`]. A computation on what is only remembered begins with the swap, which tells
/// whether that was still so; what comes of it other than a write is checked by a read first.
#[derive(Debug)]
pub struct Update {
    request: ValueRequest,
    within: Duration,
    began: Timestamp,
    deadline: Timestamp,
    random: SplitMix64,
    pace: Pace,
    attempts: u32,
    changing: Changing,
    known: Known,
    /// Whether what is known was seen since the update began.
    fresh: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Somebody in this process is in front.
    InLine,
    /// To be computed at this moment.
    Idle(Timestamp),
    /// Somebody computes.
    Computing,
    Reading(Errand),
    /// Is what was computed on still there?
    Checking(Errand),
    Writing(Errand),
    Over(Option<Updated>),
}

/// What an update comes to.
#[derive(Debug)]
pub enum Updated {
    /// Something is to be computed on this.
    Compute(Option<Stored>),
    /// What was computed stands there.
    Committed,
    /// What was computed changes nothing, and what it was computed on stands there.
    Unchanged,
    /// It met conflicts for all of its budget.
    Exhausted {
        /// How many times it tried.
        attempts: u32,
        /// For how long.
        elapsed: Duration,
    },
    /// A fault that waiting does not cure, or that lasted. Nothing was written.
    Failed(Operation, Fault),
    /// A reply was lost, and nothing tells any more whether the write was done.
    Unknown(Fault),
}

impl Updated {
    /// What is to be computed on, or else whether what was computed is committed, or what the caller
    /// is told.
    ///
    /// # Errors
    /// [`Error::Exhausted`], [`Error::MaybeCommitted`], [`Error::Backend`].
    pub fn progress(self, request: &ValueRequest) -> Result<Option<Option<Stored>>, Error> {
        let key = request.key.clone();
        match self {
            Self::Compute(stored) => Ok(Some(stored)),
            Self::Committed | Self::Unchanged => Ok(None),
            Self::Exhausted { attempts, elapsed } => {
                Err(Error::Exhausted { key: Some(key), attempts, elapsed })
            }
            Self::Failed(operation, fault) => Err(super::errand::backend(key, operation, fault)),
            Self::Unknown(fault) => Err(Error::MaybeCommitted { key, fault }),
        }
    }
}

impl Update {
    /// Updates what `request` says, beginning with what is `known`; `within` is how long a reply may
    /// take.
    #[must_use]
    pub fn new(
        request: &ValueRequest,
        known: Known,
        within: Duration,
        seed: u64,
        now: Timestamp,
    ) -> Self {
        let mut random = SplitMix64(seed).fork();
        let pace = Pace::new(request.pacing, random.next());
        Self {
            request: request.clone(),
            within,
            began: now,
            deadline: now + request.within,
            random,
            pace,
            attempts: 0,
            changing: Changing::begin(request.name),
            known,
            fresh: false,
            state: State::Idle(now),
        }
    }

    /// Somebody in this process is in front: nothing is done before [`Event::Rung`].
    pub fn stand_in_line(&mut self) {
        if let State::Idle(_) = self.state {
            self.state = State::InLine;
        }
    }

    /// Its turn has come: what is remembered may have changed while it stood in line.
    pub fn remember(&mut self, known: Known) {
        if let State::InLine = self.state {
            self.known = known;
        }
    }

    /// What is known of the value, for whoever comes next.
    #[must_use]
    pub const fn known(&self) -> &Known {
        &self.known
    }

    /// What came of the computation.
    pub fn computed(&mut self, change: Change, now: Timestamp) {
        let State::Computing = self.state else { return };
        let action = match (change, &self.known) {
            (Change::Write(value), known) => {
                let mark = Mark(self.random.next());
                let draft = self.request.draft(value, mark);
                match known {
                    Known::There(stored) if stored.version >= LAST_VERSION => {
                        return self.fail(Operation::Write, version_at_its_end());
                    }
                    Known::There(stored) => Action::Swap { expected: stored.version, draft },
                    Known::Absent | Known::Nothing => {
                        Action::Create { draft, first: self.request.first() }
                    }
                }
            }
            (Change::Remove, Known::There(stored)) => Action::Remove { expected: stored.version },
            (Change::Nothing | Change::Remove, _) if self.fresh => {
                return self.finish(Updated::Unchanged);
            }
            (Change::Nothing | Change::Remove, _) => {
                self.state = State::Checking(self.errand(Action::Read, now));
                return;
            }
        };
        self.attempts += 1;
        self.changing.attempt();
        self.state = State::Writing(self.errand(action, now));
    }

    fn errand(&mut self, action: Action, now: Timestamp) -> Errand {
        let op = ValueOp { key: self.request.key.clone(), action };
        Errand::new(op, self.within, self.deadline, self.random.next(), now)
    }

    fn finish(&mut self, updated: Updated) {
        match updated {
            Updated::Compute(_) => {}
            Updated::Committed => self.changing.over(Changed::Committed),
            Updated::Unchanged => self.changing.over(Changed::Unchanged),
            Updated::Exhausted { .. } => self.changing.over(Changed::Exhausted),
            Updated::Failed(..) => self.changing.over(Changed::Failed),
            Updated::Unknown(_) => self.changing.over(Changed::Unknown),
        }
        self.state = State::Over(Some(updated));
    }

    fn fail(&mut self, operation: Operation, fault: Fault) {
        self.finish(Updated::Failed(operation, fault));
    }

    fn exhausted(&mut self, now: Timestamp) {
        let (attempts, elapsed) = (self.attempts, now.since(self.began));
        self.finish(Updated::Exhausted { attempts, elapsed });
    }

    fn read(&mut self, outcome: Outcome, checking: bool, now: Timestamp) {
        let stored = match outcome {
            Outcome::Read(stored) => stored,
            Outcome::Failed(fault) | Outcome::Unknown(fault) => {
                return self.fail(Operation::Read, fault);
            }
            // A read has no other outcome.
            Outcome::Written(_) | Outcome::Removed | Outcome::Conflict(_) => None,
        };
        self.fresh = true;
        let as_was = match (&self.known, &stored) {
            (Known::There(known), Some(seen)) => {
                known.version == seen.version && known.value == seen.value
            }
            (Known::Absent, None) => true,
            _ => false,
        };
        self.known = stored.into();
        if checking && as_was {
            self.finish(Updated::Unchanged);
        } else {
            self.state = State::Idle(now);
        }
    }

    fn written(&mut self, outcome: Outcome, op: &ValueOp, now: Timestamp) {
        self.known = outcome.known(op);
        match outcome {
            Outcome::Written(_) | Outcome::Removed => self.finish(Updated::Committed),
            Outcome::Failed(fault) => self.fail(Operation::of(&op.action), fault),
            Outcome::Unknown(fault) => self.finish(Updated::Unknown(fault)),
            Outcome::Conflict(_) | Outcome::Read(_) => {
                self.changing.conflict();
                self.fresh = true;
                let again = now + self.pace.after_conflict();
                if self.attempts >= self.request.attempts || again >= self.deadline {
                    self.exhausted(now);
                } else {
                    self.state = State::Idle(again);
                }
            }
        }
    }

    /// Passes on what the errand under way wants, or takes what came of it.
    fn run_errand(&mut self, now: Timestamp) -> Step<Updated, ()> {
        let (State::Reading(errand) | State::Checking(errand) | State::Writing(errand)) =
            &mut self.state
        else {
            return Step::Wait(Timestamp::NEVER);
        };
        let outcome = match errand.poll(now) {
            Step::Done(outcome) => outcome,
            Step::Wait(until) => return Step::Wait(until),
            Step::Send { id, route, op, within } => return Step::Send { id, route, op, within },
        };
        match std::mem::replace(&mut self.state, State::Computing) {
            State::Reading(_) => self.read(outcome, false, now),
            State::Checking(_) => self.read(outcome, true, now),
            State::Writing(errand) => self.written(outcome, errand.op(), now),
            other => self.state = other,
        }
        self.poll(now)
    }
}

impl Machine for Update {
    type Output = Updated;
    type Route = ();

    fn poll(&mut self, now: Timestamp) -> Step<Updated, ()> {
        match &mut self.state {
            State::InLine if now < self.deadline => Step::Wait(self.deadline),
            State::InLine => {
                self.exhausted(now);
                self.poll(now)
            }
            State::Idle(at) if now < *at => Step::Wait(*at),
            State::Idle(_) => match &self.known {
                Known::Nothing => {
                    self.state = State::Reading(self.errand(Action::Read, now));
                    self.poll(now)
                }
                known => {
                    let stored = match known {
                        Known::There(stored) => Some(stored.clone()),
                        Known::Absent | Known::Nothing => None,
                    };
                    self.state = State::Computing;
                    Step::Done(Updated::Compute(stored))
                }
            },
            State::Computing => Step::Wait(Timestamp::NEVER),
            State::Reading(_) | State::Checking(_) | State::Writing(_) => self.run_errand(now),
            State::Over(updated) => match updated.take() {
                Some(updated) => Step::Done(updated),
                None => Step::Wait(Timestamp::NEVER),
            },
        }
    }

    fn handle(&mut self, event: Event, now: Timestamp) {
        match (&mut self.state, event) {
            (State::InLine, Event::Rung) => self.state = State::Idle(now),
            (State::Reading(errand) | State::Checking(errand) | State::Writing(errand), event) => {
                errand.handle(event, now);
            }
            _ => {}
        }
    }
}
