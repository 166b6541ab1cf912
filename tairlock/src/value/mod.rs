//! Versioned values: what stands under a key, what may be done to it, and how it is read as a type.

mod codec;
mod fenced;
#[cfg(feature = "serde")]
mod json;
mod kept;
mod recall;
mod request;
mod working;

use std::{fmt, sync::Arc, time::Duration};

pub use codec::{Codec, Coded};
pub use fenced::{FencedAction, FencedValue, Written};
pub use recall::{Known, Recall, Values};
pub use request::{DEFAULT_ATTEMPTS, DEFAULT_WITHIN, ValueRequest};
pub use working::{Change, Working};

use crate::{Fault, Key, error::ConfigError, fault::FaultKind};

/// The last version there can be; a value that has it can be read and removed, and not changed.
pub const LAST_VERSION: u64 = i64::MAX as u64;

/// A value as it was read, and its version.
///
/// A version belongs to one content of one key: it strictly increases with every change, and is not
/// used again after the value was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot<T> {
    /// The value.
    pub value: T,
    /// Its version.
    pub version: u64,
}

/// For how long a value stays from a write on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Expiry {
    /// Until it is removed.
    #[default]
    Persist,
    /// For this long: 1 ms to 100 years, rounded down to whole milliseconds.
    After(Duration),
    /// For as long as it would have stayed without the write.
    Keep,
}

impl From<Duration> for Expiry {
    fn from(duration: Duration) -> Self {
        Self::After(duration)
    }
}

impl Expiry {
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

    /// Rounds down to whole milliseconds and checks the range.
    ///
    /// # Errors
    /// [`ConfigError::ExpiryOutOfRange`].
    pub fn checked(self) -> Result<Self, ConfigError> {
        let Self::After(given) = self else { return Ok(self) };
        let whole = Duration::from_millis(u64::try_from(given.as_millis()).unwrap_or(u64::MAX));
        if whole.is_zero() || whole > Self::LONGEST {
            return Err(ConfigError::ExpiryOutOfRange { given });
        }
        Ok(Self::After(whole))
    }
}

/// Marks one write, so that after a lost reply it is known again among others that look alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(pub u64);

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What stands under a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Stored {
    /// The value's bytes.
    pub value: Arc<[u8]>,
    /// Its version.
    pub version: u64,
    /// The write that put it there; `None` where a server has no room to keep that, or another
    /// program wrote it.
    pub mark: Option<Mark>,
}

/// Shows the version and the length: a value may be a secret, and may be long.
impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {} ({} bytes)", self.version, self.value.len())
    }
}

/// What is to stand under a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Draft {
    /// The value's bytes.
    pub value: Arc<[u8]>,
    /// Names this write.
    pub mark: Mark,
    /// For how long.
    pub expiry: Expiry,
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({} bytes, {:?})", self.mark, self.value.len(), self.expiry)
    }
}

/// Which version a value begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The server's time in microseconds: below 2^53, and above every version that a value under this
    /// key had before, as no server makes a change in less.
    Clock,
    /// This one, every time: a writer from before a removal may win after it.
    At(u64),
}

/// One question about one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOp {
    /// The value's key.
    pub key: Key,
    /// What is asked.
    pub action: Action,
}

/// What is asked about a value, or done to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// What is there?
    #[default]
    Read,
    /// Replace it if its version is still this one.
    Swap {
        /// The version that it must have.
        expected: u64,
        /// What is to stand there.
        draft: Draft,
    },
    /// Put it there if nothing is.
    Create {
        /// What is to stand there.
        draft: Draft,
        /// With which version.
        first: First,
    },
    /// Put it there whatever is; its version follows the one before, if there is one.
    Overwrite {
        /// What is to stand there.
        draft: Draft,
        /// With which version, if nothing is there.
        first: First,
    },
    /// Delete it if its version is still this one.
    Remove {
        /// The version that it must have.
        expected: u64,
    },
}

impl Action {
    /// The mark of the write, if it is one.
    #[must_use]
    pub const fn mark(&self) -> Option<Mark> {
        match self {
            Self::Swap { draft, .. }
            | Self::Create { draft, .. }
            | Self::Overwrite { draft, .. } => Some(draft.mark),
            Self::Read | Self::Remove { .. } => None,
        }
    }

    /// The version that the value must have, if there is such a condition.
    #[must_use]
    pub const fn expected(&self) -> Option<u64> {
        match self {
            Self::Swap { expected, .. } | Self::Remove { expected } => Some(*expected),
            Self::Read | Self::Create { .. } | Self::Overwrite { .. } => None,
        }
    }
}

/// What is said where a value has the last version and is to have another.
#[must_use]
pub(crate) fn version_at_its_end() -> Fault {
    let text = format!(
        "the value's version is {LAST_VERSION}, the last there is; remove the value and create it again"
    );
    Fault::new(FaultKind::Server, text)
}
