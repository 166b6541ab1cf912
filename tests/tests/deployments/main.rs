//! What a user notices on a cluster and under sentinels: where a key is, what a failover costs, what is
//! sent.

mod cluster;
mod confirming;
mod doctor;
mod failover;
mod moving;
mod quorum;
mod sentinel;
#[cfg(feature = "tls")]
mod tls;
mod troubled;
mod waiting;

use std::{
    fmt::Debug,
    time::{Duration, Instant},
};

use tairlock::{Error, FaultKind};
use tairlock_tests::{
    fleet::{Cluster, Sentinels},
    place::{At, Place},
    server::Builder,
    world::{Ask, Config, Held, Locks, World},
};

/// Far more than anything here takes.
const BOUND: Duration = Duration::from_secs(30);

/// Makes a test of each function for an async driver and for the blocking one: the others differ in
/// nothing that a failover would show.
macro_rules! for_either_driver {
    ($($name:ident),* $(,)?) => {
        mod tokio {
            $(#[test] fn $name() {
                super::$name(&tairlock_tests::world::Tokio::default());
            })*
        }
        mod blocking {
            $(#[test] fn $name() {
                super::$name(&tairlock_tests::world::Blocking::default());
            })*
        }
    };
}
use for_either_driver;

fn client_of(world: &dyn World, at: At) -> Result<Box<dyn Locks>, Error> {
    world.client(&Place::memory(), &Config { at: Some(at), ..Config::default() })
}

fn cluster_of(with: impl Fn() -> Builder) -> Cluster {
    Cluster::start(with).unwrap_or_else(|error| panic!("{error}"))
}

fn in_cluster(world: &dyn World, cluster: &Cluster) -> Box<dyn Locks> {
    client_of(world, At::Cluster(cluster.urls())).unwrap_or_else(|error| panic!("{error}"))
}

fn under(world: &dyn World, sentinels: &Sentinels) -> Box<dyn Locks> {
    let at = At::Sentinel(sentinels.name().to_owned(), sentinels.urls());
    client_of(world, at).unwrap_or_else(|error| panic!("{error}"))
}

/// Takes a lock that is free, or will be.
#[track_caller]
fn take(client: &dyn Locks, ask: &Ask) -> Box<dyn Held> {
    client.acquire(ask).unwrap_or_else(|error| panic!("a free lock: {error}"))
}

#[track_caller]
fn kind<T: Debug>(outcome: Result<T, Error>) -> FaultKind {
    let error = outcome.expect_err("a fault");
    error.fault().unwrap_or_else(|| panic!("no fault: {error}")).kind()
}

/// Asks until it is so.
#[track_caller]
fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + BOUND;
    while !is_so() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::yield_now();
    }
}

/// One more.
#[expect(clippy::unnecessary_wraps, reason = "a change of a value may fail")]
fn add(value: &mut u64) -> Result<(), Error> {
    *value += 1;
    Ok(())
}

/// One byte more.
#[expect(clippy::unnecessary_wraps, reason = "a change of a value may fail")]
fn push(value: &mut Vec<u8>) -> Result<(), Error> {
    value.push(b'x');
    Ok(())
}

/// Some key that node number `at` serves.
fn key_at(cluster: &Cluster, at: usize) -> String {
    let mut keys = (0..).map(|number| format!("key{number}"));
    let found = keys.find(|key| {
        let third = usize::from(tairlock::slot::slot(key.as_bytes())) * 3 / 16_384;
        third == at
    });
    let key = found.expect("every node serves keys");
    assert_eq!(cluster.owner(key.as_bytes()).expect("an owner"), at, "{key}");
    key
}
