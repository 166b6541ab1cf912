//! Several locks as one: in one order whoever asks, each once, all or none, within one wait.

use std::{
    fmt,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::{Duration, Instant},
};

use event_listener::EventListener;

use crate::{ConfigError, Error, Key, Lease, LossReason, options::Request, time::Timestamp};

/// The locks of one call that asks for several, and how far it has come.
#[derive(Clone, Debug)]
pub struct Several {
    request: Request,
    /// By their bytes, each once: two calls that share some of them ask for those in the same order, so
    /// none waits for the other while the other waits for it.
    keys: Arc<[Key]>,
}

impl Several {
    /// # Errors
    /// [`ConfigError::NoKeys`].
    pub fn new(keys: impl IntoIterator<Item = Result<Key, Error>>) -> Result<Self, Error> {
        let mut keys = keys.into_iter().collect::<Result<Vec<_>, _>>()?;
        keys.sort_unstable();
        keys.dedup();
        let first = keys.first().cloned().ok_or(ConfigError::NoKeys)?;
        Ok(Self { request: Request::new(first), keys: keys.into() })
    }

    /// The keys, in the order in which they are asked for.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The keys, with `request`'s options.
    #[must_use]
    pub fn with(&self, request: &Request) -> Self {
        Self { request: request.clone(), keys: Arc::clone(&self.keys) }
    }

    /// The options.
    #[must_use]
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// What to ask for `key` if all began at `began`: the wait is what is left of it.
    #[must_use]
    pub fn ask(&self, key: &Key, began: Timestamp, now: Timestamp) -> Request {
        let wait = self.request.wait.saturating_sub(now.since(began));
        Request { key: key.clone(), wait, ..self.request.clone() }
    }

    /// What the caller is told: how long all have waited, not the last one.
    #[must_use]
    pub fn tell(&self, error: Error, began: Timestamp, now: Timestamp) -> Error {
        match error {
            Error::Busy { key } | Error::TimedOut { key, .. } if !self.request.wait.is_zero() => {
                Error::TimedOut { key, waited: now.since(began) }
            }
            error => error,
        }
    }
}

/// The leases of several locks that were taken together: a view that can be cloned.
#[derive(Clone)]
pub struct Leases(Arc<[Lease]>);

impl Leases {
    /// The lease of one.
    #[must_use]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<&Lease> {
        self.0.iter().find(|lease| lease.key().as_bytes() == key.as_ref())
    }

    /// One lease per lock, ordered by key.
    pub fn iter(&self) -> std::slice::Iter<'_, Lease> {
        self.0.iter()
    }

    /// Whether all of them are surely still ours.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.iter().all(Lease::is_held)
    }

    /// How long all of them are surely still ours if nothing renews them.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.iter().map(Lease::remaining).min().unwrap_or_default()
    }

    /// Resolves when one of them is lost, with its key and the reason.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: a later call answers at once.
    pub async fn lost(&self) -> (Key, LossReason) {
        let mut bells = Vec::new();
        poll_fn(|cx| self.poll_lost(&mut bells, cx)).await
    }

    /// As [`Leases::lost`], blocking the thread for at most `limit`; `None` if none is lost by then.
    #[must_use]
    pub fn wait_lost(&self, limit: Duration) -> Option<(Key, LossReason)> {
        struct Parked(Thread);
        impl Wake for Parked {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let limit = Instant::now().checked_add(limit);
        let waker = Waker::from(Arc::new(Parked(std::thread::current())));
        let mut bells = Vec::new();
        loop {
            if let Poll::Ready(lost) = self.poll_lost(&mut bells, &mut Context::from_waker(&waker))
            {
                return Some(lost);
            }
            match limit {
                None => std::thread::park(),
                Some(limit) => match limit.checked_duration_since(Instant::now()) {
                    None | Some(Duration::ZERO) => return None,
                    Some(left) => std::thread::park_timeout(left),
                },
            }
        }
    }

    fn poll_lost(
        &self,
        bells: &mut Vec<Option<EventListener>>,
        cx: &mut Context<'_>,
    ) -> Poll<(Key, LossReason)> {
        bells.resize_with(self.0.len(), || None);
        for (lease, bell) in self.iter().zip(bells) {
            if let Poll::Ready(reason) = lease.poll_lost(bell, cx) {
                return Poll::Ready((lease.key().clone(), reason));
            }
        }
        Poll::Pending
    }
}

impl FromIterator<Lease> for Leases {
    fn from_iter<I: IntoIterator<Item = Lease>>(leases: I) -> Self {
        Self(leases.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Leases {
    type Item = &'a Lease;
    type IntoIter = std::slice::Iter<'a, Lease>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Leases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn several(keys: &[&str]) -> Result<Several, Error> {
        Several::new(keys.iter().map(|key| Key::new(key).map_err(Error::from)))
    }

    #[test]
    fn sorted_each_once_and_never_none() {
        let all = several(&["b", "a", "b", "Z"]).unwrap();
        let keys: Vec<_> = all.keys().iter().map(ToString::to_string).collect();
        assert_eq!(keys, ["Z", "a", "b"]);
        assert!(matches!(several(&[]), Err(Error::Config(ConfigError::NoKeys))));
        assert!(matches!(several(&["a", ""]), Err(Error::Config(ConfigError::EmptyKey))));
    }

    #[test]
    fn one_wait_for_all() {
        let (all, began) = (several(&["a", "b"]).unwrap(), Timestamp::from_nanos(0));
        let key = &all.keys()[1];
        let asked = all.ask(key, began, began + Duration::from_secs(2));
        assert_eq!((&asked.key, asked.wait), (key, Duration::from_secs(1)));
        let now = began + Duration::from_secs(5);
        assert_eq!(all.ask(key, began, now).wait, Duration::ZERO);
        let told = all.tell(Error::Busy { key: key.clone() }, began, now);
        assert!(matches!(told, Error::TimedOut { waited, .. } if waited == Duration::from_secs(5)));
    }
}
