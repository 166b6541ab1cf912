//! What was last seen of values that nobody has a handle on just now: the next handle begins with it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::Known;
use crate::Key;

/// How many values are kept.
const VALUES: usize = 1_024;
/// How many bytes the values have at most, together.
const BYTES: usize = 4 << 20;
/// How many bytes one may have: a large one would drive out many.
const LONGEST: usize = 64 << 10;

/// The values that were used last.
#[derive(Debug, Default)]
pub(super) struct Kept {
    values: HashMap<Key, (u64, Known)>,
    /// The oldest first.
    order: BTreeMap<u64, Key>,
    next: u64,
    bytes: usize,
}

impl Kept {
    /// Keeps what is known of `key`, in the place of what was used longest ago.
    pub(super) fn put(&mut self, key: &Key, known: Known) {
        self.take(key);
        if matches!(known, Known::Nothing) || len(&known) > LONGEST {
            return;
        }
        self.bytes += len(&known);
        self.values.insert(key.clone(), (self.next, known));
        self.order.insert(self.next, key.clone());
        self.next += 1;
        while self.values.len() > VALUES || self.bytes > BYTES {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            self.forget(&oldest);
        }
    }

    /// What is known of `key`, and no longer kept.
    pub(super) fn take(&mut self, key: &Key) -> Known {
        let Some((at, known)) = self.forget(key) else { return Known::Nothing };
        self.order.remove(&at);
        known
    }

    fn forget(&mut self, key: &Key) -> Option<(u64, Known)> {
        let (at, known) = self.values.remove(key)?;
        self.bytes -= len(&known);
        Some((at, known))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.values.len(), self.order.len());
        self.values.len()
    }
}

fn len(known: &Known) -> usize {
    match known {
        Known::Nothing | Known::Absent => 0,
        Known::There(stored) => Arc::as_ref(&stored.value).len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Stored;

    fn key(n: usize) -> Key {
        Key::new(n.to_string()).expect("a key")
    }

    fn there(len: usize) -> Known {
        Known::There(Stored { value: vec![0; len].into(), version: 1, mark: None })
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut kept = Kept::default();
        for n in 0..VALUES {
            kept.put(&key(n), there(1));
        }
        kept.put(&key(0), there(1));
        kept.put(&key(VALUES), there(1));
        assert!(matches!(kept.take(&key(1)), Known::Nothing));
        assert!(matches!(kept.take(&key(0)), Known::There(_)));
        assert!(matches!(kept.take(&key(0)), Known::Nothing), "it was taken");
        assert_eq!((kept.len(), kept.bytes), (VALUES - 1, VALUES - 1));
    }

    #[test]
    fn it_has_a_bound_in_bytes() {
        let mut kept = Kept::default();
        kept.put(&key(0), there(LONGEST + 1));
        kept.put(&key(1), Known::Nothing);
        assert_eq!(kept.len(), 0);
        for n in 0..200 {
            kept.put(&key(n), there(LONGEST));
        }
        assert_eq!((kept.len(), kept.bytes), (BYTES / LONGEST, BYTES));
        kept.put(&key(199), Known::Absent);
        assert_eq!((kept.len(), kept.bytes), (BYTES / LONGEST, BYTES - LONGEST));
    }
}
