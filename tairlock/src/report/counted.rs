//! Counters, gauges and histograms, through the crate `metrics`.
//!
//! Every label is one of a few constants: a key never is one, as there is no end of them.

use std::{
    cell::Cell,
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use metrics::{
    Counter, Gauge, Histogram, Key, Label, Level as Severity, Metadata, Unit, describe_counter,
    describe_gauge, describe_histogram, with_recorder,
};

use super::words;
use crate::LossReason;

const ACQUIRES: &str = "tairlock_acquires_total";
const WAIT: &str = "tairlock_wait_seconds";
const WAITERS: &str = "tairlock_waiters";
const HELD: &str = "tairlock_held";
const HOLD: &str = "tairlock_hold_seconds";
const RELEASES: &str = "tairlock_releases_total";
const RENEWALS: &str = "tairlock_renewals_total";
const MARGIN: &str = "tairlock_renewal_margin_seconds";
const LOSSES: &str = "tairlock_losses_total";
const UPDATES: &str = "tairlock_updates_total";
const ATTEMPTS: &str = "tairlock_update_attempts";
const CONFLICTS: &str = "tairlock_update_conflicts";

/// How a lease can be lost.
const REASONS: [LossReason; 5] = [
    LossReason::Expired,
    LossReason::Taken,
    LossReason::Vanished,
    LossReason::Unreachable,
    LossReason::MaxHold,
];

/// Tells the program's recorder what each of them means. It has to be installed by then.
pub fn describe() {
    describe_counter!(ACQUIRES, Unit::Count, "Calls that asked for a lock, by what came of them.");
    describe_histogram!(WAIT, Unit::Seconds, "How long calls waited for a lock.");
    describe_gauge!(WAITERS, Unit::Count, "Calls that wait for a lock at this moment.");
    describe_gauge!(HELD, Unit::Count, "Leases that are held at this moment.");
    describe_histogram!(HOLD, Unit::Seconds, "How long locks were held.");
    describe_counter!(RELEASES, Unit::Count, "Locks that were given back, by what that did.");
    describe_counter!(RENEWALS, Unit::Count, "Renewals of a lease, confirmed or not.");
    describe_histogram!(MARGIN, Unit::Seconds, "What was left of a lease when it was renewed.");
    describe_counter!(LOSSES, Unit::Count, "Leases that ended before their holder was done.");
    describe_counter!(UPDATES, Unit::Count, "Updates of a value, by what came of them.");
    describe_histogram!(ATTEMPTS, Unit::Count, "How many writes an update tried.");
    describe_histogram!(CONFLICTS, Unit::Count, "How many of them found the value changed.");
}

/// One more of something, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Level(Option<Gauge>);

impl Level {
    fn raise(gauge: Gauge) -> Self {
        gauge.increment(1.0);
        // Kept, so that one recorder sees both, whenever it was installed.
        Self(Some(gauge))
    }

    pub(super) fn lower(&mut self) {
        if let Some(gauge) = self.0.take() {
            gauge.decrement(1.0);
        }
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        self.lower();
    }
}

type Word = &'static str;

fn key(metric: Word, name: Word, more: &[(Word, Word)]) -> Key {
    let mut labels = Vec::with_capacity(1 + more.len());
    labels.push(Label::from_static_parts("name", name));
    labels.extend(more.iter().map(|(label, word)| Label::from_static_parts(label, word)));
    Key::from_parts(metric, labels)
}

static ABOUT: Metadata<'_> = Metadata::new("tairlock", Severity::INFO, Some("tairlock"));

fn counter(key: &Key) -> Counter {
    with_recorder(|recorder| recorder.register_counter(key, &ABOUT))
}

fn gauge(key: &Key) -> Gauge {
    with_recorder(|recorder| recorder.register_gauge(key, &ABOUT))
}

fn histogram(key: &Key) -> Histogram {
    with_recorder(|recorder| recorder.register_histogram(key, &ABOUT))
}

/// What a lock or value is called, with the keys of what happens at every turn: they are made once per name,
/// and a recorder finds them by the hash that they carry.
#[derive(Debug)]
struct Series {
    name: Word,
    /// Whether a lock was asked for under this name.
    locks: AtomicBool,
    waiters: Key,
    granted: Key,
    wait: Key,
    held: Key,
    hold: Key,
    released: Key,
}

impl Series {
    fn new(name: Word) -> Self {
        let granted = ("outcome", words::GRANTED);
        let released = ("outcome", words::RELEASED);
        Self {
            name,
            locks: AtomicBool::new(false),
            waiters: key(WAITERS, name, &[]),
            granted: key(ACQUIRES, name, &[granted, ("fault", words::NO_FAULT)]),
            wait: key(WAIT, name, &[granted]),
            held: key(HELD, name, &[]),
            hold: key(HOLD, name, &[released]),
            released: key(RELEASES, name, &[released]),
        }
    }
}

/// All names that were used, for ever: they are constants of the program, and so are few.
static NAMES: Mutex<Option<HashMap<Word, &'static Series>>> = Mutex::new(None);

thread_local! {
    /// Whoever uses a name often does so many times in a row.
    static LAST: Cell<Option<&'static Series>> = const { Cell::new(None) };
}

/// What a lock or value is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name(&'static Series);

impl Default for Name {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Name {
    pub(super) fn new(name: Option<Word>) -> Self {
        let name = name.unwrap_or(words::UNNAMED);
        let last = LAST.try_with(Cell::get).ok().flatten();
        if let Some(series) = last.filter(|series| std::ptr::eq(series.name, name)) {
            return Self(series);
        }
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let series = *names
            .get_or_insert_default()
            .entry(name)
            .or_insert_with(|| Box::leak(Box::new(Series::new(name))));
        drop(names);
        _ = LAST.try_with(|last| last.set(Some(series)));
        Self(series)
    }

    /// What a lock is called. With the first, all that can be told of it is there, at zero: what comes out of
    /// nothing is no increase to Prometheus, which would miss the first loss.
    pub(super) fn of_lock(name: Option<Word>) -> Self {
        let name = Self::new(name);
        if !name.0.locks.load(Ordering::Relaxed) && !name.0.locks.swap(true, Ordering::Relaxed) {
            gauge(&name.0.waiters).increment(0.0);
            gauge(&name.0.held).increment(0.0);
            counter(&name.0.granted).increment(0);
            counter(&name.0.released).increment(0);
            for outcome in [words::CONFIRMED, words::UNCONFIRMED] {
                counter(&name.key(RENEWALS, &[("outcome", outcome)])).increment(0);
            }
            for reason in REASONS {
                counter(&name.key(LOSSES, &[("reason", words::loss(reason))])).increment(0);
            }
            _ = histogram(&name.key(MARGIN, &[]));
        }
        name
    }

    pub(super) const fn text(self) -> Word {
        self.0.name
    }

    fn key(self, metric: Word, more: &[(Word, Word)]) -> Key {
        key(metric, self.0.name, more)
    }

    pub(super) fn waits(self) -> Level {
        Level::raise(gauge(&self.0.waiters))
    }

    pub(super) fn answered(self, outcome: Word, fault: Word, waited: Duration) {
        if outcome == words::GRANTED {
            counter(&self.0.granted).increment(1);
            histogram(&self.0.wait).record(waited);
        } else {
            self.declined(outcome, fault);
            histogram(&self.key(WAIT, &[("outcome", outcome)])).record(waited);
        }
    }

    pub(super) fn declined(self, outcome: Word, fault: Word) {
        counter(&self.key(ACQUIRES, &[("outcome", outcome), ("fault", fault)])).increment(1);
    }

    pub(super) fn held(self) -> Level {
        Level::raise(gauge(&self.0.held))
    }

    pub(super) fn let_go(self, held: Duration) {
        histogram(&self.0.hold).record(held);
    }

    pub(super) fn returned(self, outcome: Word) {
        if outcome == words::RELEASED {
            counter(&self.0.released).increment(1);
        } else {
            counter(&self.key(RELEASES, &[("outcome", outcome)])).increment(1);
        }
    }

    pub(super) fn renewed(self, outcome: Word) {
        counter(&self.key(RENEWALS, &[("outcome", outcome)])).increment(1);
    }

    pub(super) fn margin(self, left: Duration) {
        histogram(&self.key(MARGIN, &[])).record(left);
    }

    /// A lease ended before its holder was done; `held` unless that was counted already.
    pub(super) fn lost(self, reason: Word, held: Option<Duration>) {
        counter(&self.key(LOSSES, &[("reason", reason)])).increment(1);
        if let Some(held) = held {
            histogram(&self.key(HOLD, &[("outcome", words::LOST)])).record(held);
        }
    }

    pub(super) fn updated(self, outcome: Word, attempts: u32, conflicts: u32) {
        counter(&self.key(UPDATES, &[("outcome", outcome)])).increment(1);
        histogram(&self.key(ATTEMPTS, &[])).record(attempts);
        histogram(&self.key(CONFLICTS, &[])).record(conflicts);
    }
}
