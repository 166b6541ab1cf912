//! The doctor: each fault that was planted is found, and a sound deployment is called sound.

use tairlock::{
    Error, FaultKind,
    doctor::{Report, Severity},
};
use tairlock_tests::{
    Server,
    fleet::{Five, Replicated},
    place::{At, Place},
    server::Builder,
    world::{Config, World},
};

use crate::{await_that, client_of, cluster_of, for_either_driver, in_cluster};

for_either_driver!(
    a_sound_deployment_is_called_sound,
    every_planted_fault_is_found,
    a_dead_replica_is_found,
    a_missing_permission_is_found_and_the_rest_goes_on,
    a_quorum_is_examined_server_by_server,
    a_cluster_and_memory_have_their_own_word,
);

const KINDS: [fn() -> Builder; 4] =
    [Server::redis62, Server::redis7, Server::redis8, Server::valkey9];

/// One that keeps what it is told.
fn careful(kind: fn() -> Builder) -> Builder {
    kind()
        .config(["appendonly", "yes"])
        .config(["appendfsync", "always"])
        .config(["maxmemory-policy", "noeviction"])
        .config(["aof-use-rdb-preamble", "yes"])
}

fn examine(world: &dyn World, url: String) -> Report {
    client_of(world, At::Url(url)).and_then(|client| client.doctor()).unwrap_or_else(|error| {
        panic!("examining: {error}");
    })
}

#[track_caller]
fn finds(report: &Report, subject: &str, severity: Severity, words: &str) {
    let found = report
        .about(subject)
        .any(|finding| finding.severity == severity && finding.reason.contains(words));
    assert!(found, "no {severity} about {subject} that says {words:?}:\n{report}");
}

fn a_sound_deployment_is_called_sound(world: &dyn World) {
    for kind in KINDS {
        let fleet = Replicated::start(|| careful(kind), 1).expect("a primary and a replica");
        fleet.await_sync().expect("in step");
        let report = examine(world, fleet.primary().url());
        assert!(report.is_sound(), "{report}");
        assert!(report.to_string().contains(": sound\n"), "{report}");
        finds(&report, "replication", Severity::Notice, "a failover may promote");
        let report = examine(world, fleet.replica(0).url());
        finds(&report, "replication", Severity::Critical, "this is a replica");
    }
}

fn every_planted_fault_is_found(world: &dyn World) {
    for kind in KINDS {
        let server = careful(kind)
            .config(["maxmemory-policy", "allkeys-lru"])
            .config(["maxmemory", "64mb"])
            .start()
            .expect("a server");
        finds(&examine(world, server.url()), "eviction", Severity::Critical, "allkeys-lru");
        let server =
            kind().config(["appendonly", "no"]).config(["save", ""]).start().expect("a server");
        let report = examine(world, server.url());
        finds(&report, "persistence", Severity::Critical, "nothing is written to disk");
        assert!(!report.is_sound());
        let server = kind()
            .config(["appendonly", "no"])
            .config(["save", "900", "1"])
            .start()
            .expect("a server");
        finds(&examine(world, server.url()), "persistence", Severity::Warning, "900 s");
        for (fsync, words) in [("no", "appendfsync no"), ("everysec", "once a second")] {
            let server = careful(kind).config(["appendfsync", fsync]).start().expect("a server");
            finds(&examine(world, server.url()), "persistence", Severity::Warning, words);
        }
    }
    let server = Server::redis62().start().expect("a server");
    finds(&examine(world, server.url()), "commands", Severity::Notice, "renewals, releases");
}

fn a_dead_replica_is_found(world: &dyn World) {
    let mut fleet =
        Replicated::start(|| careful(Server::redis7), 2).expect("a primary and two replicas");
    fleet.await_sync().expect("in step");
    fleet.replica_mut(1).pause();
    let url = fleet.primary().url();
    let mut report = examine(world, url.clone());
    await_that("a lag of ten seconds", || {
        report = examine(world, url.clone());
        !report.is_sound()
    });
    finds(&report, "replication", Severity::Warning, "last heard");
    fleet.replica_mut(1).resume();
}

fn a_missing_permission_is_found_and_the_rest_goes_on(world: &dyn World) {
    let server = careful(Server::redis7)
        .config(["maxmemory-policy", "allkeys-lru"])
        .user("alice on >secret ~* &* +@all -eval -config -info")
        .start()
        .expect("a server");
    let url = format!("redis://alice:secret@127.0.0.1:{}/", server.port());
    let report = examine(world, url);
    finds(&report, "permissions", Severity::Critical, "may not use EVAL");
    finds(&report, "not examined", Severity::Notice, "CONFIG GET");
    finds(&report, "not examined", Severity::Notice, "INFO");
    let denied: Vec<_> = report.about("permissions").collect();
    assert_eq!(denied.len(), 1, "{report}");
    assert!(!report.to_string().contains("secret"), "{report}");
    let keys: usize = redis::cmd("DBSIZE").query(&mut server.cli()).expect("DBSIZE");
    assert_eq!(keys, 0, "nothing stays behind");
}

fn a_quorum_is_examined_server_by_server(world: &dyn World) {
    let mut five = Five::start(|| careful(Server::redis7)).expect("five servers");
    let client = client_of(world, At::Quorum(five.urls())).expect("a client");
    let report = client.doctor().expect("a report");
    assert!(report.is_sound(), "{report}");
    five.servers_mut()[1].stop();
    let report = client.doctor().expect("a report");
    finds(&report, "quorum", Severity::Warning, "does not answer");
    five.servers_mut()[2].stop();
    five.servers_mut()[3].stop();
    finds(&client.doctor().expect("a report"), "quorum", Severity::Critical, "no lock is granted");
}

fn a_cluster_and_memory_have_their_own_word(world: &dyn World) {
    let memory = world.client(&Place::memory(), &Config::default()).expect("a client");
    let report = memory.doctor().expect("a report");
    assert!(report.is_sound());
    finds(&report, "embedded", Severity::Notice, "this process");
    assert!(memory.close());
    assert!(matches!(memory.doctor(), Err(Error::Closed)));
    let cluster = cluster_of(Server::redis7);
    let error = in_cluster(world, &cluster).doctor().unwrap_err();
    assert_eq!(error.fault().map(tairlock::Fault::kind), Some(FaultKind::Unsupported), "{error}");
    let node = examine(world, cluster.urls().remove(0));
    assert!(node.about("cluster").next().is_none(), "{node}");
}
