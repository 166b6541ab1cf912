//! What was being done when a server failed.

use crate::value::Action;

/// What was being done when a server failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Opening a connection.
    Connect,
    /// Taking a lock.
    Acquire,
    /// Prolonging a lease.
    Renew,
    /// Giving a lock back.
    Release,
    /// Reading a value.
    Read,
    /// Writing a value.
    Write,
    /// Deleting a value.
    Remove,
    /// Looking who holds a lock.
    Inspect,
    /// Examining a server.
    Examine,
    /// Taking a lock away from whoever holds it.
    ForceRelease,
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
