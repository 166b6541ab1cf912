//! Who asked about a key and is to be told, once, when it changes.

use std::collections::{BTreeSet, HashMap};

use super::Store;
use crate::{
    Fault, Key,
    proto::{Op, Renewal, Verdict},
    time::Timestamp,
    value::ValueOp,
};

/// Listeners, by number, and what they are to be told.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracking {
    asked: HashMap<Key, BTreeSet<u64>>,
    told: Vec<(u64, Key)>,
}

impl Tracking {
    pub(super) fn changed(&mut self, key: &Key) {
        let listeners = self.asked.remove(key).unwrap_or_default();
        self.told.extend(listeners.into_iter().map(|listener| (listener, key.clone())));
    }

    pub(super) fn changed_by(&mut self, op: &Op, verdict: &Verdict) {
        if self.asked.is_empty() {
            return;
        }
        match (op, verdict) {
            (Op::Acquire { key, .. }, Verdict::Granted)
            | (Op::AcquireFenced { key, .. }, Verdict::Issued { again: false, .. })
            | (Op::Release { key, .. }, Verdict::Released)
            | (Op::Retain(Renewal { key, .. }), Verdict::Retained)
            | (Op::ForceRelease(key), Verdict::Evicted(_))
            | (Op::Value(ValueOp { key, .. }), Verdict::Written(_) | Verdict::Removed)
            | (Op::Fenced(key, _), Verdict::Accepted) => {
                self.changed(key);
            }
            (Op::RenewMany(renewals), Verdict::Many(verdicts)) => {
                for (renewal, verdict) in renewals.iter().zip(verdicts) {
                    if matches!(verdict, Ok(Verdict::Renewed)) {
                        self.changed(&renewal.key);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Store {
    /// As [`Store::apply`], asked by a listener: it is told of the next change of every key that it asks
    /// about, but not that a key has expired.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn apply_for(&mut self, listener: u64, op: &Op, now: Timestamp) -> Result<Verdict, Fault> {
        if let Op::Remaining { key } = op {
            self.tracking.asked.entry(key.clone()).or_default().insert(listener);
        }
        self.apply(op, now)
    }

    /// What listeners are to be told since this was last asked: each one's number, and the key.
    pub fn news(&mut self) -> Vec<(u64, Key)> {
        std::mem::take(&mut self.tracking.told)
    }

    /// `listener` is gone.
    pub fn deafen(&mut self, listener: u64) {
        self.tracking.told.retain(|(told, _)| *told != listener);
        self.tracking.asked.retain(|_, listeners| {
            listeners.remove(&listener);
            !listeners.is_empty()
        });
    }

    /// How many keys somebody listens for.
    #[must_use]
    pub fn tracked(&self) -> usize {
        self.tracking.asked.len()
    }
}
