//! A request's way in, its turn to be done, and its end: the states of a record.

use std::{fmt, sync::Arc};

use sha2::{Digest, Sha256};
use tairlock::{Error, Expiry, LockGuard, Snapshot, Versioned};
use tokio::sync::watch;

use super::{
    Fingerprint, Idempotency, Running, Stored, Unfinished,
    record::{RECORD, Record, State},
};
use crate::{Refusal, held::under};

/// What records and their locks are called in spans and metrics.
const NAME: &str = "idempotency";

/// What a request is to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Entry {
    /// Give this answer, which was given before.
    Replay(Stored),
    /// Be done. Nobody else with the key is under way.
    Run(Box<Run>),
}

/// How the work of a request ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended {
    /// With an answer to be given again.
    Kept(Stored),
    /// With an answer that is too long to be kept.
    NotKept,
    /// With an answer which says that nothing was done.
    Undone,
}

impl Idempotency {
    /// Looks up what became of the request with `key` ([`key_of`](Self::key_of)), waiting for another one
    /// with that key which is under way.
    ///
    /// # Errors
    /// [`Refusal::IdempotencyKeyReused`], [`Refusal::InFlight`], [`Refusal::Unfinished`],
    /// [`Refusal::NotKept`]; [`Refusal::Lock`] if a server failed, or after [`close`](Self::close).
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn enter(&self, key: String, fingerprint: Fingerprint) -> Result<Entry, Refusal> {
        let expiry = Expiry::After(self.rule.expire_after);
        let record = self.client.versioned_with(&key, RECORD).expire(expiry).name(NAME);
        let asking = Asking { key: &key, fingerprint: &fingerprint };
        if let Some(stored) = asking.answer(record.read().await?)? {
            return Ok(Entry::Replay(stored));
        }
        let lock = self
            .client
            .lock(format!("{key}:lock"))
            .ttl(self.rule.ttl)
            .wait(self.rule.wait)
            .name(NAME);
        let guard = match lock.acquire().await {
            Ok(guard) => guard,
            Err(error) if error.is_busy() => {
                // Many may be in the line only to look.
                return match asking.answer(record.read().await?)? {
                    Some(stored) => Ok(Entry::Replay(stored)),
                    None => Err(Refusal::InFlight { key }),
                };
            }
            Err(error) => return Err(error.into()),
        };
        let seen = record.read().await?;
        let begun = seen.as_ref().map(|seen| seen.version);
        if let Some(stored) = asking.answer(seen)? {
            return Ok(Entry::Replay(stored));
        }
        if begun.is_some() && self.rule.unfinished == Unfinished::Refuse {
            return Err(Refusal::Unfinished { key });
        }
        // A token is a secret, and its hash is as good a name.
        let hash = Sha256::digest(guard.lease().token().as_bytes());
        let run = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let own = Record { fingerprint: fingerprint.0, run, state: State::Begun };
        let unfinished = self.rule.unfinished;
        let counted = Counted::one(&self.running).ok_or(Error::Closed)?;
        let run = Run { guard, record, own, key, version: begun, unfinished, counted };
        Ok(Entry::Run(Box::new(run)))
    }
}

struct Asking<'a> {
    key: &'a str,
    fingerprint: &'a Fingerprint,
}

impl Asking<'_> {
    /// The answer that is on record; `None` if there is none yet.
    fn answer(&self, seen: Option<Snapshot<Record>>) -> Result<Option<Stored>, Refusal> {
        let Some(Snapshot { value: record, .. }) = seen else { return Ok(None) };
        let key = || self.key.to_owned();
        if record.fingerprint != self.fingerprint.0 {
            return Err(Refusal::IdempotencyKeyReused { key: key() });
        }
        match record.state {
            State::Begun => Ok(None),
            State::Done(stored) => Ok(Some(stored)),
            State::NotKept => Err(Refusal::NotKept { key: key() }),
        }
    }
}

/// A request whose turn it is. Dropped before [`end`](Self::end), it was begun and not brought to an end.
#[must_use]
pub struct Run {
    guard: LockGuard,
    record: Versioned<Record>,
    own: Record,
    key: String,
    version: Option<u64>,
    unfinished: Unfinished,
    counted: Counted,
}

impl Run {
    /// Records that the request is begun. From here on, it counts as unfinished until its end.
    ///
    /// # Errors
    /// [`Refusal::InFlight`] if somebody else began it meanwhile; [`Refusal::Lock`].
    ///
    /// # Cancel safety
    /// Not to be dropped: it may be recorded as begun, and would be unfinished for ever.
    pub async fn begin(&mut self) -> Result<(), Refusal> {
        let written = match self.version {
            None => self.record.create(&self.own).await,
            Some(version) => self.record.compare_and_set(&self.own, version).await,
        };
        let version = match written {
            Ok(version) => version,
            Err(Error::Conflict { .. }) => return Err(Refusal::InFlight { key: self.key.clone() }),
            Err(error @ Error::MaybeCommitted { .. }) => match self.record.read().await? {
                Some(Snapshot { value, version }) if value == self.own => version,
                _ => return Err(error.into()),
            },
            Err(error) => return Err(error.into()),
        };
        self.version = Some(version);
        Ok(())
    }

    /// Does the request's work; it is dropped at its next await if the lease is lost.
    ///
    /// # Errors
    /// [`Refusal::Lock`] with [`Error::Lost`].
    pub async fn cover<F: Future>(&self, work: F) -> Result<F::Output, Refusal> {
        Ok(under(&self.guard, work).await?)
    }

    /// Records how the request ended, and gives the lock back.
    ///
    /// If a server failed so that it is not recorded, the answer is good all the same where nobody does
    /// the request again ([`Unfinished::Refuse`]): that is no error then.
    ///
    /// # Errors
    /// [`Refusal::Overtaken`] if the request was begun again elsewhere; [`Refusal::Lock`].
    ///
    /// # Cancel safety
    /// Not to be dropped: the request would count as unfinished.
    pub async fn end(self, ended: Ended) -> Result<(), Refusal> {
        let recorded = self.recorded(ended).await;
        // The record decides, not the lock.
        _ = self.guard.release().await;
        drop(self.counted);
        match recorded {
            Ok(()) => Ok(()),
            Err(Error::Conflict { .. }) => Err(Refusal::Overtaken { key: self.key }),
            Err(_) if self.unfinished == Unfinished::Refuse => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn recorded(&self, ended: Ended) -> Result<(), Error> {
        let version = self.version.unwrap_or_default();
        let state = match ended {
            Ended::Kept(stored) => State::Done(stored),
            Ended::NotKept => State::NotKept,
            Ended::Undone => return self.record.remove(version).await,
        };
        let done = Record { state, ..self.own.clone() };
        match self.record.compare_and_set(&done, version).await {
            Err(error @ Error::MaybeCommitted { .. }) => match self.record.read().await? {
                Some(seen) if seen.value == done => Ok(()),
                Some(seen) if seen.value.run != done.run => {
                    let (expected, found) = (Some(version), Some(seen.version));
                    Err(Error::Conflict { key: self.record.key()?.clone(), expected, found })
                }
                _ => Err(error),
            },
            other => other.map(drop),
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("key", &self.key).finish_non_exhaustive()
    }
}

/// One request under way, for as long as this lives.
struct Counted(Arc<watch::Sender<Running>>);

impl Counted {
    /// `None` if no more may be begun.
    fn one(running: &Arc<watch::Sender<Running>>) -> Option<Self> {
        let mut one = None;
        running.send_modify(|state| {
            if !state.closed {
                state.requests += 1;
                one = Some(Self(Arc::clone(running)));
            }
        });
        one
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|running| running.requests -= 1);
    }
}
