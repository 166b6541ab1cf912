//! Locks that replicas or append-only files confirm, on a primary whose replica is cut off.

mod on_disk;
mod refused;
mod renewing;

use std::{
    thread,
    time::{Duration, Instant},
};

use tairlock::{Confirm, Error};
use tairlock_tests::{
    Proxy, Server,
    fleet::Replicated,
    proxy::Fault,
    server::Builder,
    world::{Ask, Locks, World},
};

use crate::{client_at, for_each_driver, take};

for_each_driver!(
    by_a_replica_that_is_cut_off,
    a_busy_lock_waits_for_no_replica,
    each_grant_by_the_connection_that_carried_it,
    what_another_connection_wrote_is_no_grant,
    a_confirmation_that_is_lost_is_asked_for_again,
);

/// What a replica has to confirm a grant in these tests.
const TIME: Duration = Duration::from_millis(300);

pub(crate) fn by_one() -> Confirm {
    Confirm::replicas(1).within(TIME)
}

/// A primary with one replica, behind a proxy that shows what clients say.
pub(crate) fn pair(server: fn() -> Builder) -> (Replicated, Proxy) {
    let fleet = Replicated::start(server, 1).unwrap_or_else(|error| panic!("{error}"));
    let proxy = Proxy::start(fleet.primary().addr()).expect("a proxy");
    (fleet, proxy)
}

pub(crate) fn exists(server: &Server, key: &str) -> bool {
    redis::cmd("EXISTS").arg(key).query(&mut server.cli()).expect("EXISTS")
}

/// The error of a confirmed lock that is not to be had, and how long that took.
#[track_caller]
pub(crate) fn unconfirmed(client: &dyn Locks, ask: &Ask) -> (Error, Duration) {
    let began = Instant::now();
    match client.acquire(ask) {
        Err(error) => (error, began.elapsed()),
        Ok(_) => panic!("granted"),
    }
}

/// O7, O37, T12: it fails in its time, and the key is gone.
fn by_a_replica_that_is_cut_off(world: &dyn World) {
    for server in [Server::redis7, Server::valkey9] {
        let (fleet, proxy) = pair(server);
        let client = client_at(world, proxy.url());
        let ask = Ask::new("k").wait(2_000).confirm(by_one());
        drop(take(&*client, &ask).release());
        assert_eq!(proxy.count("WAIT 1 300"), 1, "{:?}", proxy.texts());

        fleet.link(0).cut();
        let (error, took) = unconfirmed(&*client, &ask);
        assert!(matches!(error, Error::NotReplicated { acked: 0, wanted: 1, .. }), "{error}");
        assert!(error.is_transient() && !error.is_busy());
        assert!(took >= TIME && took < TIME + Duration::from_millis(150), "{took:?}");
        assert!(!exists(fleet.primary(), "k"), "it was given back");

        fleet.link(0).mend();
        fleet.await_sync().expect("in sync");
        drop(take(&*client, &ask).release());
    }
}

fn a_busy_lock_waits_for_no_replica(world: &dyn World) {
    let (fleet, proxy) = pair(Server::redis7);
    let (holder, client) = (client_at(world, proxy.url()), client_at(world, proxy.url()));
    let guard = take(&*holder, &Ask::new("k"));
    fleet.link(0).stall();
    let ask = Ask::new("k").confirm(by_one());
    // Its connection is opened by then.
    assert!(client.try_acquire(&ask).expect("no fault").is_none());
    let began = Instant::now();
    assert!(client.try_acquire(&ask).expect("no fault").is_none());
    assert!(began.elapsed() < TIME / 3, "{:?}", began.elapsed());
    assert_eq!(proxy.count("WAIT 1 300"), 0, "{:?}", proxy.texts());
    drop(guard.release());
}

/// A server answers for what its connection has written, so nobody else's command may come between.
fn each_grant_by_the_connection_that_carried_it(world: &dyn World) {
    let (_fleet, proxy) = pair(Server::valkey9);
    let client = client_at(world, proxy.url());
    thread::scope(|scope| {
        for task in 0..12 {
            let client = client.another();
            scope.spawn(move || {
                for round in 0..10 {
                    let ask = Ask::new(format!("k{task}:{round}")).confirm(by_one());
                    drop(take(&*client, &ask).release());
                }
            });
        }
    });
    let commands = proxy.commands();
    let mut connections = std::collections::BTreeSet::new();
    let mut waits = 0;
    for (at, wait) in commands.iter().enumerate().filter(|(_, command)| command.is("WAIT 1 300")) {
        let mut before = commands[..at].iter().rev();
        let before = before.find(|command| command.connection == wait.connection);
        let before = before.map(ToString::to_string).unwrap_or_default();
        assert!(before.starts_with("SET k") && before.contains(" NX "), "WAIT after {before:?}");
        waits += 1;
        connections.insert(wait.connection);
    }
    assert_eq!(waits, 120);
    assert!((2..=12).contains(&connections.len()), "{connections:?}");
}

/// The reply to a grant is lost, and the same token is found on another connection. That has written nothing, which
/// a Valkey would confirm at once.
fn what_another_connection_wrote_is_no_grant(world: &dyn World) {
    for server in [Server::redis7, Server::valkey9] {
        let (fleet, proxy) = pair(server);
        let client = client_at(world, proxy.url());
        fleet.link(0).stall();
        proxy.once("SET k", Fault::SwallowAndCut);
        let ask = Ask::new("k").wait(2_000).confirm(by_one());
        let (error, _) = unconfirmed(&*client, &ask);
        assert!(matches!(error, Error::NotReplicated { acked: 0, .. }), "{error}");
        assert!(!exists(fleet.primary(), "k"), "it was given back");
        // And with the replica there, it is confirmed.
        fleet.link(0).mend();
        proxy.once("SET k", Fault::SwallowAndCut);
        let guard = take(&*client, &ask);
        assert!(guard.lease().is_held());
        let copy: Vec<u8> = redis::cmd("GET").arg("k").query(&mut fleet.replica(0).cli()).unwrap();
        assert_eq!(copy, guard.lease().token().as_bytes());
    }
}

fn a_confirmation_that_is_lost_is_asked_for_again(world: &dyn World) {
    let (fleet, proxy) = pair(Server::redis7);
    for fault in [Fault::Swallow, Fault::SwallowAndCut, Fault::CutMidFrame, Fault::LoseRequest] {
        let client = client_at(world, proxy.url());
        proxy.once("WAIT 1 300", fault.clone());
        let ask = Ask::new("k").ttl(3_000).wait(5_000).confirm(by_one());
        let guard = take(&*client, &ask);
        assert!(guard.lease().is_held(), "{fault:?}");
        // It counts from the command that won, which is the first.
        let left: u64 = redis::cmd("PTTL").arg("k").query(&mut fleet.primary().cli()).unwrap();
        assert!(guard.lease().remaining() <= Duration::from_millis(left), "{fault:?}");
        drop(guard.release());
        assert!(!exists(fleet.primary(), "k"), "{fault:?}");
    }
}
