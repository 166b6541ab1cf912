//! The embedded server: what every operation does, said once, as data and a function of time.
//!
//! It backs the in-memory client, and it is the specification that every dialect is compared with.

use std::collections::HashMap;

use crate::{
    Fault, Key, Token,
    fault::FaultKind,
    proto::{Op, Renewal, Seen, Verdict},
    time::Timestamp,
    value::{FencedValue, Stored},
};

mod fences;
mod shared;
mod tracking;
mod values;

pub use shared::{Ear, SharedStore};
use tracking::Tracking;

/// After how many operations expired keys are swept out, so that names used once cost nothing.
const SWEEP_EVERY: u64 = 4096;

/// Keys, what stands under them, and when they expire.
#[derive(Clone, Debug, Default)]
pub struct Store {
    keys: HashMap<Key, Entry>,
    applied: u64,
    /// The highest version that a value was given.
    newest: u64,
    /// The wall clock's microseconds when the lease clock stood at zero.
    epoch: u64,
    condition: Condition,
    tracking: Tracking,
}

/// What a server takes at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Everything.
    #[default]
    Well,
    /// Nothing that may need memory, as past `maxmemory`: an acquire is refused whatever stands under
    /// its key, while a renewal and a release need none.
    Full,
    /// Nothing that changes a key, as on a replica.
    ReadOnly,
}

#[derive(Clone, Debug)]
struct Entry {
    value: Value,
    expires: Timestamp,
}

#[derive(Clone, Debug)]
enum Value {
    Token(Token),
    Versioned(Stored),
    Fenced(FencedValue),
    Foreign,
}

impl Store {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Does what `op` asks for, at the moment `now`.
    ///
    /// # Errors
    /// [`FaultKind::WrongType`], where something that is no lock stands under a key; and what the
    /// store's [`Condition`] refuses.
    pub fn apply(&mut self, op: &Op, now: Timestamp) -> Result<Verdict, Fault> {
        let verdict = self.done(op, now);
        if let Ok(verdict) = &verdict {
            self.tracking.changed_by(op, verdict);
        }
        verdict
    }

    fn done(&mut self, op: &Op, now: Timestamp) -> Result<Verdict, Fault> {
        self.applied += 1;
        if self.applied.is_multiple_of(SWEEP_EVERY) {
            self.keys.retain(|_, entry| now < entry.expires);
        }
        match op {
            Op::Acquire { .. } if self.condition == Condition::Full => {
                Err(Fault::new(FaultKind::OutOfMemory, "the store is full"))
            }
            Op::Acquire { key, token, ttl } => match self.token(key, now)? {
                Some(held) if held == token => Ok(Verdict::Ours),
                Some(_) => Ok(Verdict::Busy),
                None => {
                    self.writable()?;
                    let value = Value::Token(token.clone());
                    let expires = now + ttl.as_duration();
                    self.keys.insert(key.clone(), Entry { value, expires });
                    Ok(Verdict::Granted)
                }
            },
            Op::AcquireFenced { key, token, ttl } => self.acquire_fenced(key, token, *ttl, now),
            Op::RenewMany(renewals) => {
                Ok(Verdict::Many(renewals.iter().map(|renewal| self.renew(renewal, now)).collect()))
            }
            Op::Release { key, token } => Ok(match self.token(key, now)? {
                Some(held) if held == token => {
                    self.writable()?;
                    self.keys.remove(key);
                    Verdict::Released
                }
                Some(_) => Verdict::Taken,
                None => Verdict::Gone,
            }),
            Op::Retain(renewal) => Ok(match self.renew(renewal, now)? {
                Verdict::Renewed => Verdict::Retained,
                other => other,
            }),
            Op::Inspect(key) => Ok(self.seen(key, now)?.map_or(Verdict::Gone, Verdict::Seen)),
            Op::ForceRelease(key) => match self.seen(key, now)? {
                None => Ok(Verdict::Gone),
                Some(seen) => {
                    self.writable()?;
                    self.keys.remove(key);
                    Ok(Verdict::Evicted(seen))
                }
            },
            Op::Remaining { key } => Ok(match self.expires(key, now) {
                None => Verdict::Gone,
                Some(Timestamp::NEVER) => Verdict::Remaining(None),
                Some(expires) => Verdict::Remaining(Some(expires.since(now))),
            }),
            Op::Value(op) => self.apply_value(op, now),
            Op::Fenced(key, action) => self.apply_fenced(key, action, now),
            // There are no replicas.
            Op::Copies { .. } => Ok(Verdict::Copies(0)),
            Op::Confirmed(_) => Err(Fault::new(
                FaultKind::Unsupported,
                "the embedded server has no replicas to confirm a lock; ask for it without `confirm`",
            )),
        }
    }

    /// Puts a string under `key` that never expires, as another program might: to a lock it is
    /// somebody's token.
    pub fn put(&mut self, key: Key, text: Token) {
        self.tracking.changed(&key);
        self.keys.insert(key, Entry { value: Value::Token(text), expires: Timestamp::NEVER });
    }

    /// Puts something under `key` that is no lock and never expires, as another program might.
    pub fn put_foreign(&mut self, key: Key) {
        self.tracking.changed(&key);
        self.keys.insert(key, Entry { value: Value::Foreign, expires: Timestamp::NEVER });
    }

    /// Deletes `key`, as another program might; says whether it was there.
    pub fn delete(&mut self, key: &Key, now: Timestamp) -> bool {
        self.tracking.changed(key);
        self.keys.remove(key).is_some_and(|entry| now < entry.expires)
    }

    /// Lets `key` expire at `at` if it is there, as another program might; says whether it was.
    pub fn expire(&mut self, key: &Key, at: Timestamp, now: Timestamp) -> bool {
        self.tracking.changed(key);
        let entry = self.keys.get_mut(key).filter(|entry| now < entry.expires);
        entry.map(|entry| entry.expires = at).is_some()
    }

    /// What the wall clock shows at `now`, which fences follow: they are kept by databases that outlive
    /// this process. Until told, a store's wall clock began with its lease clock.
    pub fn set_wall_clock(&mut self, unix_micros: u64, now: Timestamp) {
        self.epoch = unix_micros.saturating_sub(micros(now));
    }

    /// What the store takes from here on.
    pub const fn set_condition(&mut self, condition: Condition) {
        self.condition = condition;
    }

    /// What stands under `key`.
    ///
    /// # Errors
    /// [`FaultKind::WrongType`].
    pub fn token(&self, key: &Key, now: Timestamp) -> Result<Option<&Token>, Fault> {
        match self.keys.get(key).filter(|entry| now < entry.expires) {
            None => Ok(None),
            Some(Entry { value: Value::Token(token), .. }) => Ok(Some(token)),
            Some(Entry {
                value: Value::Foreign | Value::Versioned(_) | Value::Fenced(_), ..
            }) => {
                Err(Fault::new(FaultKind::WrongType, "the key holds something that is not a lock"))
            }
        }
    }

    /// When `key` expires, if it is there.
    #[must_use]
    pub fn expires(&self, key: &Key, now: Timestamp) -> Option<Timestamp> {
        self.keys.get(key).map(|entry| entry.expires).filter(|&expires| now < expires)
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self, now: Timestamp) -> usize {
        self.keys.values().filter(|entry| now < entry.expires).count()
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self, now: Timestamp) -> bool {
        self.len(now) == 0
    }

    /// How many operations were applied.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }

    fn seen(&self, key: &Key, now: Timestamp) -> Result<Option<Seen>, Fault> {
        let expires = self.expires(key, now).filter(|&at| at != Timestamp::NEVER);
        let left = expires.map(|at| at.since(now));
        Ok(self.token(key, now)?.map(|token| Seen { token: token.clone(), left }))
    }

    fn writable(&self) -> Result<(), Fault> {
        match self.condition {
            Condition::Well | Condition::Full => Ok(()),
            Condition::ReadOnly => {
                Err(Fault::new(FaultKind::ReadOnly, "the store takes no writes"))
            }
        }
    }

    fn renew(&mut self, renewal: &Renewal, now: Timestamp) -> Result<Verdict, Fault> {
        Ok(match self.token(&renewal.key, now)? {
            Some(held) if *held == renewal.token => {
                self.writable()?;
                if let Some(entry) = self.keys.get_mut(&renewal.key) {
                    entry.expires = now + renewal.ttl.as_duration();
                }
                Verdict::Renewed
            }
            Some(_) => Verdict::Taken,
            None => Verdict::Gone,
        })
    }
}

fn micros(now: Timestamp) -> u64 {
    u64::try_from(now.since(Timestamp::from_nanos(0)).as_micros()).unwrap_or(u64::MAX)
}
