//! What is asked for when a lock is asked for: the key, how long a lease lasts, how long to wait.

use std::time::Duration;

use crate::{Confirm, Key, Ttl, error::ConfigError};

/// How long `acquire` waits for a busy lock unless told otherwise.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(3);

/// The deadlines of a client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// To connect, log in, and find out what the server can do.
    pub connect: Duration,
    /// For the reply to a command.
    pub response: Duration,
}

impl Limits {
    /// # Errors
    /// [`ConfigError::ZeroDeadline`].
    pub fn checked(self) -> Result<Self, ConfigError> {
        for (what, limit) in [("response", self.response), ("connect", self.connect)] {
            if limit.is_zero() {
                return Err(ConfigError::ZeroDeadline { what });
            }
        }
        Ok(self)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(1), response: Duration::from_secs(1) }
    }
}

/// How a client that waits for another client's lock learns that it is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wake {
    /// The server says so, where it can and may; otherwise as [`Wake::Poll`].
    #[default]
    Push,
    /// It asks again and again, 1 to 100 ms apart, at random.
    Poll,
}

/// What all locks of a client are confirmed by.
///
/// # Errors
/// [`ConfigError::ConfirmedByNobody`], [`ConfigError::ConfirmOutOfRange`] for whatever TTL.
pub fn confirmed_by(confirm: Option<Confirm>) -> Result<Option<Confirm>, ConfigError> {
    let confirm = confirm.and_then(Confirm::asked);
    confirm.map_or(Ok(()), |confirm| confirm.checked(Ttl::at_least(Ttl::MAX)))?;
    Ok(confirm)
}

/// A lock as it was asked for, checked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The lock.
    pub key: Key,
    /// How long a lease lasts without renewal.
    pub ttl: Ttl,
    /// How long to wait for a busy lock; zero is one try.
    pub wait: Duration,
    /// Whether the keeper prolongs the lease while its guard lives.
    pub renew: bool,
    /// Whether to share the lease of a call around this one that holds the lock.
    pub reentrant: bool,
    /// What the lock is called in spans and metrics.
    pub name: Option<&'static str>,
    /// For how long to hold it at least and at most.
    pub hold: Hold,
    /// Whether a fence is issued with it.
    pub fence: bool,
    /// Which copies must have it.
    pub confirm: Option<Confirm>,
}

/// For how long a lock is held, whatever its holder does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    /// The key stays for so long after the grant, even if the lock is given back before.
    pub min: Option<Duration>,
    /// The lease is lost so long after it was asked for, even if its holder goes on.
    pub max: Option<Duration>,
}

impl Request {
    /// A request for `key` with every option at its default.
    #[must_use]
    pub const fn new(key: Key) -> Self {
        let hold = Hold { min: None, max: None };
        Self {
            key,
            ttl: Ttl::DEFAULT,
            wait: DEFAULT_WAIT,
            renew: true,
            hold,
            fence: false,
            confirm: None,
            reentrant: false,
            name: None,
        }
    }

    /// What no setter can tell by itself: whether the options go together.
    ///
    /// # Errors
    /// [`ConfigError::MaxHoldBelowTtl`], [`ConfigError::MinHoldTooLong`],
    /// [`ConfigError::ConfirmedByNobody`], [`ConfigError::ConfirmOutOfRange`].
    pub fn checked(&self) -> Result<&Self, ConfigError> {
        if let Some(confirm) = self.confirm {
            confirm.checked(self.ttl)?;
        }
        let Hold { min, max } = self.hold;
        if let Some(given) = max.filter(|max| *max < self.ttl.as_duration()) {
            return Err(ConfigError::MaxHoldBelowTtl { given, ttl: self.ttl });
        }
        let most = max.unwrap_or(Ttl::MAX).min(Ttl::MAX);
        match min.filter(|min| *min > most) {
            Some(given) => Err(ConfigError::MinHoldTooLong { given, most }),
            None => Ok(self),
        }
    }

    /// # Errors
    /// [`ConfigError::TtlOutOfRange`].
    pub fn ttl(self, ttl: Duration) -> Result<Self, ConfigError> {
        Ok(Self { ttl: Ttl::new(ttl)?, ..self })
    }

    /// # Errors
    /// None today.
    pub fn wait(self, wait: Duration) -> Result<Self, ConfigError> {
        Ok(Self { wait, ..self })
    }

    /// # Errors
    /// None today.
    pub fn renew(self, renew: bool) -> Result<Self, ConfigError> {
        Ok(Self { renew, ..self })
    }

    /// # Errors
    /// None today.
    pub fn reentrant(self, reentrant: bool) -> Result<Self, ConfigError> {
        Ok(Self { reentrant, ..self })
    }

    /// # Errors
    /// None today.
    pub fn name(self, name: &'static str) -> Result<Self, ConfigError> {
        Ok(Self { name: Some(name), ..self })
    }

    /// # Errors
    /// None today.
    pub fn fence(self, fence: bool) -> Result<Self, ConfigError> {
        Ok(Self { fence, ..self })
    }

    /// # Errors
    /// None here; see [`Request::checked`].
    pub fn confirm(self, confirm: Confirm) -> Result<Self, ConfigError> {
        Ok(Self { confirm: confirm.asked(), ..self })
    }

    /// # Errors
    /// None here; see [`Request::checked`].
    pub fn max_hold(self, max: Duration) -> Result<Self, ConfigError> {
        Ok(Self { hold: Hold { max: Some(max), ..self.hold }, ..self })
    }

    /// # Errors
    /// None here; see [`Request::checked`].
    pub fn min_hold(self, min: Duration) -> Result<Self, ConfigError> {
        let min = Some(min).filter(|min| !min.is_zero());
        Ok(Self { hold: Hold { min, ..self.hold }, ..self })
    }
}

/// The one list of what a `Lock` can be told, for both worlds' `Lock`.
///
/// Expands inside an `impl` of a type with a field `request: Result<Request, Error>`.
#[doc(hidden)]
#[macro_export]
macro_rules! __lock_setters {
    () => {
        /// How long a lease lasts unless it is renewed: 10 ms to 24 days, rounded down to whole
        /// milliseconds.
        ///
        /// Defaults to 10 s. Anything outside is refused when the lock is asked for, before a
        /// command is sent.
        pub fn ttl(self, ttl: ::core::time::Duration) -> Self {
            self.set(|request| request.ttl(ttl))
        }

        /// How long `acquire` waits while somebody else holds the lock; zero is one try.
        ///
        /// Defaults to 3 s. A server that does not answer can prolong it by one response deadline.
        pub fn wait(self, wait: ::core::time::Duration) -> Self {
            self.set(|request| request.wait(wait))
        }

        /// Whether the lease is renewed, at a third of its TTL, for as long as the guard lives.
        ///
        /// Defaults to `true`. Without renewal the lease ends with its TTL, and the guard says so.
        ///
        /// Renewals are sent from a thread of the keeper's own: a task that blocks its thread, or all
        /// threads of its executor, stops none. If the lease is lost meanwhile, `is_held` says so right
        /// after, before any I/O.
        pub fn renew(self, renew: bool) -> Self {
            self.set(|request| request.renew(renew))
        }

        /// Whether a call inside of a body under `#[distributed_lock]` that holds this lock already
        /// shares its lease: the same token, the same fence; giving the shared one back does nothing.
        ///
        /// Defaults to `false`: then such a call is [`Error::WouldDeadlock`](crate::Error::WouldDeadlock),
        /// at once. The other options are those of the call that holds it. A shared guard that outlives
        /// that call holds nothing, and says so.
        pub fn reentrant(self, reentrant: bool) -> Self {
            self.set(|request| request.reentrant(reentrant))
        }

        /// What the lock is called in spans and metrics: a constant, so that they stay few whatever
        /// the keys are.
        ///
        /// Defaults to none; under the attribute, to the function's name.
        pub fn name(self, name: &'static str) -> Self {
            self.set(|request| request.name(name))
        }

        /// How long the lock is held at most, however long its holder goes on: a body that is stuck
        /// does not keep everybody else out for ever.
        ///
        /// None by default. So long after the lock was asked for, the lease is lost with
        /// [`LossReason::MaxHold`](crate::LossReason::MaxHold), by the local clock and at that very
        /// moment, and the key is released then; it is not left to its TTL. Whoever waits for the loss
        /// is told of it; code that cannot be stopped goes on without the lock.
        ///
        /// At least the TTL, or the lock is refused before a command is sent. Without renewal the
        /// lease ends with its TTL, which is before.
        pub fn max_hold(self, max_hold: ::core::time::Duration) -> Self {
            self.set(|request| request.max_hold(max_hold))
        }

        /// How long the key stays after the grant at least, although the lock is given back before:
        /// for jobs that start on several machines at the same time by clocks that differ, so that
        /// one which is late finds the lock busy, and not the work done.
        ///
        /// None by default; zero is none. A release or drop that comes earlier answers at once, with
        /// [`Release::Retained`](crate::Release::Retained): it sets the time that is left as the key's
        /// time to live, in one command, and so holds when the process ends right after. Until then
        /// the lock is busy for everybody, this client included.
        ///
        /// At most `max_hold`, and 24 days; more is refused before a command is sent. It may be above
        /// the TTL, but a holder that dies before it gives the lock back leaves the key to its TTL,
        /// and nothing is kept after a loss. The time is counted by the server's clock from the
        /// release on, which may run a little faster than ours.
        pub fn min_hold(self, min_hold: ::core::time::Duration) -> Self {
            self.set(|request| request.min_hold(min_hold))
        }

        /// Whether a fence is issued with the grant: a number that strictly increases from grant to
        /// grant of the key, for the store that is written to. A holder that was paused beyond its
        /// lease writes too late; the store sees that its fence is lower than the last one, and
        /// refuses. See [`LockGuard::fence`](crate::LockGuard::fence) and
        /// [`Client::fenced`](crate::Client::fenced).
        ///
        /// Defaults to `false`. The number is the server's time in microseconds, or one more than the
        /// last where that is higher, and is issued in the same step as the lock, by a script. The
        /// last one is kept under a key of its own, `{n}:tairlock:fence:` and the lock's key, in the
        /// lock's cluster slot, for 7 days after the lease: numbers increase while it is there, and
        /// also beyond unless the server's clock is set back by more than the time between.
        ///
        /// A server or user without scripts gets an error before the lock is taken
        /// ([`FaultKind::Unsupported`](crate::FaultKind::Unsupported),
        /// [`FaultKind::Permission`](crate::FaultKind::Permission)). A user confined by key patterns
        /// needs one for those keys too.
        pub fn fence(self, fence: bool) -> Self {
            self.set(|request| request.fence(fence))
        }

        /// Which copies must have the grant, and every renewal, before it counts: so that a failover does
        /// not hand out a lock that is held. See [`Confirm`](crate::Confirm).
        ///
        /// Defaults to what the client was told ([`ClientBuilder::confirm`](crate::ClientBuilder::confirm)),
        /// which is none. A grant that too few copies have in time is given back, and answered with
        /// [`Error::NotReplicated`](crate::Error::NotReplicated); a renewal that they do not have does
        /// not prolong the lease. A lock that is busy is answered so without waiting for them.
        ///
        /// A server without `WAIT` (or `WAITAOF`) gets an error before the lock is taken
        /// ([`FaultKind::Unsupported`](crate::FaultKind::Unsupported)); so does a client in memory, and
        /// one that has only the caller's own connection or pool, as waiting for copies blocks a
        /// connection.
        pub fn confirm(self, confirm: $crate::Confirm) -> Self {
            self.set(|request| request.confirm(confirm))
        }

        fn set(
            mut self,
            change: impl ::core::ops::FnOnce(
                $crate::options::Request,
            ) -> ::core::result::Result<
                $crate::options::Request,
                $crate::ConfigError,
            >,
        ) -> Self {
            self.request = self
                .request
                .and_then(|request| change(request).map_err(::core::convert::Into::into));
            self
        }
    };
}
