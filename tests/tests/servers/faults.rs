//! Each thing that can be wrong with a server is an error of its own, with the way out.

use std::time::{Duration, Instant};

use tairlock::{FaultKind, LossReason, Release};
use tairlock_tests::{
    Proxy, Server,
    server::Builder,
    world::{Ask, World},
};

use crate::{BOUND, client_at, for_each_driver, refusal, take, try_client_at};

for_each_driver!(
    a_wrong_password_is_said_and_not_shown,
    a_missing_permission_names_the_command,
    a_missing_key_pattern_is_said,
    a_better_command_without_permission_is_replaced,
    a_replica_is_read_only,
    a_full_redis_still_renews_and_releases,
    a_full_valkey_still_renews_and_releases,
    a_server_that_is_down_is_unreachable,
    a_server_that_is_silent_costs_one_deadline_a_try,
    a_server_that_comes_back_is_used_again,
    a_server_that_stays_away_loses_the_lease_in_time,
    flushed_scripts_come_back,
    a_command_that_goes_away_is_replaced,
);

const CANARY: &str = "c4n4ryp4ssw0rd";

/// O43, O60: no outage and no contention, and nobody reads the password in a log.
fn a_wrong_password_is_said_and_not_shown(world: &dyn World) {
    let server = Server::redis7().password("right").start().expect("a server");
    for user in ["", "alice"] {
        let url = format!("redis://{user}:{CANARY}@127.0.0.1:{}/", server.port());
        let Err(error) = try_client_at(world, url) else { panic!("connected") };
        assert_eq!(error.fault().map(tairlock::Fault::kind), Some(FaultKind::Auth), "{error}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(CANARY), "{shown}");
        assert!(shown.contains(&server.port().to_string()), "names the server: {shown}");
    }
    let without = format!("redis://127.0.0.1:{}/", server.port());
    let outcome = try_client_at(world, without);
    let error = match outcome {
        Err(error) => error,
        Ok(client) => refusal(&*client, &Ask::new("k")),
    };
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Auth, "{error}");
}

pub(crate) fn confined(
    world: &dyn World,
    server: Builder,
    rules: &str,
) -> (Server, Box<dyn tairlock_tests::world::Locks>) {
    let rules = format!("worker on >secret resetchannels {rules} +hello +ping +select +client");
    let server = server.user(&rules).start().expect("a server");
    let url = format!("redis://worker:secret@127.0.0.1:{}/", server.port());
    let client = client_at(world, url);
    (server, client)
}

fn a_missing_permission_names_the_command(world: &dyn World) {
    let (_server, client) = confined(world, Server::redis7(), "~order:* +get +evalsha +eval");
    let error = refusal(&*client, &Ask::new("order:1"));
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Permission);
    let text = error.to_string();
    assert!(text.contains("set") && text.contains("order:1"), "{text}");
}

fn a_missing_key_pattern_is_said(world: &dyn World) {
    let rules = "~order:* +set +get +del +pexpire +evalsha +eval";
    let (_server, client) = confined(world, Server::redis7(), rules);
    let error = refusal(&*client, &Ask::new("invoice:1"));
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Permission);
    let text = error.to_string();
    assert!(text.contains("key pattern") && text.contains("invoice:1"), "{text}");
    // What the README says such a user needs is enough.
    let guard = take(&*client, &Ask::new("order:1").ttl(300));
    assert_eq!(guard.lease().wait_lost(Duration::from_millis(600)), None);
    assert_eq!(guard.release().expect("release"), Release::Released);
}

fn a_better_command_without_permission_is_replaced(world: &dyn World) {
    let rules = "~order:* +set +get +del +pexpire +evalsha +eval";
    let (_server, client) = confined(world, Server::valkey9(), rules);
    let guard = take(&*client, &Ask::new("order:1"));
    assert_eq!(guard.release().expect("release"), Release::Released);
}

fn a_replica_is_read_only(world: &dyn World) {
    let primary = Server::redis7().start().expect("a server");
    let replica = Server::redis7().replica_of(&primary).start().expect("a replica");
    let client = client_at(world, replica.url());
    let error = refusal(&*client, &Ask::new("k"));
    // A replica that is still taking its first copy is not ready, which passes.
    let kind = error.fault().expect("a fault").kind();
    assert!(matches!(kind, FaultKind::ReadOnly | FaultKind::NotReady), "{error}");
    let error = client.acquire(&Ask::new("k").wait(300)).map(|_| ()).expect_err("refused");
    assert!(!error.is_busy(), "{error}");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::ReadOnly);
}

/// O48: a server that is full takes no `SET`; what is held is kept all the same.
fn a_full_redis_still_renews_and_releases(world: &dyn World) {
    a_full_server_still_renews_and_releases(world, Server::redis7());
}

/// O48: the same.
fn a_full_valkey_still_renews_and_releases(world: &dyn World) {
    a_full_server_still_renews_and_releases(world, Server::valkey9());
}

fn a_full_server_still_renews_and_releases(world: &dyn World, server: Builder) {
    let server = server.start().expect("a server");
    let client = client_at(world, server.url());
    let guard = take(&*client, &Ask::new("k").ttl(600));
    let full = ["CONFIG", "SET", "maxmemory", "1"];
    redis::cmd(full[0]).arg(&full[1..]).exec(&mut server.cli()).expect("CONFIG SET");

    let error = refusal(&*client, &Ask::new("another"));
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::OutOfMemory, "{error}");
    assert_eq!(guard.lease().wait_lost(Duration::from_millis(1_800)), None, "renewed");
    assert!(guard.lease().is_held());
    assert_eq!(guard.release().expect("release"), Release::Released);
}

fn a_server_that_is_down_is_unreachable(world: &dyn World) {
    let mut server = Server::redis7().start().expect("a server");
    let client = client_at(world, server.url());
    server.kill();

    let url = format!("redis://user:{CANARY}@127.0.0.1:{}/", server.port());
    let began = Instant::now();
    let Err(error) = try_client_at(world, url) else { panic!("connected") };
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let shown = format!("{error} {error:?}");
    assert!(shown.contains(&format!("127.0.0.1:{}", server.port())), "{shown}");
    assert!(!shown.contains(CANARY), "{shown}");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Unreachable);

    let error = refusal(&*client, &Ask::new("k"));
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Unreachable, "{error}");
    assert!(error.is_transient());
    let began = Instant::now();
    let error = client.acquire(&Ask::new("k").wait(500)).map(|_| ()).expect_err("refused");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Unreachable, "{error}");
    assert!(began.elapsed() >= Duration::from_millis(500), "waited for it to come back");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

fn a_server_that_is_silent_costs_one_deadline_a_try(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let client = client_at(world, server.url());
    server.pause();
    let began = Instant::now();
    let error = refusal(&*client, &Ask::new("k").ttl(900));
    let took = began.elapsed();
    server.resume();
    let kind = error.fault().expect("a fault").kind();
    assert!(matches!(kind, FaultKind::NoReply | FaultKind::Unreachable), "{error}");
    // A third of the TTL for the first try; connecting anew for the second takes up to a second.
    assert!(took < Duration::from_millis(2_500), "{took:?}");
    // What the first try may have left is undone.
    let guard = take(&*client, &Ask::new("k").wait(5_000));
    assert_eq!(guard.release().expect("release"), Release::Released);
}

fn a_server_that_comes_back_is_used_again(world: &dyn World) {
    let mut server = Server::redis7().start().expect("a server");
    let client = client_at(world, server.url());
    drop(take(&*client, &Ask::new("k")));
    server.kill();
    server.restart().expect("a server");
    // The connection died while nobody looked: that is not the caller's business.
    let guard = take(&*client, &Ask::new("k"));
    assert_eq!(guard.release().expect("release"), Release::Released);
}

fn a_server_that_stays_away_loses_the_lease_in_time(world: &dyn World) {
    let mut server = Server::redis7().start().expect("a server");
    let client = client_at(world, server.url());
    let guard = take(&*client, &Ask::new("k").ttl(900));
    let began = Instant::now();
    server.kill();
    assert_eq!(guard.lease().wait_lost(BOUND), Some(LossReason::Unreachable));
    assert!(began.elapsed() <= Duration::from_millis(950), "{:?}", began.elapsed());
    assert!(matches!(guard.release(), Ok(Release::Unknown)), "nobody answered");
}

/// O40: a server that has forgotten a script is told it again.
fn flushed_scripts_come_back(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let client = client_at(world, server.url());
    let guard = take(&*client, &Ask::new("k").ttl(300));
    let mut cli = server.cli();
    for _ in 0..5 {
        redis::cmd("SCRIPT").arg("FLUSH").exec(&mut cli).expect("SCRIPT FLUSH");
        assert_eq!(guard.lease().wait_lost(Duration::from_millis(120)), None);
    }
    redis::cmd("SCRIPT").arg("FLUSH").exec(&mut cli).expect("SCRIPT FLUSH");
    assert_eq!(guard.release().expect("release"), Release::Released);
}

fn a_command_that_goes_away_is_replaced(world: &dyn World) {
    let server = Server::valkey9().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    // As after a failover to an older server, with the connection still up.
    proxy.deny("DELIFEQ");
    let guard = take(&*client, &Ask::new("k"));
    assert_eq!(guard.release().expect("release"), Release::Released);
    assert_eq!(proxy.count("EVAL"), 1, "{:?}", proxy.texts());
    let guard = take(&*client, &Ask::new("k"));
    proxy.clear();
    assert_eq!(guard.release().expect("release"), Release::Released);
    assert_eq!(proxy.count("DELIFEQ"), 0, "learnt: {:?}", proxy.texts());
}
