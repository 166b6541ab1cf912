//! No counters, gauges and histograms: the feature `metrics` is off.

use std::time::Duration;

use super::words;

/// Tells nobody what nothing means.
pub const fn describe() {}

#[derive(Debug, Default)]
pub(super) struct Level;

impl Level {
    pub(super) const fn lower(&mut self) {}
}

type Word = &'static str;

/// What a lock or value is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name(Word);

impl Default for Name {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Name {
    pub(super) const fn new(name: Option<Word>) -> Self {
        match name {
            Some(name) => Self(name),
            None => Self(words::UNNAMED),
        }
    }

    pub(super) const fn of_lock(name: Option<Word>) -> Self {
        Self::new(name)
    }

    pub(super) const fn text(self) -> Word {
        self.0
    }

    pub(super) const fn waits(self) -> Level {
        Level
    }

    pub(super) const fn answered(self, _outcome: Word, _fault: Word, _waited: Duration) {}

    pub(super) const fn declined(self, _outcome: Word, _fault: Word) {}

    pub(super) const fn held(self) -> Level {
        Level
    }

    pub(super) const fn let_go(self, _held: Duration) {}

    pub(super) const fn returned(self, _outcome: Word) {}

    pub(super) const fn renewed(self, _outcome: Word) {}

    pub(super) const fn margin(self, _left: Duration) {}

    pub(super) const fn lost(self, _reason: Word, _held: Option<Duration>) {}

    pub(super) const fn updated(self, _outcome: Word, _attempts: u32, _conflicts: u32) {}
}
