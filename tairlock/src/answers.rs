//! What a function under `#[distributed_lock]` answers in the place of its body: said once per function,
//! from its return type and its options.

use crate::{
    Error,
    outcome::{Outcome, Skipped, Unsaid},
    report,
};

/// What a function answers if its lock is not had, or is lost.
#[derive(Clone, Copy, Debug)]
pub struct Answers<T, O> {
    denied: O,
    skipped: Option<fn() -> T>,
    tainted: Option<fn(T, Error) -> T>,
    cuts: bool,
}

/// The error, in the function's own words. The one place that asks for `Outcome`, so that a type that
/// is none is told of once.
#[must_use]
pub fn outcome<T: Outcome>() -> Answers<T, fn(Error) -> T> {
    Answers { denied: T::denied, skipped: None, tainted: Some(T::tainted), cuts: true }
}

/// Whatever `denied` makes of the error.
pub const fn or_else<T, O: FnOnce(Error) -> T>(denied: O) -> Answers<T, O> {
    Answers { denied, skipped: None, tainted: None, cuts: true }
}

/// Nothing if the lock is busy; otherwise the error, or nothing where the type has no room for one.
#[must_use]
pub fn skip<T: Unsaid>() -> Answers<T, fn(Error) -> T> {
    let (skipped, tainted) = (Some(T::skipped as fn() -> T), Some(T::tainted as fn(T, Error) -> T));
    Answers { denied: T::failed, skipped, tainted, cuts: true }
}

/// Nothing if the lock is busy; otherwise whatever `denied` makes of the error.
pub fn skip_or_else<T: Skipped, O: FnOnce(Error) -> T>(denied: O) -> Answers<T, O> {
    Answers { denied, skipped: Some(T::skipped), tainted: None, cuts: true }
}

impl<T, O: FnOnce(Error) -> T> Answers<T, O> {
    /// A body whose lease is lost runs to its end.
    #[must_use]
    pub fn finish(mut self) -> Self {
        self.cuts = false;
        self
    }

    /// Whether a body whose lease is lost is dropped where it stands.
    pub const fn cuts(&self) -> bool {
        self.cuts
    }

    /// Answers for a body that did not run, or not to its end.
    pub fn denied(self, error: Error) -> T {
        match self.skipped {
            Some(skipped) if error.is_busy() => {
                report::skipped(&error);
                skipped()
            }
            _ => (self.denied)(error),
        }
    }

    /// Answers for a body that ran to its end under a lock that did not.
    pub fn tainted(self, output: T, error: Error) -> T {
        match self.tainted {
            Some(tainted) => tainted(output, error),
            None => (self.denied)(error),
        }
    }
}
