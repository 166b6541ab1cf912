//! Counters, gauges and histograms, through the crate `metrics`.
//!
//! Every label is one of a few constants: a key never is one, as there is no end of them.

use std::time::Duration;

use metrics::{
    Gauge, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

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

/// Tells the program's recorder what each of them means. It has to be installed by then.
pub fn describe() {
    describe_counter!(ACQUIRES, Unit::Count, "Calls that asked for a lock, by what came of them.");
    describe_histogram!(WAIT, Unit::Seconds, "How long calls waited for a lock.");
    describe_gauge!(WAITERS, Unit::Count, "Calls that ask for a lock at this moment.");
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

pub(super) fn asked(name: Word) -> Level {
    Level::raise(gauge!(WAITERS, "name" => name))
}

pub(super) fn answered(name: Word, outcome: Word, fault: Word, waited: Duration) {
    declined(name, outcome, fault);
    histogram!(WAIT, "name" => name, "outcome" => outcome).record(waited);
}

pub(super) fn declined(name: Word, outcome: Word, fault: Word) {
    counter!(ACQUIRES, "name" => name, "outcome" => outcome, "fault" => fault).increment(1);
}

pub(super) fn held(name: Word) -> Level {
    Level::raise(gauge!(HELD, "name" => name))
}

pub(super) fn ended(name: Word, outcome: Word, held: Duration) {
    histogram!(HOLD, "name" => name, "outcome" => outcome).record(held);
}

pub(super) fn returned(name: Word, outcome: Word) {
    counter!(RELEASES, "name" => name, "outcome" => outcome).increment(1);
}

pub(super) fn renewed(name: Word, outcome: Word) {
    counter!(RENEWALS, "name" => name, "outcome" => outcome).increment(1);
}

pub(super) fn margin(name: Word, left: Duration) {
    histogram!(MARGIN, "name" => name).record(left);
}

pub(super) fn lost(name: Word, reason: Word) {
    counter!(LOSSES, "name" => name, "reason" => reason).increment(1);
}

pub(super) fn updated(name: Word, outcome: Word, attempts: u32, conflicts: u32) {
    counter!(UPDATES, "name" => name, "outcome" => outcome).increment(1);
    histogram!(ATTEMPTS, "name" => name).record(attempts);
    histogram!(CONFLICTS, "name" => name).record(conflicts);
}
