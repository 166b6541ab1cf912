//! [`Confirm`]: which copies must have a grant before it counts.

use std::time::Duration;

use crate::{ConfigError, Ttl};

/// Which copies must have a grant, and every renewal, before it counts.
///
/// A server answers before its replicas have what was written. If it is lost then, and a replica takes
/// its place, the lock is free there while its holder still counts on it. With confirmation the holder
/// counts on nothing that the replicas have not said they have.
///
/// It is no consensus: what `n` replicas have is lost if another one takes the primary's place, and
/// sentinels and clusters may choose one that is behind. Ask for as many as can be chosen, or use a
/// [fence](crate::LockGuard::fence).
///
/// ```
/// # use std::time::Duration;
/// use tairlock::Confirm;
///
/// let by_one = Confirm::replicas(1).within(Duration::from_millis(200));
/// let on_disk = Confirm::aof(1); // in the server's own append-only file, and in one replica's
/// assert_ne!(by_one, on_disk);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Confirm {
    by: By,
    within: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    Nobody,
    Replicas(u32),
    Aof(u32),
}

impl Confirm {
    /// How long copies have where nothing else was said, if the TTL is long enough.
    const WITHIN: Duration = Duration::from_secs(1);

    /// By `count` replicas, in memory (`WAIT`): at least 1.
    pub const fn replicas(count: u32) -> Self {
        Self { by: By::Replicas(count), within: None }
    }

    /// By the server's own append-only file, and by those of `replicas` replicas, which may be 0, after
    /// each was written to disk (`WAITAOF`; Redis and Valkey from 7.2).
    ///
    /// A server that was told `appendfsync everysec`, which is the default, writes to disk once a second, so
    /// it needs a time of more than that, and a TTL of three times as much.
    pub const fn aof(replicas: u32) -> Self {
        Self { by: By::Aof(replicas), within: None }
    }

    /// By nobody but the server itself: for a lock of a client whose others are confirmed.
    pub const fn none() -> Self {
        Self { by: By::Nobody, within: None }
    }

    /// How long the copies have for it: at least 1 ms, rounded up to whole milliseconds, and at most a
    /// third of the lock's TTL. Defaults to 1 s, or to that third where it is less.
    ///
    /// The time is part of the lease, and servers overstep it by up to 100 ms.
    pub const fn within(self, limit: Duration) -> Self {
        Self { within: Some(limit), ..self }
    }

    /// Nothing, if it asks for nothing.
    #[must_use]
    pub(crate) fn asked(self) -> Option<Self> {
        (self.by != By::Nobody).then_some(self)
    }

    /// With the time that it has for a lock of this TTL.
    pub(crate) fn of(self, ttl: Ttl) -> Self {
        self.within(self.within.unwrap_or_else(|| Self::WITHIN.min(most(ttl))))
    }

    /// Whether it can be had for a lock of this TTL.
    pub(crate) fn checked(self, ttl: Ttl) -> Result<(), ConfigError> {
        if self.by == By::Replicas(0) {
            return Err(ConfigError::ConfirmedByNobody);
        }
        let most = most(ttl);
        match self.within.filter(|given| !(Duration::from_millis(1)..=most).contains(given)) {
            Some(given) => Err(ConfigError::ConfirmOutOfRange { given, most }),
            None => Ok(()),
        }
    }

    /// How many copies that makes, the server's own file among them.
    pub(crate) const fn wanted(self) -> u32 {
        match self.by {
            By::Nobody => 0,
            By::Replicas(count) => count,
            By::Aof(replicas) => replicas.saturating_add(1),
        }
    }

    /// How many replicas.
    pub(crate) const fn of_replicas(self) -> u32 {
        match self.by {
            By::Nobody => 0,
            By::Replicas(count) | By::Aof(count) => count,
        }
    }

    /// Whether append-only files are asked, and not memories.
    pub(crate) const fn on_disk(self) -> bool {
        matches!(self.by, By::Aof(_))
    }

    /// How long the copies have.
    pub(crate) fn limit(self) -> Duration {
        let limit = self.within.unwrap_or(Self::WITHIN);
        Duration::from_millis(
            u64::try_from(limit.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX),
        )
    }
}

/// As much as a reply may take of a lease, for the same reason: a second try must fit.
fn most(ttl: Ttl) -> Duration {
    ttl.as_duration() / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ttl(ms: u64) -> Ttl {
        Ttl::new(Duration::from_millis(ms)).unwrap()
    }

    #[test]
    fn the_time_is_a_part_of_the_lease() {
        let ms = Duration::from_millis;
        for (given, of, fits) in [
            (None, 10_000, Ok(1_000)),
            (None, 300, Ok(100)),
            (None, 10, Ok(4)),
            (Some(ms(200)), 600, Ok(200)),
            (Some(Duration::from_micros(1_001)), 600, Ok(2)),
            (Some(ms(201)), 600, Err(200)),
            (Some(ms(0)), 600, Err(200)),
            (Some(Duration::from_micros(999)), 600, Err(200)),
            (Some(Duration::MAX), 600, Err(200)),
        ] {
            let plain = Confirm::replicas(1);
            let confirm = given.map_or(plain, |given| plain.within(given));
            match (confirm.checked(ttl(of)), fits) {
                (Ok(()), Ok(limit)) => assert_eq!(confirm.of(ttl(of)).limit(), ms(limit)),
                (Err(ConfigError::ConfirmOutOfRange { most, .. }), Err(limit)) => {
                    assert_eq!(most, ms(limit));
                }
                other => panic!("{given:?} of {of}: {other:?}"),
            }
        }
    }

    #[test]
    fn somebody_confirms() {
        assert_eq!(Confirm::replicas(0).checked(ttl(600)), Err(ConfigError::ConfirmedByNobody));
        assert_eq!(Confirm::aof(0).checked(ttl(600)), Ok(()));
        assert_eq!((Confirm::aof(0).wanted(), Confirm::aof(2).wanted()), (1, 3));
        assert_eq!((Confirm::none().asked(), Confirm::none().checked(ttl(600))), (None, Ok(())));
    }
}
