//! What a function under `#[distributed_lock]` may return: something that can carry a lock's error, or
//! something that can say that nothing was done.

use crate::{Error, report};

/// A return type that can say "the lock was not had" and "the lease was lost".
#[diagnostic::on_unimplemented(
    message = "a function under `#[distributed_lock]` must be able to return a lock's error",
    label = "this type cannot carry a `tairlock::Error`",
    note = "return `Result<_, E>` where `E: From<tairlock::Error>` (`Box<dyn Error + Send + Sync>` and \
            `anyhow::Error` are such), or say what to return instead with `or_else = |error| value`"
)]
pub trait Outcome: Sized {
    /// The lock was not had; the body did not run.
    fn denied(error: Error) -> Self;

    /// The body ran to its end and the lease did not. The body's own error is never hidden.
    #[must_use]
    fn tainted(self, error: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, E: From<Error>> Outcome for Result<T, E> {
    fn denied(error: Error) -> Self {
        Err(error.into())
    }

    fn tainted(self, error: Error) -> Self {
        self.and_then(|_| Err(error.into()))
    }
}

/// A return type that can say "somebody else was at it, and nothing was done".
#[diagnostic::on_unimplemented(
    message = "with `on_busy = skip` a function must be able to say that it did nothing",
    label = "this type has no value for a call that was skipped",
    note = "return `()`, `Option<_>`, `Result<(), _>` or `Result<Option<_>, _>`, or remove `on_busy` and \
            look for `Error::Busy` in the result"
)]
pub trait Skipped: Sized {
    /// The lock was busy; the body did not run.
    fn skipped() -> Self;
}

/// A return type of a function that is skipped when its lock is busy, without an `or_else` for other
/// errors.
#[diagnostic::on_unimplemented(
    message = "with `on_busy = skip` a function must be able to say that it did nothing, or that its \
               lock failed",
    label = "this type has no value for a call that was skipped, or cannot carry a `tairlock::Error`",
    note = "return `()`, `Option<_>`, `Result<(), E>` or `Result<Option<_>, E>` where `E: \
            From<tairlock::Error>`; or say what to return for other errors with `or_else = |error| value`"
)]
pub trait Unsaid: Skipped {
    /// The lock was not had, and it was not busy; the body did not run.
    fn failed(error: Error) -> Self;

    /// The body ran to its end and the lease did not.
    #[must_use]
    fn tainted(self, error: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl Skipped for () {
    fn skipped() -> Self {}
}

#[diagnostic::do_not_recommend]
impl<T> Skipped for Option<T> {
    fn skipped() -> Self {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<E> Skipped for Result<(), E> {
    fn skipped() -> Self {
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<T, E> Skipped for Result<Option<T>, E> {
    fn skipped() -> Self {
        Ok(None)
    }
}

#[diagnostic::do_not_recommend]
impl Unsaid for () {
    fn failed(error: Error) {
        report::unsaid(&error);
    }

    fn tainted(self, error: Error) {
        report::unsaid(&error);
    }
}

#[diagnostic::do_not_recommend]
impl<T> Unsaid for Option<T> {
    fn failed(error: Error) -> Self {
        report::unsaid(&error);
        None
    }

    fn tainted(self, error: Error) -> Self {
        report::unsaid(&error);
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T, E: From<Error>> Unsaid for Result<T, E>
where
    Self: Skipped,
{
    fn failed(error: Error) -> Self {
        Err(error.into())
    }

    fn tainted(self, error: Error) -> Self {
        Outcome::tainted(self, error)
    }
}
