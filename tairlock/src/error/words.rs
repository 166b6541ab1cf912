//! What depends on what was being done: parts of errors' texts, and the operation's name.

use std::fmt;

use super::Operation;
use crate::{Key, value::Action};

/// "has version 9 instead of 7", with what was expected and what was found.
pub(super) struct Moved(pub(super) Option<u64>, pub(super) Option<u64>);

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(expected), Some(found)) => {
                write!(f, "has version {found} instead of {expected}")
            }
            (Some(expected), None) => write!(f, "is gone instead of having version {expected}"),
            (None, Some(found)) => write!(f, "exists already, with version {found}"),
            (None, None) => write!(f, "changed meanwhile"),
        }
    }
}

/// "cannot acquire lock `k`", or without the key.
pub(super) struct During<'a>(pub(super) Operation, pub(super) Option<&'a Key>);

impl fmt::Display for During<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, noun) = match self.0 {
            Operation::Connect => ("connect", "lock"),
            Operation::Acquire => ("acquire", "lock"),
            Operation::Renew => ("renew", "lock"),
            Operation::Release => ("release", "lock"),
            Operation::Read => ("read", "value"),
            Operation::Write => ("write", "value"),
            Operation::Remove => ("remove", "value"),
            Operation::Inspect => ("inspect", "lock"),
            Operation::Examine => ("examine", "server"),
            Operation::ForceRelease => ("force the release of", "lock"),
        };
        match self.1 {
            Some(key) => write!(f, "cannot {verb} {noun} {key:?}"),
            None => write!(f, "cannot {verb}"),
        }
    }
}

impl Operation {
    pub(crate) const fn of(action: &Action) -> Self {
        match action {
            Action::Read => Self::Read,
            Action::Swap { .. } | Action::Create { .. } | Action::Overwrite { .. } => Self::Write,
            Action::Remove { .. } => Self::Remove,
        }
    }
}
