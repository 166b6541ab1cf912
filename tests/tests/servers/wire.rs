//! The server sees what the design says and no more, as sent by the client.

use std::time::Duration;

use tairlock::Release;
use tairlock_tests::{
    Proxy, Server,
    server::Builder,
    world::{Ask, World},
};

use crate::{BOUND, client_at, for_each_driver, take};

for_each_driver!(
    redis_7_sends_one_command_each,
    valkey_9_sends_one_command_each,
    a_hundred_renewals_are_one_round_trip,
    what_is_refused_is_never_sent,
);

fn redis_7_sends_one_command_each(world: &dyn World) {
    one_command_each(world, Server::redis7(), "EVALSHA", "EVALSHA");
}

fn valkey_9_sends_one_command_each(world: &dyn World) {
    one_command_each(world, Server::valkey9(), "SET k", "DELIFEQ");
}

/// T16: what each step costs.
fn one_command_each(world: &dyn World, server: Builder, renew: &str, release: &str) {
    let server = server.start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());

    // Every connection is open, and every script known, after one round of everything.
    let guard = take(&*client, &Ask::new("warm").ttl(300));
    assert!(proxy.wait_for(if renew == "SET k" { "SET warm" } else { renew }, 2, BOUND));
    assert_eq!(guard.release().expect("release"), Release::Released);

    proxy.clear();
    let guard = take(&*client, &Ask::new("k"));
    assert_eq!(proxy.texts().len(), 1, "{:?}", proxy.texts());
    assert_eq!((proxy.count("SET k"), proxy.round_trips()), (1, 1));
    proxy.clear();
    assert_eq!(guard.release().expect("release"), Release::Released);
    assert_eq!(proxy.texts().len(), 1, "{:?}", proxy.texts());
    assert_eq!((proxy.count(release), proxy.round_trips()), (1, 1));

    let guard = take(&*client, &Ask::new("k").ttl(1_500));
    proxy.clear();
    assert!(proxy.wait_for(renew, 1, BOUND), "renewed");
    assert_eq!(guard.lease().wait_lost(Duration::from_millis(100)), None);
    assert_eq!(proxy.texts().len(), 1, "{:?}", proxy.texts());
    assert_eq!(proxy.round_trips(), 1);

    proxy.clear();
    assert!(client.try_acquire(&Ask::new("k")).expect("no fault").is_none());
    assert_eq!(proxy.texts().len(), 1, "busy is told in one command: {:?}", proxy.texts());
    drop(guard);
}

fn a_hundred_renewals_are_one_round_trip(world: &dyn World) {
    let server = Server::valkey9().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    let warm = take(&*client, &Ask::new("warm").ttl(300));
    assert!(proxy.wait_for("SET warm", 2, BOUND));
    drop(warm);

    let take = |number| take(&*client, &Ask::new(format!("k{number}")).ttl(3_000));
    let guards: Vec<_> = (0..100).map(take).collect();
    proxy.clear();
    assert!(guards.iter().all(|guard| guard.lease().is_held()));
    assert!(proxy.wait_for("SET", 100, BOUND));
    assert!(proxy.round_trips() <= 2, "{} round trips", proxy.round_trips());
    drop(guards);
}

/// O2, O3, O4: the server is not asked, as each answers otherwise.
fn what_is_refused_is_never_sent(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    proxy.clear();
    let day = Duration::from_secs(24 * 3600);
    for ttl in [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_micros(999),
        Duration::from_millis(9),
        24 * day + Duration::from_millis(1),
        Duration::MAX,
    ] {
        assert!(client.acquire(&Ask { ttl, ..Ask::new("k") }).is_err(), "{ttl:?}");
    }
    assert!(client.acquire(&Ask::new("")).is_err());
    assert!(client.acquire(&Ask::new(vec![b'k'; 65 * 1024])).is_err());
    assert_eq!(proxy.texts(), Vec::<String>::new());
}
