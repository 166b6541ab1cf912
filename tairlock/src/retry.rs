//! What `#[optimistic_retry]` asks of a function: which of its results are no success, how it is told
//! that nothing can be done, and an argument for each attempt.

use crate::{Error, IsConflict, Key};

/// A result that can say that nothing could be done.
#[diagnostic::on_unimplemented(
    message = "a function under `#[optimistic_retry]` must be able to return an update's error",
    label = "this type cannot carry a `tairlock::Error`",
    note = "return `Result<_, E>` where `E: From<tairlock::Error>` (`Box<dyn Error + Send + Sync>` and \
            `anyhow::Error` are such), or say what to return instead with `or_else = |error| value`"
)]
pub trait Denied: Sized + Fails {
    /// Nothing was done.
    fn denied(error: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, E: From<Error>> Denied for Result<T, E> {
    fn denied(error: Error) -> Self {
        Err(error.into())
    }
}

/// A result that can say that nothing is to be written.
#[diagnostic::on_unimplemented(
    message = "a function under `#[optimistic_retry(key = …)]` returns a `Result`, an `Option` or `()`",
    label = "nothing in this type says whether the value is to be written",
    note = "an `Err` or `None` writes nothing, everything else writes what the body left"
)]
pub trait Fails {
    /// Whether the body gave up of its own accord.
    fn fails(&self) -> bool;
}

#[diagnostic::do_not_recommend]
impl<T, E> Fails for Result<T, E> {
    fn fails(&self) -> bool {
        self.is_err()
    }
}

#[diagnostic::do_not_recommend]
impl<T> Fails for Option<T> {
    fn fails(&self) -> bool {
        self.is_none()
    }
}

#[diagnostic::do_not_recommend]
impl Fails for () {
    fn fails(&self) -> bool {
        false
    }
}

/// A result that can say that it met a conflict.
#[diagnostic::on_unimplemented(
    message = "a function under `#[optimistic_retry]` must be able to say that it met a conflict",
    label = "nothing in this type says so",
    note = "return `Result<_, E>` where `E: tairlock::IsConflict` (`tairlock::Error`, `anyhow::Error` and \
            `Box<dyn Error + Send + Sync>` are such), or give the attribute a `key`"
)]
pub trait Conflicts {
    /// The error to ask.
    type Error: IsConflict;

    /// The error, if it is one.
    fn error(&self) -> Option<&Self::Error>;
}

#[diagnostic::do_not_recommend]
impl<T, E: IsConflict> Conflicts for Result<T, E> {
    type Error = E;

    fn error(&self) -> Option<&E> {
        self.as_ref().err()
    }
}

/// What a function answers in the place of its body, and what its body's answers mean.
#[derive(Clone, Copy, Debug)]
pub struct Terms<T, O> {
    denied: O,
    /// The body gave up, or met a conflict.
    met: fn(&T) -> Option<Option<Key>>,
}

/// For a body that changes a value.
#[must_use]
pub fn update<T: Denied>() -> Terms<T, fn(Error) -> T> {
    Terms { denied: T::denied, met: failure }
}

/// For a body that changes a value, where `denied` makes an answer of an error.
pub fn update_or_else<T: Fails, O: FnOnce(Error) -> T>(denied: O) -> Terms<T, O> {
    Terms { denied, met: failure }
}

/// For a body that does everything by itself.
#[must_use]
pub fn repeat<T: Denied + Conflicts>() -> Terms<T, fn(Error) -> T> {
    Terms { denied: T::denied, met: conflict }
}

/// For a body that does everything by itself, where `denied` makes an answer of an error.
pub fn repeat_or_else<T: Conflicts, O: FnOnce(Error) -> T>(denied: O) -> Terms<T, O> {
    Terms { denied, met: conflict }
}

fn failure<T: Fails>(output: &T) -> Option<Option<Key>> {
    output.fails().then_some(None)
}

fn conflict<T: Conflicts>(output: &T) -> Option<Option<Key>> {
    let error = output.error().filter(|error| error.is_conflict())?;
    Some(error.key().cloned())
}

impl<T, O: FnOnce(Error) -> T> Terms<T, O> {
    /// The answer where nothing could be done.
    pub fn denied(self, error: Error) -> T {
        (self.denied)(error)
    }

    /// Whether the body gave up of its own accord, so that nothing is to be written.
    pub fn fails(&self, output: &T) -> bool {
        (self.met)(output).is_some()
    }

    /// The answer, unless it is a conflict; then on which value, if it tells.
    ///
    /// # Errors
    /// The value.
    pub fn answer(&self, output: T) -> Result<T, Option<Key>> {
        match (self.met)(&output) {
            Some(key) => Err(key),
            None => Ok(output),
        }
    }
}

/// An argument that every attempt has one of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be cloned, and every attempt needs one of its own",
    label = "this argument is used by every attempt of `#[optimistic_retry]`",
    note = "take it by reference, make it `Clone` (in generic code: `T: Clone`), or put it into an `Arc`"
)]
pub trait PerAttempt {
    /// One for this attempt.
    #[must_use]
    fn per_attempt(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> PerAttempt for T {
    fn per_attempt(&self) -> Self {
        self.clone()
    }
}

/// An argument for one attempt.
pub fn per_attempt<T: PerAttempt>(argument: &T) -> T {
    argument.per_attempt()
}

/// Calls `body`: what a closure is that is called at once, and may take what is around it.
pub fn once<T>(body: impl FnOnce() -> T) -> T {
    body()
}
