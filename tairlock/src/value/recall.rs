//! What a client remembers of its values, and who updates them in turn.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::{Stored, kept::Kept};
use crate::{Key, bell::Queue};

/// The values that a client has handles on, and those that it had handles on lately.
///
/// All handles of one client on one key share what was last seen there: a hint, which the server
/// checks with every write.
#[derive(Debug, Default)]
pub struct Values {
    /// The lines of those who update, one per key; apart from those of the locks.
    pub lines: Arc<Queue>,
    recalled: Mutex<Recalled>,
}

#[derive(Debug, Default)]
struct Recalled {
    in_use: HashMap<Key, Weak<Recall>>,
    kept: Kept,
}

impl Values {
    /// What is remembered of `key`.
    #[must_use]
    pub fn recall(self: &Arc<Self>, key: &Key) -> Arc<Recall> {
        let mut recalled = lock(&self.recalled);
        if let Some(recall) = recalled.in_use.get(key).and_then(Weak::upgrade) {
            return recall;
        }
        let (owner, last) = (Arc::downgrade(self), Mutex::new(recalled.kept.take(key)));
        let recall = Arc::new(Recall { key: key.clone(), owner, last });
        recalled.in_use.insert(key.clone(), Arc::downgrade(&recall));
        recall
    }
}

/// What one client last saw under one key.
pub struct Recall {
    key: Key,
    owner: Weak<Values>,
    last: Mutex<Known>,
}

/// What is known of a value.
#[derive(Clone, Debug, Default)]
pub enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// There was none.
    Absent,
    /// This stood there.
    There(Stored),
}

impl From<Option<Stored>> for Known {
    fn from(stored: Option<Stored>) -> Self {
        stored.map_or(Self::Absent, Self::There)
    }
}

impl Recall {
    /// What was seen last.
    #[must_use]
    pub fn get(&self) -> Known {
        lock(&self.last).clone()
    }

    /// This was seen or written, by someone who stood first in the line.
    pub fn set(&self, known: Known) {
        *lock(&self.last) = known;
    }

    /// This was seen by someone who stood in no line: it may be older than what is remembered.
    pub fn saw(&self, seen: Known) {
        let mut last = lock(&self.last);
        match (&*last, &seen) {
            (_, Known::Nothing) => {}
            (Known::There(known), Known::There(seen)) if seen.version <= known.version => {}
            _ => *last = seen,
        }
    }
}

impl Drop for Recall {
    fn drop(&mut self) {
        let Some(owner) = self.owner.upgrade() else { return };
        let mut recalled = lock(&owner.recalled);
        // Whoever asked in the meantime has made another.
        if recalled.in_use.get(&self.key).is_some_and(|there| there.strong_count() == 0) {
            recalled.in_use.remove(&self.key);
            recalled.kept.put(&self.key, self.get());
        }
    }
}

impl fmt::Debug for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recall").field("key", &self.key).field("last", &self.get()).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_outlives_the_last_handle() {
        let values = Arc::new(Values::default());
        let key = Key::new("k").expect("a key");
        let (one, two) = (values.recall(&key), values.recall(&key));
        one.set(Known::Absent);
        drop(one);
        assert!(matches!(two.get(), Known::Absent));
        drop(two);
        assert!(lock(&values.recalled).in_use.is_empty());
        assert!(matches!(values.recall(&key).get(), Known::Absent));
        // Not of a client that is gone.
        let three = values.recall(&key);
        drop(values);
        drop(three);
    }
}
