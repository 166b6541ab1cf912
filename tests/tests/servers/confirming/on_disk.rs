//! Append-only files: the server's own, and those of replicas.

use std::time::Duration;

use tairlock::{Confirm, Error, FaultKind};
use tairlock_tests::{
    Proxy, Server,
    fleet::Replicated,
    server::Builder,
    world::{Ask, World},
};

use super::{exists, unconfirmed};
use crate::{client_at, for_each_driver, refusal, take};

for_each_driver!(in_files, of_a_server_that_keeps_none, of_a_server_that_cannot_tell);

fn on_disk(replicas: u32) -> Confirm {
    Confirm::aof(replicas).within(Duration::from_millis(1_500))
}

fn keeps_files() -> Builder {
    // At the server's own pace, a file is written to disk once a second.
    Server::valkey9().config(["appendonly", "yes"]).config(["appendfsync", "always"])
}

fn in_files(world: &dyn World) {
    let fleet = Replicated::start(keeps_files, 1).expect("a replica");
    let proxy = Proxy::start(fleet.primary().addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    for replicas in [0, 1] {
        drop(take(&*client, &Ask::new("k").confirm(on_disk(replicas))).release());
        assert_eq!(proxy.count(&format!("WAITAOF 1 {replicas} 1500")), 1, "{:?}", proxy.texts());
    }
    fleet.link(0).cut();
    drop(take(&*client, &Ask::new("k").confirm(on_disk(0))).release());
    let (error, _) = unconfirmed(&*client, &Ask::new("k").confirm(on_disk(1)));
    // The server's own file is the one that has it.
    assert!(matches!(error, Error::NotReplicated { acked: 1, wanted: 2, .. }), "{error}");
    assert!(!exists(fleet.primary(), "k"), "it was given back");
}

fn of_a_server_that_keeps_none(world: &dyn World) {
    let server = Server::valkey9().start().expect("a server");
    let client = client_at(world, server.url());
    let error = refusal(&*client, &Ask::new("k").confirm(on_disk(0)));
    assert_eq!(error.fault().map(tairlock::Fault::kind), Some(FaultKind::Config), "{error}");
    assert!(error.to_string().contains("switch on `appendonly`"), "{error}");
    assert!(!exists(&server, "k"), "it was given back");
}

fn of_a_server_that_cannot_tell(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    let error = refusal(&*client, &Ask::new("k").confirm(on_disk(0)));
    assert_eq!(error.fault().map(tairlock::Fault::kind), Some(FaultKind::Unsupported), "{error}");
    assert!(error.to_string().contains("no WAITAOF"), "{error}");
    assert_eq!(proxy.count("SET k"), 0, "before the lock is taken: {:?}", proxy.texts());
}
