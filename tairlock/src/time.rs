//! The clock that leases are measured on: it counts the time that a machine sleeps.

use std::{
    ops::{Add, Sub},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A point on this process's lease clock.
///
/// On Linux the clock is `CLOCK_BOOTTIME`: [`std::time::Instant`] stands still while a machine is
/// suspended, and a lease does not. Comparable within a process only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// A point that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// `nanos` after the clock's origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// How long it is from `earlier` until here; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(nanos))
    }
}

/// What the lease clock shows.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[must_use]
pub fn now() -> Timestamp {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    Timestamp(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// What the lease clock shows.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[must_use]
pub fn now() -> Timestamp {
    static ORIGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    // Not zero: a lease that began before the first look at the clock must have a place to begin.
    Timestamp(1 << 32) + ORIGIN.get_or_init(std::time::Instant::now).elapsed()
}

/// The wall clock, in microseconds since 1970.
#[must_use]
pub fn unix_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// The wall clock, for a token's readable part; nothing is ever computed from it.
pub(crate) fn unix_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}

/// This machine's name, for a token's readable part.
pub(crate) fn host_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    if name.is_empty() { "host".to_owned() } else { name }
}
