//! [`IsConflict`]: what `#[optimistic_retry]` tries again.

use std::{error::Error as StdError, iter};

use crate::{Error, Key};

/// An error that can say that somebody else was faster, and nothing was done: what `#[optimistic_retry]`
/// without a key tries again.
///
/// ```
/// #[derive(Debug)]
/// enum AppError {
///     SoldOut,
///     Value(tairlock::Error),
/// }
///
/// impl tairlock::IsConflict for AppError {
///     fn is_conflict(&self) -> bool {
///         matches!(self, Self::Value(error) if error.is_conflict())
///     }
/// }
/// # use tairlock::IsConflict;
/// # assert!(!AppError::SoldOut.is_conflict());
/// # assert!(!AppError::Value(tairlock::Error::Closed).is_conflict());
/// ```
///
/// An error that hides another (`anyhow::Error`, `eyre::Report`, `Box<dyn Error + Send + Sync>`) is a
/// conflict if it, or what caused it, is a conflict of this crate's.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say whether it is a conflict",
    label = "`#[optimistic_retry]` without a `key` tries again on a conflict, and on nothing else",
    note = "implement `tairlock::IsConflict` for it, or give the attribute a `key`"
)]
pub trait IsConflict {
    /// Whether the same call, made again on what is there now, may well succeed.
    fn is_conflict(&self) -> bool;

    /// The value that was not as expected, if the error knows it.
    fn key(&self) -> Option<&Key> {
        None
    }
}

impl IsConflict for Error {
    fn is_conflict(&self) -> bool {
        Self::is_conflict(self)
    }

    fn key(&self) -> Option<&Key> {
        Self::key(self)
    }
}

#[diagnostic::do_not_recommend]
impl<E: AsRef<dyn StdError + Send + Sync>> IsConflict for E {
    fn is_conflict(&self) -> bool {
        conflict(self.as_ref()).is_some()
    }

    fn key(&self) -> Option<&Key> {
        conflict(self.as_ref())?.key()
    }
}

/// The conflict in `error` or among its causes.
fn conflict<'a>(error: &'a (dyn StdError + Send + Sync + 'static)) -> Option<&'a Error> {
    let first: &'a (dyn StdError + 'static) = error;
    let mut causes = iter::successors(Some(first), |&error| error.source());
    causes.find_map(|error| error.downcast_ref::<Error>().filter(|error| error.is_conflict()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("while counting")]
    struct Counting(#[source] Error);

    #[test]
    fn a_conflict_is_found_among_the_causes() {
        let key = Key::new(b"n").expect("a key");
        let moved = Error::Conflict { key: key.clone(), expected: Some(1), found: Some(2) };
        let boxed = |error: Error| -> Box<dyn StdError + Send + Sync> { Counting(error).into() };
        assert!(IsConflict::is_conflict(&boxed(moved.clone())));
        assert_eq!(IsConflict::key(&boxed(moved)), Some(&key));
        assert!(!IsConflict::is_conflict(&boxed(Error::Absent { key })));
    }
}
