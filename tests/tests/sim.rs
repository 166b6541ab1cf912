//! The simulation, over as many seeds as it is given, and with every machine that is broken on purpose.
//!
//! `TAIRLOCK_SEEDS=n` says how many, `TAIRLOCK_SEED=s` runs one with its whole trace.

#[path = "sim/quorum.rs"]
mod quorum;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tairlock_tests::sim::{Breakage, Failure, Profile, Tally, run, trace};

const SEEDS: u64 = 2_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// All seeds from 0 on, on every core.
fn run_all(seeds: u64) -> (Tally, Vec<Failure>) {
    let next = AtomicU64::new(0);
    let work = || {
        let (mut tally, mut failures) = (Tally::default(), Vec::new());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds || failures.len() > 2 {
                return (tally, failures);
            }
            match run(seed, None) {
                Ok(one) => tally.add(&one),
                Err(failure) => failures.push(*failure),
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut all = (Tally::default(), Vec::new());
        for worker in workers {
            let (tally, failures) = worker.join().expect("a worker");
            all.0.add(&tally);
            all.1.extend(failures);
        }
        all.1.sort_by_key(|failure| failure.seed);
        all
    })
}

/// O25, O44, O45, T3, T7, T9: releases beside renewals, clocks that are stopped, suspended and set, clients that are
/// killed at any step.
#[test]
fn every_law_holds_in_every_seed() {
    if let Some(seed) = number("TAIRLOCK_SEED") {
        if let Err(failure) = run(seed, None) {
            panic!("{failure}");
        }
        return;
    }
    let seeds = number("TAIRLOCK_SEEDS").unwrap_or(SEEDS);
    let (tally, failures) = run_all(seeds);
    if let Some(failure) = failures.first() {
        panic!("{failure}");
    }
    let once_each = [
        tally.grants,
        tally.found_again,
        tally.renewals,
        tally.releases,
        tally.fences,
        tally.retained,
        tally.overdue,
        tally.losses,
        tally.cancelled,
        tally.timed_out,
        tally.failed,
        tally.pushes,
    ];
    assert!(once_each.iter().all(|&n| n * 20 >= seeds), "much never happened: {tally:?}");
}

#[test]
fn a_seed_replays() {
    for seed in 0..Profile::ALL.len() as u64 * 5 {
        assert_eq!(trace(seed), trace(seed), "seed {seed}");
    }
}

/// The first failure of a broken machine, which must be one of these laws.
fn finds(breakage: Breakage, laws: &[&str]) {
    let failure = (0..SEEDS).find_map(|seed| run(seed, Some(breakage)).err());
    let failure = failure.unwrap_or_else(|| panic!("{breakage:?}: not found in {SEEDS} seeds"));
    assert!(laws.contains(&failure.law), "{breakage:?}: {failure}");
}

#[test]
fn finds_a_release_that_checks_no_token() {
    finds(Breakage::ReleaseUnchecked, &["I5 release", "I2 exclusion"]);
}

#[test]
fn finds_a_renewal_that_checks_no_token() {
    finds(Breakage::RenewUnchecked, &["I6 renewal", "a lease outlives its key"]);
}

#[test]
fn finds_a_renewal_that_makes_the_key_again() {
    finds(Breakage::RenewalMakesKey, &["I6 renewal"]);
}

#[test]
fn finds_a_renewal_that_counts_though_it_found_nothing() {
    finds(Breakage::RenewalFindsNothing, &["a lease outlives its key"]);
}

#[test]
fn finds_a_clock_that_is_read_after_the_send() {
    finds(Breakage::ClockAfterSend, &["I7 accounting", "I2 exclusion"]);
}

#[test]
fn finds_a_roll_back_on_another_connection() {
    finds(Breakage::RollBackElsewhere, &["I8 residue"]);
}

#[test]
fn finds_that_nothing_is_rolled_back() {
    finds(Breakage::NoRollBack, &["I8 residue"]);
}

#[test]
fn finds_a_fresh_token_after_a_lost_reply() {
    finds(Breakage::FreshToken, &["I8 residue"]);
}

#[test]
fn finds_a_renewal_after_the_release() {
    finds(Breakage::RenewsAfterRelease, &["I6 silence", "I2 exclusion"]);
}

#[test]
fn finds_a_fault_that_is_called_busy() {
    finds(Breakage::FaultAsBusy, &["I9 honesty", "I8 residue"]);
}

#[test]
fn finds_a_bell_that_never_rings() {
    finds(Breakage::NoBell, &["I4 liveness"]);
}

#[test]
fn finds_a_push_that_nobody_hears() {
    finds(Breakage::NoPush, &["I4 liveness"]);
}
