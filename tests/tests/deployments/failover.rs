//! A primary of a cluster is killed, or falls silent.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use tairlock::{Error, LossReason, Release};
use tairlock_tests::{
    Proxy, Server,
    fleet::Replicated,
    place::At,
    world::{Ask, Wish, World},
};

use crate::{
    BOUND, add, await_that, client_of, cluster_of, for_either_driver, in_cluster, key_at, take,
};

for_either_driver!(
    while_it_is_locked_on,
    while_it_is_updated,
    while_locks_are_held,
    one_that_is_silent_does_not_hold_up_the_others,
    where_a_name_leads_elsewhere_afterwards,
);

/// Everybody gets in in the end, and who is on another node notices nothing.
fn while_it_is_locked_on(world: &dyn World) {
    let mut cluster = cluster_of(Server::redis7);
    let client = in_cluster(world, &cluster);
    let keys: Vec<String> = (0..3).map(|at| key_at(&cluster, at)).collect();
    let (over, inside) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let lockers: Vec<_> = (0..9)
            .map(|locker| {
                let (client, key) = (client.another(), &keys[locker % 3]);
                let (over, inside) = (&over, &inside);
                scope.spawn(move || {
                    let (mut taken, mut longest) = (0_u32, Duration::ZERO);
                    while !over.load(Ordering::Relaxed) {
                        let began = Instant::now();
                        let guard = take(&*client, &Ask::new(key).wait(20_000));
                        longest = longest.max(began.elapsed());
                        inside.fetch_add(1, Ordering::Relaxed);
                        taken += 1;
                        drop(guard.release());
                    }
                    (locker % 3, taken, longest)
                })
            })
            .collect();
        // Whatever happens here, they end.
        let _end = Sets(&over);
        await_that("locks are taken", || inside.load(Ordering::Relaxed) > 200);
        let (old, new) = cluster.kill_owner(keys[1].as_bytes()).expect("another primary");
        assert_eq!((old, new), (1, 4));
        let before = inside.load(Ordering::Relaxed);
        await_that("locks are taken again", || inside.load(Ordering::Relaxed) > before + 200);
        drop(take(&*client, &Ask::new(&keys[1]).wait(20_000)));
        over.store(true, Ordering::Relaxed);
        for locker in lockers {
            let (at, taken, longest) = locker.join().expect("no locker fails");
            assert!(taken > 0);
            // The longest wait elsewhere is that for two others who hold it for a moment.
            assert!(at == 1 || longest < Duration::from_secs(2), "{longest:?} on node {at}");
        }
    });
}

struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What was committed and copied is not lost, and nothing is counted twice.
fn while_it_is_updated(world: &dyn World) {
    let mut cluster = cluster_of(Server::valkey9);
    let key = key_at(&cluster, 2);
    let wish = Wish::new(&key);
    let (committed, unknown) = (AtomicU64::new(0), AtomicU64::new(0));
    let clients: Vec<_> = (0..4).map(|_| in_cluster(world, &cluster)).collect();
    let count = |updates: u64| {
        thread::scope(|scope| {
            for client in &clients {
                let wish = &wish;
                let (committed, unknown) = (&committed, &unknown);
                scope.spawn(move || {
                    let value = client.value(wish);
                    for _ in 0..updates {
                        match value.update_json(&mut add) {
                            Ok(()) => _ = committed.fetch_add(1, Ordering::Relaxed),
                            Err(Error::MaybeCommitted { .. }) => {
                                unknown.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(error) => panic!("within a minute: {error}"),
                        }
                    }
                });
            }
        });
    };
    in_cluster(world, &cluster).value(&wish).create(b"0").expect("created");
    count(50);
    let before = committed.load(Ordering::Relaxed);
    assert_eq!((before, unknown.load(Ordering::Relaxed)), (200, 0));
    // A failover loses what was not copied yet, which is not what is tried here.
    let acks: u8 =
        redis::cmd("WAIT").arg(1).arg(10_000).query(&mut cluster.nodes()[2].cli()).expect("WAIT");
    assert_eq!(acks, 1);
    await_that("all is copied", || offset(&cluster.nodes()[2]) == offset(&cluster.nodes()[5]));
    cluster.nodes_mut()[2].kill();
    count(50);
    let (all, open) = (committed.load(Ordering::Relaxed), unknown.load(Ordering::Relaxed));
    let reader = in_cluster(world, &cluster).value(&wish);
    let value = reader.read_json().expect("a value").expect("there").value;
    assert!(
        (all..=all + open).contains(&value),
        "{value}, where {all} were committed, {open} perhaps"
    );
    assert!(all + open == 400, "{all} and {open}");
}

fn offset(server: &Server) -> String {
    let told: String =
        redis::cmd("INFO").arg("replication").query(&mut server.cli()).expect("INFO");
    let names = ["slave_repl_offset:", "master_repl_offset:"];
    let found = names.iter().find_map(|name| told.lines().find_map(|line| line.strip_prefix(name)));
    found.unwrap_or_default().trim().to_owned()
}

/// A guard is Lost, or the new primary has its token.
fn while_locks_are_held(world: &dyn World) {
    let mut cluster = cluster_of(Server::redis7);
    let client = in_cluster(world, &cluster);
    let keys: Vec<String> = (0..3).map(|at| key_at(&cluster, at)).collect();
    let held: Vec<_> = keys.iter().map(|key| take(&*client, &Ask::new(key).ttl(12_000))).collect();
    let (_, new) = cluster.kill_owner(keys[0].as_bytes()).expect("another primary");
    let began = Instant::now();
    let other = take(&*client, &Ask::new(format!("{{{}}}:other", keys[0])).wait(10_000));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(other.release().expect("release"), Release::Released);

    for (key, guard) in keys.iter().zip(&held) {
        let stored: Option<Vec<u8>> =
            cluster.ask(key.as_bytes(), redis::cmd("GET").arg(key)).expect("GET");
        let ours = stored.as_deref() == Some(guard.lease().token().as_bytes());
        // Two renewals later it is known.
        let lost = guard.lease().wait_lost(Duration::from_secs(if ours { 0 } else { 8 }));
        assert_eq!(lost.is_none(), ours, "{key}: {lost:?}");
    }
    // And where the new primary does not have it, the guard hears of that.
    let guard = &held[0];
    redis::cmd("DEL").arg(&keys[0]).exec(&mut cluster.nodes()[new].cli()).expect("DEL");
    let lost = guard.lease().wait_lost(Duration::from_secs(12));
    assert_eq!(lost, Some(LossReason::Vanished));
}

/// Leases elsewhere are renewed in time, and locks elsewhere are had at once.
fn one_that_is_silent_does_not_hold_up_the_others(world: &dyn World) {
    let cluster = cluster_of(Server::valkey9);
    let client = in_cluster(world, &cluster);
    let keys: Vec<String> = (0..3).map(|at| key_at(&cluster, at)).collect();
    let held: Vec<_> = keys.iter().map(|key| take(&*client, &Ask::new(key).ttl(3_000))).collect();
    cluster.nodes()[0].pause();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(6) {
        for key in &keys[1..] {
            let asked = Instant::now();
            drop(take(&*client, &Ask::new(format!("{{{key}}}:other")).wait(5_000)).release());
            assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
        }
        for guard in &held[1..] {
            assert_eq!(guard.lease().wait_lost(Duration::from_millis(20)), None);
        }
    }
    cluster.nodes()[0].resume();
    for guard in held {
        assert!(guard.release().is_ok());
    }
    drop(take(&*client, &Ask::new(&keys[0]).wait(BOUND.as_secs() * 1_000)));
}

/// As hosted servers do it: the same name leads to the new primary, and who is connected to the old one
/// is left there, where nothing can be written any more.
fn where_a_name_leads_elsewhere_afterwards(world: &dyn World) {
    let fleet = Replicated::start(Server::redis7, 1).expect("a replica");
    let name = Proxy::start(fleet.primary().addr()).expect("a proxy");
    let client = client_of(world, At::Url(name.url())).unwrap_or_else(|error| panic!("{error}"));
    let guard = take(&*client, &Ask::new("k").ttl(3_000));
    let value = client.value(&Wish::new("v"));
    value.create(b"1").expect("created");
    client.fenced_set(b"f", b"1", 1).expect("a fenced value");
    fleet.await_sync().expect("in sync");

    fleet.promote(0).expect("promoted");
    name.retarget(fleet.replica(0).addr());
    let port = fleet.replica(0).port();
    let follow = &mut fleet.primary().cli();
    redis::cmd("REPLICAOF").arg("127.0.0.1").arg(port).exec(follow).expect("REPLICAOF");
    // Once and at once, as after a connection that died idle.
    client.fenced_set(b"f", b"2", 2).expect("a fenced value");
    value.update_json(&mut add).expect("an update");
    let other = client.try_acquire(&Ask::new("other")).expect("no fault").expect("free");
    assert_eq!(guard.lease().wait_lost(Duration::from_secs(6)), None, "renewed at the new one");
    for guard in [guard, other] {
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
    let mut look = fleet.replica(0).cli();
    assert_eq!(redis::cmd("HGET").arg("v").arg("value").query(&mut look), Ok(String::from("2")));
}
