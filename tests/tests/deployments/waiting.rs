//! Waiting for a lock that another client of a cluster or under sentinels holds.

use std::{
    thread,
    time::{Duration, Instant},
};

use tairlock::Release;
use tairlock_tests::{
    Server,
    fleet::{Cluster, Sentinels},
    for_each_world as for_each_driver,
    world::{Ask, World},
};

use crate::{in_cluster, key_at, take, under};

for_each_driver!(
    a_cluster_tells_who_waits,
    a_node_that_dies_takes_no_other_waiter_with_it,
    who_waits_through_a_failover_is_served,
);

/// On whichever node the lock is, its release is told, and nobody polls.
fn a_cluster_tells_who_waits(world: &dyn World) {
    let cluster = Cluster::proxied(Server::redis7).expect("a cluster");
    let (holder, waiter) = (in_cluster(world, &cluster), in_cluster(world, &cluster));
    for at in 0..3 {
        let (key, proxy) = (key_at(&cluster, at), &cluster.proxies()[at]);
        let guard = take(&*holder, &Ask::new(&key).ttl(60_000));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let guard = take(&*waiter, &Ask::new(&key).wait(20_000));
                (Instant::now(), guard)
            });
            assert!(proxy.wait_for(&format!("PTTL {key}"), 1, Duration::from_secs(10)));
            // It has asked, and is told: a moment later it asks for nothing.
            assert_eq!(guard.lease().wait_lost(Duration::from_millis(300)), None);
            let asked = proxy.count(&format!("SET {key}"));
            assert!(asked <= 6, "polls: {:?}", proxy.texts());
            let began = Instant::now();
            assert_eq!(guard.release().expect("release"), Release::Released);
            let (served, guard) = waiting.join().expect("served");
            let took = served.saturating_duration_since(began);
            assert!(took < Duration::from_millis(500), "{took:?}");
            assert_eq!(guard.release().expect("release"), Release::Released);
        });
        assert!(proxy.count("CLIENT TRACKING") >= 1);
    }
}

fn a_node_that_dies_takes_no_other_waiter_with_it(world: &dyn World) {
    let mut cluster = Cluster::proxied(Server::valkey9).expect("a cluster");
    let (holder, waiter) = (in_cluster(world, &cluster), in_cluster(world, &cluster));
    let keys: Vec<String> = (0..2).map(|at| key_at(&cluster, at)).collect();
    let held: Vec<_> = keys.iter().map(|key| take(&*holder, &Ask::new(key).ttl(20_000))).collect();
    thread::scope(|scope| {
        let wait = |key: &str| {
            let (waiter, ask) = (waiter.another(), Ask::new(key).wait(90_000));
            scope.spawn(move || (take(&*waiter, &ask), Instant::now()))
        };
        let (there, here) = (wait(&keys[0]), wait(&keys[1]));
        for (proxy, key) in cluster.proxies().iter().zip(&keys) {
            assert!(proxy.wait_for(&format!("PTTL {key}"), 1, Duration::from_secs(10)));
        }
        cluster.nodes_mut()[0].kill();
        let mut held = held.into_iter();
        let (of_the_dead, of_the_other) = (held.next().expect("two"), held.next().expect("two"));
        assert_eq!(of_the_other.lease().wait_lost(Duration::from_millis(500)), None);
        let began = Instant::now();
        assert_eq!(of_the_other.release().expect("release"), Release::Released);
        let (guard, served) = here.join().expect("served");
        let took = served.saturating_duration_since(began);
        assert!(took < Duration::from_millis(500), "{took:?}");
        assert_eq!(guard.release().expect("release"), Release::Released);
        // By the end of its time if by nothing else.
        drop(of_the_dead);
        let (guard, _) = there.join().expect("served");
        assert!(guard.lease().is_held());
        assert_eq!(guard.release().expect("release"), Release::Released);
    });
}

fn who_waits_through_a_failover_is_served(world: &dyn World) {
    let mut fleet = Sentinels::start(Server::redis7, 1).expect("sentinels");
    let (holder, waiter) = (under(world, &fleet), under(world, &fleet));
    let guard = take(&*holder, &Ask::new("k").ttl(20_000));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| take(&*waiter, &Ask::new("k").wait(60_000)));
        fleet.kill_primary().expect("another primary");
        _ = guard.release().expect("release");
        let guard = waiting.join().expect("served");
        assert!(guard.lease().is_held());
        assert_eq!(guard.release().expect("release"), Release::Released);
    });
}
