//! Where an error goes that a function's return type has no room for: to the program's log.

use crate::Error;

/// Tells of an error that nobody is answered with.
#[cfg(feature = "tracing")]
pub(crate) fn unsaid(error: &Error) {
    tracing::error!(target: "tairlock", %error, "a function under a lock had no way to return this");
}

/// Without `tracing` there is no log.
#[cfg(not(feature = "tracing"))]
pub(crate) const fn unsaid(_error: &Error) {}
