//! What the embedded server does with versioned values.

use super::{Condition, Entry, Store, Value};
use crate::{
    Fault, Key,
    fault::FaultKind,
    proto::Verdict,
    time::Timestamp,
    value::{Action, Draft, Expiry, First, LAST_VERSION, Stored, ValueOp, version_at_its_end},
};

impl Store {
    /// Does what `op` asks for, at the moment `now`, which is also the clock that new versions begin at.
    pub(super) fn apply_value(&mut self, op: &ValueOp, now: Timestamp) -> Result<Verdict, Fault> {
        let needs_memory = matches!(
            op.action,
            Action::Swap { .. } | Action::Create { .. } | Action::Overwrite { .. }
        );
        if needs_memory && self.condition == Condition::Full {
            return Err(Fault::new(FaultKind::OutOfMemory, "the store is full"));
        }
        let key = &op.key;
        let held = self.stored(key, now)?.cloned();
        match (&op.action, held) {
            (Action::Read, held) => Ok(held.map_or(Verdict::Gone, Verdict::Stored)),
            (Action::Swap { .. } | Action::Remove { .. }, None) => Ok(Verdict::Gone),
            (Action::Swap { expected, .. } | Action::Remove { expected }, Some(held))
                if held.version != *expected =>
            {
                Ok(Verdict::Stored(held))
            }
            (Action::Swap { expected, draft }, Some(_)) => {
                self.write(key, draft, after(*expected)?, now)
            }
            (Action::Remove { .. }, Some(_)) => {
                self.writable()?;
                self.keys.remove(key);
                Ok(Verdict::Removed)
            }
            (Action::Create { .. }, Some(held)) => Ok(Verdict::Stored(held)),
            (Action::Overwrite { draft, .. }, Some(held)) => {
                self.write(key, draft, after(held.version)?, now)
            }
            (Action::Create { draft, first } | Action::Overwrite { draft, first }, None) => {
                let version = self.begin(*first, now);
                self.write(key, draft, version, now)
            }
        }
    }

    /// The versioned value under `key`.
    ///
    /// # Errors
    /// [`FaultKind::WrongType`].
    pub fn stored(&self, key: &Key, now: Timestamp) -> Result<Option<&Stored>, Fault> {
        match self.keys.get(key).filter(|entry| now < entry.expires) {
            None => Ok(None),
            Some(Entry { value: Value::Versioned(stored), .. }) => Ok(Some(stored)),
            Some(Entry { value, .. }) => {
                let kind = match value {
                    Value::Token(_) => "string",
                    _ => "hash",
                };
                let text = format!("the key holds a {kind}, and no versioned value");
                Err(Fault::new(FaultKind::WrongType, text))
            }
        }
    }

    /// Puts a versioned value under `key` that never expires, as another program might.
    pub fn put_stored(&mut self, key: Key, stored: Stored) {
        let value = Value::Versioned(stored);
        self.keys.insert(key, Entry { value, expires: Timestamp::NEVER });
    }

    /// The version of a new value: what the clock shows, and above all versions before, as a server
    /// takes longer for a change than its clock for a step.
    fn begin(&self, first: First, now: Timestamp) -> u64 {
        match first {
            First::Clock => {
                let micros = now.since(Timestamp::from_nanos(0)).as_micros();
                u64::try_from(micros).unwrap_or(0).max(self.newest + 1)
            }
            First::At(version) => version,
        }
    }

    fn write(
        &mut self,
        key: &Key,
        draft: &Draft,
        version: u64,
        now: Timestamp,
    ) -> Result<Verdict, Fault> {
        self.writable()?;
        let expires = match draft.expiry {
            Expiry::Persist => Timestamp::NEVER,
            Expiry::After(lifetime) => now + lifetime,
            Expiry::Keep => self.expires(key, now).unwrap_or(Timestamp::NEVER),
        };
        // Versions beyond are of other origin, and no clock comes near them.
        if version < 1 << 52 {
            self.newest = self.newest.max(version);
        }
        let Draft { value, mark, .. } = draft.clone();
        let value = Value::Versioned(Stored { value, version, mark: Some(mark) });
        self.keys.insert(key.clone(), Entry { value, expires });
        Ok(Verdict::Written(version))
    }
}

fn after(version: u64) -> Result<u64, Fault> {
    if version < LAST_VERSION { Ok(version + 1) } else { Err(version_at_its_end()) }
}
