//! The simulation of a quorum: every law on three and five servers, and every machine that is broken.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tairlock_tests::quorum_sim::{Breakage, Failure, Tally, World, run, trace};

use super::{SEEDS, number};

/// All seeds from 0 on, on every core: what they come to, and the first that failed.
fn run_all(seeds: u64, nodes: usize) -> (Tally, Option<Failure>) {
    let next = AtomicU64::new(0);
    let work = || {
        let mut tally = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return (tally, None);
            }
            match run(seed, nodes, World::of(seed), None) {
                Ok(one) => tally.add(&one),
                Err(failure) => return (tally, Some(*failure)),
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let (mut all, mut first) = (Tally::default(), None);
        for worker in workers {
            let (tally, failure) = worker.join().expect("a worker");
            all.add(&tally);
            first = first.or(failure);
        }
        (all, first)
    })
}

fn every_law(nodes: usize) {
    if let Some(seed) = number("TAIRLOCK_SEED") {
        if let Err(failure) = run(seed, nodes, World::of(seed), None) {
            panic!("{failure}");
        }
        return;
    }
    let seeds = number("TAIRLOCK_SEEDS").unwrap_or(SEEDS);
    let (tally, failure) = run_all(seeds, nodes);
    if let Some(failure) = failure {
        panic!("{failure}");
    }
    let Tally { grants, renewals, releases, refused, cancelled, lost, forgotten, joined, .. } =
        tally;
    let each = [grants, renewals, releases, refused, cancelled, lost, forgotten, joined];
    assert!(each.iter().all(|&n| n * 20 >= seeds), "much never happened: {tally:?}");
}

#[test]
fn every_law_holds_on_a_quorum_of_three() {
    every_law(3);
}

#[test]
fn every_law_holds_on_a_quorum_of_five() {
    every_law(5);
}

#[test]
fn a_seed_replays_on_a_quorum() {
    for seed in 0..25 {
        let world = World::of(seed);
        assert_eq!(trace(seed, 5, world), trace(seed, 5, world), "seed {seed}");
    }
}

/// The first failure of a broken machine, which must be one of these laws.
fn finds(breakage: Breakage, laws: &[&str]) {
    for nodes in [3, 5] {
        let failure = (0..SEEDS).find_map(|s| run(s, nodes, World::of(s), Some(breakage)).err());
        let failure = failure.unwrap_or_else(|| panic!("{breakage:?} on {nodes}: not found"));
        assert!(laws.contains(&failure.law), "{breakage:?}: {failure}");
    }
}

#[test]
fn finds_that_too_few_are_enough() {
    finds(Breakage::TooFew, &["I2 exclusion", "a lease stands on a quorum"]);
}

#[test]
fn finds_that_nothing_granted_in_part_is_taken_back() {
    finds(Breakage::NoRollBack, &["I8 residue", "a lease stands on a quorum"]);
}

#[test]
fn finds_a_token_that_is_asked_for_again_while_its_release_is_under_way() {
    finds(Breakage::OneToken, &["nothing overtakes a release", "a lease stands on a quorum"]);
}

#[test]
fn finds_a_server_that_is_joined_again_before_the_others_are_heard() {
    finds(Breakage::RejoinsAlone, &["what most have forgotten is lost"]);
}

#[test]
fn finds_a_lease_that_is_measured_from_the_last_reply() {
    finds(Breakage::FromLastReply, &["I2 exclusion", "a lease stands on a quorum"]);
}

/// What the laws assume: servers that forget are away for a TTL, or fewer forget than two quorums have in
/// common. Without that, two hold a lock at once, and only a fence helps.
#[test]
fn finds_that_servers_forget_and_are_back_at_once() {
    let mut found = (0..SEEDS).filter_map(|seed| run(seed, 5, World::Reckless, None).err());
    assert!(found.any(|failure| failure.law == "I2 exclusion"));
}
