//! How long to wait before asking again: doubling, with full jitter, from a seed.

use std::time::Duration;

/// An endless row of waiting times: each drawn evenly between a floor and a bound that doubles.
///
/// Full jitter, after M. Brooker's "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015), with
/// a floor so that no draw makes a hot loop.
#[derive(Clone, Debug)]
pub struct Backoff {
    random: SplitMix64,
    bound: Duration,
    floor: Duration,
    cap: Duration,
}

impl Backoff {
    /// Waits between `floor` and a bound that begins at `first` and doubles up to `cap`.
    #[must_use]
    pub const fn new(seed: u64, floor: Duration, first: Duration, cap: Duration) -> Self {
        Self { random: SplitMix64(seed), bound: first, floor, cap }
    }

    /// For a lock that is busy: 1 ms to 8 ms at first, to 100 ms in the end.
    #[must_use]
    pub const fn polling(seed: u64) -> Self {
        Self::new(
            seed,
            Duration::from_millis(1),
            Duration::from_millis(8),
            Duration::from_millis(100),
        )
    }
}

impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let width = self.bound.saturating_sub(self.floor);
        let nanos = u64::try_from(width.as_nanos()).unwrap_or(u64::MAX);
        self.bound = (self.bound * 2).min(self.cap);
        // The high half of a 128-bit product maps a draw evenly onto the width.
        let drawn = (u128::from(self.random.next()) * u128::from(nanos)) >> 64;
        Some(self.floor + Duration::from_nanos(u64::try_from(drawn).unwrap_or(u64::MAX)))
    }
}

/// Sebastiano Vigna's `SplitMix64` (public domain): enough for jitter, and a run replays from its seed.
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    /// Another row, which shares no draw with those of neighbouring seeds.
    pub(super) fn fork(mut self) -> Self {
        Self(self.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_bounds_that_double_to_the_cap() {
        for seed in 0..200 {
            let mut bound = Duration::from_millis(8);
            for wait in Backoff::polling(seed).take(10) {
                assert!(wait >= Duration::from_millis(1) && wait <= bound, "{wait:?} {bound:?}");
                bound = (bound * 2).min(Duration::from_millis(100));
            }
        }
    }

    #[test]
    fn seeds_replay_and_differ() {
        let draw = |seed| Backoff::polling(seed).take(5).collect::<Vec<_>>();
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
