//! No counters, gauges and histograms: the feature `metrics` is off.

use std::time::Duration;

/// Tells nobody what nothing means.
pub const fn describe() {}

#[derive(Debug, Default)]
pub(super) struct Level;

impl Level {
    pub(super) const fn lower(&mut self) {}
}

type Word = &'static str;

pub(super) const fn asked(_name: Word) -> Level {
    Level
}

pub(super) const fn answered(_name: Word, _outcome: Word, _fault: Word, _waited: Duration) {}

pub(super) const fn declined(_name: Word, _outcome: Word, _fault: Word) {}

pub(super) const fn held(_name: Word) -> Level {
    Level
}

pub(super) const fn ended(_name: Word, _outcome: Word, _held: Duration) {}

pub(super) const fn returned(_name: Word, _outcome: Word) {}

pub(super) const fn renewed(_name: Word, _outcome: Word) {}

pub(super) const fn margin(_name: Word, _left: Duration) {}

pub(super) const fn lost(_name: Word, _reason: Word) {}

pub(super) const fn updated(_name: Word, _outcome: Word, _attempts: u32, _conflicts: u32) {}
