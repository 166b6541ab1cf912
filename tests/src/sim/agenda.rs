//! What is yet to happen, in order of true time; at one moment, in the order in which it was said.

use std::collections::BTreeMap;

use super::clock::True;

/// Each entry is taken once.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    entries: BTreeMap<(True, u64), T>,
    scheduled: u64,
}

impl<T> Agenda<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: BTreeMap::new(), scheduled: 0 }
    }

    /// What is never to happen is forgotten.
    pub(crate) fn add(&mut self, at: True, what: T) {
        if at != True::NEVER {
            self.scheduled += 1;
            self.entries.insert((at, self.scheduled), what);
        }
    }

    /// What comes next, and when.
    pub(crate) fn next(&mut self) -> Option<(True, T)> {
        self.entries.pop_first().map(|((at, _), what)| (at, what))
    }
}
