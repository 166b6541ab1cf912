//! One call that asks for a lock, from the question to the answer.

use std::time::Duration;

use super::{
    counted::{Level, Name},
    told::{Shown, Trace},
    watch::Stopwatch,
    words,
};
use crate::{Error, Label, options::Request};

/// Whoever waits for longer than this, and for more than half of what they were ready to wait, is told of.
const SLOW: Duration = Duration::from_secs(1);

/// A call that asks for a lock. Dropped without an answer, it was cancelled.
#[derive(Debug)]
pub struct Asking {
    name: Name,
    key: Shown,
    slow: Duration,
    trace: Trace,
    watch: Stopwatch,
    over: bool,
}

impl Asking {
    /// Somebody asks for a lock under `label`.
    #[must_use]
    pub fn begin(request: &Request, label: &Label) -> Self {
        let name = Name::of_lock(request.name);
        Self {
            name,
            key: Shown::of(&request.key),
            slow: SLOW.max(request.wait / 2),
            trace: Trace::wait(name.text(), &request.key, label.text()),
            watch: Stopwatch::start(),
            over: false,
        }
    }

    /// What came of it; `shared` says whether what was had is a share in what a call around this one holds.
    pub fn over<T>(mut self, answer: &Result<T, Error>, shared: impl FnOnce(&T) -> bool) {
        match answer {
            Ok(guard) if shared(guard) => self.end(words::SHARED, words::NO_FAULT),
            Ok(_) => self.end(words::GRANTED, words::NO_FAULT),
            Err(error) => self.end(words::refusal(error), words::fault(error)),
        }
    }

    fn end(&mut self, outcome: &'static str, fault: &'static str) {
        self.over = true;
        let waited = self.watch.elapsed();
        self.name.answered(outcome, fault, waited);
        if waited >= self.slow {
            self.trace.slow_wait(self.name.text(), &self.key, waited, outcome);
        }
        self.trace.outcome(outcome);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.over {
            self.end(words::CANCELLED, words::NO_FAULT);
        }
    }
}

/// The wait of a call that did not get the lock at once, until this is dropped.
#[derive(Debug)]
pub(crate) struct Queued {
    name: Name,
    level: Option<Level>,
}

impl Queued {
    pub(crate) fn not_yet(request: &Request) -> Self {
        Self { name: Name::new(request.name), level: None }
    }

    /// Somebody else holds the lock, or is in front.
    pub(crate) fn begin(&mut self) {
        self.level.get_or_insert_with(|| self.name.waits());
    }
}

/// A call was refused before anybody was asked.
pub fn declined(request: Option<&Request>, error: &Error) {
    let name = Name::new(request.and_then(|request| request.name));
    name.declined(words::refusal(error), words::fault(error));
}
