//! Renewals: a lease is not prolonged beyond what the replica has, and nobody else waits for it.

use std::time::{Duration, Instant};

use tairlock::{Confirm, LeaseState, LossReason, Release};
use tairlock_tests::{
    Server,
    world::{Ask, World},
};

use super::{by_one, exists, pair};
use crate::{BOUND, client_at, for_each_driver, take};

for_each_driver!(
    only_those_that_the_replica_has_count,
    those_of_other_locks_wait_for_no_replica,
    giving_back_waits_for_no_replica,
    many_share_a_few_connections,
);

fn only_those_that_the_replica_has_count(world: &dyn World) {
    for server in [Server::redis7, Server::valkey9] {
        let (fleet, proxy) = pair(server);
        let client = client_at(world, proxy.url());
        let ask = Ask::new("k").ttl(1_500).confirm(by_one());
        let guard = take(&*client, &ask);
        proxy.clear();
        assert!(proxy.wait_for("WAIT 1 300", 2, BOUND), "renewed: {:?}", proxy.texts());
        assert!(guard.lease().is_held());

        // It has had the last of them at this moment at the latest.
        fleet.link(0).stall();
        let cut = Instant::now();
        let lost = guard.lease().wait_lost(BOUND);
        let took = cut.elapsed();
        assert_eq!(lost, Some(LossReason::Unreachable));
        assert!(took < Duration::from_millis(1_500), "{took:?}");
        // The server had every renewal, and would keep the key: it is given back.
        let key_gone = || !exists(fleet.primary(), "k");
        while !key_gone() {
            assert!(cut.elapsed() < took + Duration::from_millis(700), "the key stays");
        }
        fleet.link(0).mend();
        drop(take(&*client, &ask).release());
    }
}

/// A replica that is away for longer than the lock has, but not the time of its lease, costs nothing.
fn those_of_other_locks_wait_for_no_replica(world: &dyn World) {
    let (fleet, proxy) = pair(Server::redis7);
    let client = client_at(world, proxy.url());
    let long = Confirm::replicas(1).within(Duration::from_secs(2));
    let slow = take(&*client, &Ask::new("slow").ttl(6_600).confirm(long));
    let other = Confirm::replicas(1).within(Duration::from_millis(1_900));
    let slow_too = take(&*client, &Ask::new("slow-too").ttl(6_600).confirm(other));
    let quick = take(&*client, &Ask::new("quick").ttl(900));
    fleet.link(0).stall();
    proxy.clear();
    assert!(proxy.wait_for("WAIT 1 2000", 1, BOUND), "{:?}", proxy.texts());
    // Both wait now, for as long as they have; the third is renewed all the same, and given back.
    let lost = quick.lease().wait_lost(Duration::from_millis(1_500));
    assert_eq!(lost, None);
    assert_eq!(quick.release().expect("release"), Release::Released);
    assert_ne!(slow.lease().state(), LeaseState::Lost(LossReason::Unreachable));
    fleet.link(0).mend();
    for lease in [slow.lease(), slow_too.lease()] {
        let lost = lease.wait_lost(Duration::from_secs(4));
        assert_eq!((lost, lease.is_held()), (None, true));
    }
}

fn giving_back_waits_for_no_replica(world: &dyn World) {
    let (fleet, proxy) = pair(Server::valkey9);
    let client = client_at(world, proxy.url());
    let guards: Vec<_> = ["released", "dropped", "kept"]
        .into_iter()
        .map(|key| take(&*client, &Ask::new(key).confirm(by_one())))
        .collect();
    let held = take(&*client, &Ask::new("held").min_hold(60_000).confirm(by_one()));
    fleet.link(0).stall();
    proxy.clear();
    let began = Instant::now();
    for guard in guards {
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
    assert!(matches!(held.release(), Ok(Release::Retained { .. })));
    assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
    assert_eq!(proxy.count("WAIT"), 0, "{:?}", proxy.texts());
}

/// More batches than there are connections to wait on.
fn many_share_a_few_connections(world: &dyn World) {
    let (_fleet, proxy) = pair(Server::redis7);
    let client = client_at(world, proxy.url());
    let confirm = Confirm::replicas(1).within(Duration::from_secs(1));
    let guards: Vec<_> = (0..1_200)
        .map(|number| take(&*client, &Ask::new(format!("k{number}")).ttl(6_000).confirm(confirm)))
        .collect();
    proxy.clear();
    assert!(proxy.wait_for("WAIT 1 1000", 24, BOUND), "two rounds: {}", proxy.count("WAIT"));
    assert!(guards.iter().all(|guard| guard.lease().state() == LeaseState::Held));
    // Those that callers and the keeper wait on, and the client's own two.
    assert!(proxy.accepted() <= 8 + 8 + 2, "{} connections", proxy.accepted());
}
