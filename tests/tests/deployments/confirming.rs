//! Confirmation by the replicas of a cluster's nodes, and of the primary that sentinels name.

use std::time::{Duration, Instant};

use tairlock::{Confirm, Error, LossReason};
use tairlock_tests::{
    Server,
    fleet::Sentinels,
    place::{At, Place},
    world::{Ask, Config, Locks, World},
};

use crate::{cluster_of, for_either_driver, key_at, take};

for_either_driver!(by_the_replicas_of_each_node, what_was_confirmed_survives_a_killed_primary);

fn confirmed(world: &dyn World, at: At, within: u64) -> Box<dyn Locks> {
    let confirm = Some(Confirm::replicas(1).within(Duration::from_millis(within)));
    let config = Config { at: Some(at), confirm, ..Config::default() };
    world.client(&Place::memory(), &config).unwrap_or_else(|error| panic!("{error}"))
}

fn by_the_replicas_of_each_node(world: &dyn World) {
    let cluster = cluster_of(Server::redis7);
    let client = confirmed(world, At::Cluster(cluster.urls()), 500);
    let keys: Vec<String> = (0..3).map(|at| key_at(&cluster, at)).collect();
    let held: Vec<_> = keys.iter().map(|key| take(&*client, &Ask::new(key).ttl(3_000))).collect();
    // Two rounds of renewals later, all of them are held.
    let lost = held[0].lease().wait_lost(Duration::from_millis(2_500));
    assert_eq!(lost, None);
    for guard in &held {
        assert!(guard.lease().remaining() > Duration::from_millis(500), "{:?}", guard.lease());
    }
    let replicas = &cluster.nodes()[3..];
    replicas.iter().for_each(Server::pause);
    let began = Instant::now();
    let other = format!("{{{}}}:other", keys[0]);
    let error = client.acquire(&Ask::new(&other)).map(drop).expect_err("no replica");
    assert!(matches!(error, Error::NotReplicated { acked: 0, wanted: 1, .. }), "{error}");
    assert!(began.elapsed() < Duration::from_millis(650), "{:?}", began.elapsed());
    let there: bool =
        cluster.ask(other.as_bytes(), redis::cmd("EXISTS").arg(&other)).expect("EXISTS");
    assert!(!there, "it was given back");
    for guard in &held {
        assert_eq!(guard.lease().wait_lost(Duration::from_secs(4)), Some(LossReason::Unreachable));
    }
    replicas.iter().for_each(Server::resume);
    for key in &keys {
        drop(take(&*client, &Ask::new(key).wait(5_000)).release());
    }
}

/// The new primary has every lock, whatever else was lost, and hands none out while somebody counts on it.
fn what_was_confirmed_survives_a_killed_primary(world: &dyn World) {
    let mut fleet = Sentinels::start(Server::valkey9, 1).expect("sentinels");
    let at = || At::Sentinel(fleet.name().to_owned(), fleet.urls());
    let client = confirmed(world, at(), 1_000);
    let other = confirmed(world, at(), 1_000);
    let held: Vec<_> = (0..20)
        .map(|number| format!("k{number}"))
        .map(|key| (take(&*client, &Ask::new(&key).ttl(20_000)), key))
        .collect();
    let new = fleet.kill_primary().expect("another primary");
    for (guard, key) in &held {
        let mut look = fleet.servers()[new].cli();
        let stored: Option<Vec<u8>> = redis::cmd("GET").arg(key).query(&mut look).expect("GET");
        assert_eq!(stored.as_deref(), Some(guard.lease().token().as_bytes()), "{key}");
        assert!(guard.lease().is_held());
    }
    let busy = other.acquire(&Ask::new("k0").confirm(Confirm::none())).map(drop);
    assert!(matches!(busy, Err(Error::Busy { .. })), "{busy:?}");
    // There is no replica any more, and no lock without one, but by those who ask for none.
    let alone = other.acquire(&Ask::new("free").wait(5_000)).map(drop);
    assert!(matches!(alone, Err(Error::NotReplicated { .. })), "{alone:?}");
    drop(take(&*other, &Ask::new("free").confirm(Confirm::none())).release());
}
