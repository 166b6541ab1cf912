//! A [`Ttl`] is how long a lease lasts unless it is renewed: whole milliseconds within fixed limits.

use std::time::Duration;

use crate::error::ConfigError;

/// A lease's time to live: 10 ms to 24 days, in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl(u32);

impl Ttl {
    /// The shortest TTL: below it, drift and one round trip eat the lease.
    pub const MIN: Duration = Duration::from_millis(10);
    /// The longest TTL. Above it a lease is a leak with a date.
    pub const MAX: Duration = Duration::from_secs(24 * 24 * 60 * 60);
    /// What a lock uses unless told otherwise: 10 s.
    pub const DEFAULT: Self = Self(10_000);

    /// Rounds `ttl` down to whole milliseconds and checks it.
    ///
    /// # Errors
    /// [`ConfigError::TtlOutOfRange`] outside [`Ttl::MIN`] `..=` [`Ttl::MAX`]; zero and
    /// sub-millisecond durations are outside, as is [`Duration::MAX`].
    pub fn new(ttl: Duration) -> Result<Self, ConfigError> {
        match u32::try_from(ttl.as_millis()) {
            Ok(ms) if (Self::MIN..=Self::MAX).contains(&Duration::from_millis(ms.into())) => {
                Ok(Self(ms))
            }
            _ => Err(ConfigError::TtlOutOfRange { given: ttl }),
        }
    }

    /// `left`, rounded up to whole milliseconds and to what a TTL can be.
    pub(crate) fn at_least(left: Duration) -> Self {
        let up = left.saturating_add(Duration::from_nanos(999_999));
        Self::new(up.clamp(Self::MIN, Self::MAX)).unwrap_or_default()
    }

    /// In milliseconds, as it is sent.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 as u64
    }

    /// As a [`Duration`].
    #[must_use]
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.as_millis())
    }

    /// What is taken off the lease for clocks that run at different speeds: a hundredth and 2 ms.
    ///
    /// The rule is Redlock's (redis.io, "Distributed Locks with Redis").
    #[must_use]
    pub const fn drift(self) -> Duration {
        Duration::from_millis(self.as_millis() / 100 + 2)
    }

    /// The part of the lease that its holder may count on, measured from before the send.
    #[must_use]
    pub fn certain(self) -> Duration {
        self.as_duration().saturating_sub(self.drift())
    }

    /// When a renewal is due, measured from the send of the last grant: a third of the lease.
    #[must_use]
    pub const fn renewal_after(self) -> Duration {
        Duration::from_millis(self.as_millis() / 3)
    }
}

impl Default for Ttl {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        let day = Duration::from_secs(24 * 60 * 60);
        for refused in [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_micros(999),
            Duration::from_millis(9),
            Duration::from_micros(9_999),
            24 * day + Duration::from_millis(1),
            Duration::from_millis(1 << 31),
            Duration::from_millis(1 << 32) + Duration::from_secs(1),
            Duration::from_millis(i64::MAX as u64),
            Duration::MAX,
        ] {
            assert_eq!(Ttl::new(refused), Err(ConfigError::TtlOutOfRange { given: refused }));
        }
        assert_eq!(Ttl::new(Duration::from_micros(10_999)).unwrap().as_millis(), 10);
        assert_eq!(Ttl::new(24 * day).unwrap().as_duration(), 24 * day);
    }

    #[test]
    fn what_is_left_is_rounded_up() {
        for (left, ms) in [(1, 10), (9_999, 10), (10_000, 10), (10_001, 11), (5_000_000, 5_000)] {
            assert_eq!(Ttl::at_least(Duration::from_micros(left)).as_millis(), ms);
        }
        assert_eq!(Ttl::at_least(Duration::MAX).as_duration(), Ttl::MAX);
    }

    #[test]
    fn drift_is_a_hundredth_and_two() {
        let ttl = |ms| Ttl::new(Duration::from_millis(ms)).unwrap();
        assert_eq!(ttl(10).certain(), Duration::from_millis(8));
        assert_eq!(ttl(10_000).drift(), Duration::from_millis(102));
        assert_eq!(ttl(3_000).renewal_after(), Duration::from_millis(1_000));
    }
}
