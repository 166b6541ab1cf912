//! [`IsConflict`]: what `#[optimistic_retry]` tries again.

use crate::Error;

/// An error that can say that somebody else was faster, and nothing was done: what `#[optimistic_retry]`
/// without a key tries again.
///
/// ```
/// #[derive(Debug)]
/// enum AppError {
///     SoldOut,
///     Lock(tairlock::Error),
/// }
///
/// impl tairlock::IsConflict for AppError {
///     fn is_conflict(&self) -> bool {
///         matches!(self, Self::Lock(error) if error.is_conflict())
///     }
/// }
/// # use tairlock::IsConflict;
/// # assert!(!AppError::SoldOut.is_conflict());
/// # assert!(!AppError::Lock(tairlock::Error::Closed).is_conflict());
/// ```
pub trait IsConflict {
    /// Whether the same call, made again on what is there now, may well succeed.
    fn is_conflict(&self) -> bool;
}

impl IsConflict for Error {
    fn is_conflict(&self) -> bool {
        Self::is_conflict(self)
    }
}

impl IsConflict for Box<dyn std::error::Error + Send + Sync> {
    fn is_conflict(&self) -> bool {
        self.downcast_ref::<Error>().is_some_and(Error::is_conflict)
    }
}

impl IsConflict for Box<dyn std::error::Error> {
    fn is_conflict(&self) -> bool {
        self.downcast_ref::<Error>().is_some_and(Error::is_conflict)
    }
}
