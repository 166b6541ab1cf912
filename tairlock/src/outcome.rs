//! What a function under `#[distributed_lock]` may return: something that can carry a lock's error.

use crate::Error;

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

impl<T, E: From<Error>> Outcome for Result<T, E> {
    fn denied(error: Error) -> Self {
        Err(error.into())
    }

    fn tainted(self, error: Error) -> Self {
        self.and_then(|_| Err(error.into()))
    }
}
