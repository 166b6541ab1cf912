//! Where nothing can be confirmed, that is said before the lock is taken.

use std::time::Duration;

use tairlock::{ConfigError, Confirm, Error, FaultKind};
use tairlock_tests::{
    Proxy, Server,
    place::Place,
    world::{Ask, Config, World},
};

use super::{by_one, exists};
use crate::{client_at, for_each_driver, refusal, take};

for_each_driver!(
    by_a_server_without_wait,
    by_a_server_that_found_out_too_late,
    by_a_user_who_may_not_wait,
    in_memory,
    what_makes_no_sense,
    unless_a_lock_says_otherwise,
);

#[track_caller]
fn assert_kind(error: &Error, kind: FaultKind) {
    assert_eq!(error.fault().map(tairlock::Fault::kind), Some(kind), "{error}");
}

fn by_a_server_without_wait(world: &dyn World) {
    let server = Server::redis7().config(["rename-command", "WAIT", ""]).start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    let error = refusal(&*client, &Ask::new("k").confirm(by_one()));
    assert_kind(&error, FaultKind::Unsupported);
    assert!(error.to_string().contains("no WAIT"), "{error}");
    assert_eq!(proxy.count("SET k"), 0, "before the lock is taken: {:?}", proxy.texts());
    drop(take(&*client, &Ask::new("k")).release());
}

/// A proxy in between has no WAIT and no list of commands, and tells when it is asked.
fn by_a_server_that_found_out_too_late(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    proxy.answer("COMMAND", b"-NOPERM no list\r\n");
    proxy.answer("WAIT 0", b"-NOPERM not now\r\n");
    proxy.deny("WAIT 1");
    let client = client_at(world, proxy.url());
    let error = refusal(&*client, &Ask::new("k").confirm(by_one()));
    assert_kind(&error, FaultKind::Unsupported);
    assert!(!exists(&server, "k"), "it was given back");
}

fn by_a_user_who_may_not_wait(world: &dyn World) {
    let server = Server::redis7().user("app on >pw ~* +@all -wait").start().expect("a server");
    let url = format!("redis://app:pw@127.0.0.1:{}/", server.port());
    let client = client_at(world, url);
    let error = refusal(&*client, &Ask::new("k").confirm(by_one()));
    assert_kind(&error, FaultKind::Permission);
    assert!(error.to_string().contains("grant the user WAIT"), "{error}");
    assert!(!exists(&server, "k"), "it was given back");
}

fn in_memory(world: &dyn World) {
    let place = Place::memory();
    let config = Config { confirm: Some(by_one()), ..Config::default() };
    let client = world.client(&place, &config).expect("a client");
    let error = refusal(&*client, &Ask::new("k"));
    assert_kind(&error, FaultKind::Unsupported);
    assert!(!place.exists(b"k"));
    drop(take(&*client, &Ask::new("k").confirm(Confirm::none())).release());
}

fn what_makes_no_sense(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    let nobody = Confirm::replicas(0);
    let error = refusal(&*client, &Ask::new("k").confirm(nobody));
    assert!(matches!(error, Error::Config(ConfigError::ConfirmedByNobody)), "{error}");
    for millis in [0, 301, 10_000] {
        let confirm = Confirm::replicas(1).within(Duration::from_millis(millis));
        let error = refusal(&*client, &Ask::new("k").ttl(900).confirm(confirm));
        let Error::Config(ConfigError::ConfirmOutOfRange { most, .. }) = error else {
            panic!("{error}")
        };
        assert_eq!(most, Duration::from_millis(300));
    }
    assert_eq!(proxy.count("SET k"), 0, "{:?}", proxy.texts());
    // Of a client, as soon as it is built.
    let config = Config { confirm: Some(nobody), url: Some(proxy.url()), ..Config::default() };
    let error = world.client(&Place::memory(), &config).map(drop).expect_err("nobody");
    assert!(matches!(error, Error::Config(ConfigError::ConfirmedByNobody)), "{error}");
}

fn unless_a_lock_says_otherwise(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let url = Some(server.url());
    let config = Config { confirm: Some(by_one()), url, ..Config::default() };
    let client = world.client(&Place::memory(), &config).expect("a client");
    // There are no replicas.
    let error = refusal(&*client, &Ask::new("k"));
    assert!(matches!(error, Error::NotReplicated { acked: 0, wanted: 1, .. }), "{error}");
    drop(take(&*client, &Ask::new("k").confirm(Confirm::none())).release());
}
