//! True time, which only the simulation knows, and the clocks that clients and servers read instead.

use std::{ops::Add, time::Duration};

use tairlock::time::Timestamp;

/// Where all clocks stand when a run begins: far beyond what this machine's own shows, so that nothing
/// that reads it by accident ends a simulated lease.
const ORIGIN: u64 = 1 << 60;

/// A point in true time, in nanoseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct True(pub(crate) u64);

impl True {
    pub(crate) const NEVER: Self = Self(u64::MAX);

    pub(crate) const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for True {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

/// A clock that began somewhere and runs at a rate of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: i128,
    /// By how many millionths it is fast.
    ppm: i128,
}

impl Clock {
    pub(crate) fn new(ahead: Duration, ppm: i64) -> Self {
        Self { began: i128::from(ORIGIN) + i128::from(nanos(ahead)), ppm: ppm.into() }
    }

    /// What it shows.
    pub(crate) fn at(&self, now: True) -> Timestamp {
        let run = i128::from(now.0);
        let shown = self.began + run + run * self.ppm / 1_000_000;
        Timestamp::from_nanos(u64::try_from(shown).unwrap_or_default())
    }

    /// The first moment at which it shows `local` or more.
    pub(crate) fn when(&self, local: Timestamp) -> True {
        if local == Timestamp::NEVER {
            return True::NEVER;
        }
        let run = i128::from(nanos(local.since(Timestamp::default()))) - self.began;
        let near = run * 1_000_000 / (1_000_000 + self.ppm) - 2;
        let mut at = True(u64::try_from(near).unwrap_or_default());
        while self.at(at) < local {
            at.0 += 1;
        }
        at
    }

    /// Somebody set it: forward, or back.
    pub(crate) fn step(&mut self, by: Duration, back: bool) {
        let by = i128::from(nanos(by));
        self.began += if back { -by } else { by };
    }
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_is_the_first_moment() {
        for ppm in [-4_900, 0, 7, 4_900] {
            let clock = Clock::new(Duration::from_secs(7), ppm);
            for at in [0, 1, 999, 1_000_003, 7_000_000_001] {
                let shown = clock.at(True(at));
                let first = clock.when(shown);
                assert!(first <= True(at) && clock.at(first) == shown, "{ppm} {at} {first:?}");
                assert!(first.0 == 0 || clock.at(True(first.0 - 1)) < shown);
            }
        }
    }
}
