//! How long an update that met a conflict waits before it tries again.

use std::time::Duration;

use super::Backoff;
use crate::{ConfigError, Error, Key, time::Timestamp};

/// After which conflicts there is a pause, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// A pause follows every so-manieth conflict.
    pub every: u32,
    /// The bound of the first pause.
    pub first: Duration,
    /// What the bound's doubling ends at.
    pub longest: Duration,
}

impl Pacing {
    /// What updates use: found by measurement, see `tests/benches/contention.rs`.
    pub const DEFAULT: Self =
        Self { every: 2, first: Duration::from_millis(24), longest: Duration::from_millis(48) };
}

impl Default for Pacing {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Waiting times between the attempts of one update.
///
/// After a first conflict there is none: the refusal carried the value as it is, and to sleep on that
/// would make it stale, which lets whoever does not sleep take everything. After the second in a row a
/// jitter follows, drawn between nothing and a bound that doubles.
#[derive(Clone, Debug)]
pub struct Pace {
    jitter: Backoff,
    every: u32,
    conflicts: u32,
}

impl Pace {
    /// From a seed, so that a run replays.
    #[must_use]
    pub const fn new(pacing: Pacing, seed: u64) -> Self {
        let jitter = Backoff::new(seed, Duration::ZERO, pacing.first, pacing.longest);
        Self { jitter, every: pacing.every, conflicts: 0 }
    }

    /// How long to wait after one more conflict.
    pub fn after_conflict(&mut self) -> Duration {
        self.conflicts += 1;
        if self.conflicts.is_multiple_of(self.every) {
            self.jitter.next().unwrap_or_default()
        } else {
            Duration::ZERO
        }
    }
}

/// The budget and the pauses of a body that runs again after a conflict.
#[derive(Clone, Debug)]
pub struct Again {
    pace: Pace,
    attempts: u32,
    conflicts: u32,
    began: Timestamp,
    deadline: Timestamp,
}

impl Again {
    /// For a body that may run `attempts` times within `within`.
    ///
    /// # Errors
    /// [`ConfigError::NoAttempts`], [`ConfigError::ZeroDeadline`].
    pub fn checked(
        attempts: u32,
        within: Duration,
        seed: u64,
        now: Timestamp,
    ) -> Result<Self, ConfigError> {
        if attempts == 0 {
            return Err(ConfigError::NoAttempts);
        }
        if within.is_zero() {
            return Err(ConfigError::ZeroDeadline { what: "update" });
        }
        let pace = Pace::new(Pacing::DEFAULT, seed);
        Ok(Self { pace, attempts, conflicts: 0, began: now, deadline: now + within })
    }

    /// It met a conflict about `key`: when it is to run again.
    ///
    /// # Errors
    /// [`Error::Exhausted`] if there is nothing left of its budget.
    pub fn after_conflict(&mut self, now: Timestamp, key: Option<Key>) -> Result<Timestamp, Error> {
        self.conflicts += 1;
        let again = now + self.pace.after_conflict();
        if self.conflicts < self.attempts && again < self.deadline {
            Ok(again)
        } else {
            let (attempts, elapsed) = (self.conflicts, now.since(self.began));
            Err(Error::Exhausted { key, attempts, elapsed })
        }
    }
}
