//! What may befall a server or a connection while a lock is held, and pass: no loss, no leak, no false word.

use std::{
    thread,
    time::{Duration, Instant},
};

use tairlock::{FaultKind, Lease, LeaseState, LossReason, Release};
use tairlock_tests::{
    Proxy, Server,
    world::{Ask, Held, Locks, World},
};

use crate::{BOUND, client_at, for_each_driver, refusal, take};

for_each_driver!(
    o26_a_server_paused_during_a_renewal_costs_no_lease,
    o26_a_server_stopped_for_less_than_a_ttl_costs_no_lease,
    o26_a_server_stopped_for_longer_than_a_ttl_is_a_loss_and_leaves_nothing,
    o26_a_guard_dropped_while_the_server_is_paused_is_released,
    o23_killed_connections_cost_no_lease,
    o46_a_permission_taken_away_and_given_back_costs_no_lease,
    o46_a_release_without_permission_says_so,
    o17_a_restart_with_the_data_costs_no_lease,
    o17_a_restart_without_the_data_is_a_loss,
    o41_a_primary_demoted_for_a_while_costs_no_lease,
    o19_a_release_that_the_server_refuses_for_now_is_seen_through,
    o26_a_long_script_costs_no_lease,
    o47_an_evicted_lock_is_a_loss,
    t10_an_error_of_the_server_is_neither_busy_nor_a_loss,
);

/// Renewed once a second, with two to spare.
const TTL_MS: u64 = 3_000;
const RENEWAL: Duration = Duration::from_millis(TTL_MS / 3);

/// Says something to the server as an operator would.
fn order(server: &Server, words: &str) {
    let words: Vec<&str> = words.split(' ').collect();
    redis::cmd(words[0]).arg(&words[1..]).exec(&mut server.cli()).expect("an order");
}

/// Waits until that is what is known of the lease, which is not lost.
#[track_caller]
fn wait_for(lease: &Lease, state: LeaseState) {
    let until = Instant::now() + BOUND;
    while lease.state() != state {
        assert_eq!(lease.wait_lost(Duration::from_millis(10)), None, "not {state:?}");
        assert!(Instant::now() < until, "{:?}, not {state:?}", lease.state());
    }
}

#[track_caller]
fn assert_released(guard: Box<dyn Held>) {
    assert_eq!(guard.release().expect("release"), Release::Released);
}

/// A server, and a guard that one client has on it.
fn held(world: &dyn World) -> (Server, Box<dyn Locks>, Box<dyn Held>) {
    let server = Server::redis7().start().expect("a server");
    let client = client_at(world, server.url());
    let guard = take(&*client, &Ask::new("k").ttl(TTL_MS));
    (server, client, guard)
}

fn o26_a_server_paused_during_a_renewal_costs_no_lease(world: &dyn World) {
    let (server, _client, guard) = held(world);
    order(&server, "CLIENT PAUSE 1500 ALL");
    assert_eq!(guard.lease().wait_lost(RENEWAL * 4), None);
    wait_for(guard.lease(), LeaseState::Held);
    assert_released(guard);
}

fn o26_a_server_stopped_for_less_than_a_ttl_costs_no_lease(world: &dyn World) {
    let (server, _client, guard) = held(world);
    // The renewal after a second is not answered within another one; a third is left.
    server.pause();
    wait_for(guard.lease(), LeaseState::Uncertain);
    assert!(guard.lease().is_held());
    server.resume();
    wait_for(guard.lease(), LeaseState::Held);
    assert_released(guard);
}

fn o26_a_server_stopped_for_longer_than_a_ttl_is_a_loss_and_leaves_nothing(world: &dyn World) {
    let (server, client, guard) = held(world);
    server.pause();
    let lost = guard.lease().wait_lost(BOUND).expect("told by our own clock");
    assert!(matches!(lost, LossReason::Unreachable | LossReason::Expired), "{lost:?}");
    assert!(!guard.lease().is_held());
    // It may be executed yet, and nobody is there any more to hold what it would take.
    let error = refusal(&*client, &Ask::new("late").ttl(TTL_MS));
    assert!(error.is_transient(), "{error}");
    server.resume();
    // Renewals that lie in the server's sockets make no key, and the acquire's is taken back.
    let mut cli = server.cli();
    let mut left = || redis::cmd("EXISTS").arg("k").arg("late").query::<u8>(&mut cli).unwrap();
    let until = Instant::now() + Duration::from_millis(TTL_MS);
    while left() > 0 && Instant::now() < until {
        thread::yield_now();
    }
    assert_eq!(left(), 0, "gone with its TTL at the latest");
    assert_eq!(guard.lease().wait_lost(Duration::ZERO), Some(lost), "never held again");
    assert_eq!(guard.release().expect("release"), Release::Expired);
    assert_released(take(&*client, &Ask::new("k").wait(10_000)));
}

fn o26_a_guard_dropped_while_the_server_is_paused_is_released(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    let (kept, dropped) =
        (take(&*client, &Ask::new("kept").ttl(TTL_MS)), take(&*client, &Ask::new("k").ttl(TTL_MS)));
    assert!(proxy.wait_for("EVAL", 2, BOUND), "renewed, and the script is known");
    let renewals = proxy.count("EVALSHA");
    order(&server, "CLIENT PAUSE 1500 ALL");
    assert!(proxy.wait_for("EVALSHA", renewals + 1, BOUND), "the next is under way");
    drop(dropped);
    let next = take(&*client, &Ask::new("k").wait(10_000));
    assert_released(next);
    assert_eq!(kept.lease().wait_lost(RENEWAL), None);
    assert_released(kept);
}

fn o23_killed_connections_cost_no_lease(world: &dyn World) {
    let (server, client, guard) = held(world);
    for _ in 0..3 {
        order(&server, "CLIENT KILL TYPE normal SKIPME yes");
        assert_eq!(guard.lease().wait_lost(RENEWAL), None);
    }
    wait_for(guard.lease(), LeaseState::Held);
    order(&server, "CLIENT KILL TYPE normal SKIPME yes");
    // That of the commands is found dead by the release itself.
    assert!(matches!(guard.release(), Ok(Release::Released | Release::Unknown)));
    assert_released(take(&*client, &Ask::new("k").wait(10_000)));
}

const RIGHTS: &str = "+set +get +del +pexpire +evalsha +eval";
const NO_RIGHTS: &str = "-set -get -del -pexpire -evalsha -eval";

fn held_by_a_user(world: &dyn World) -> (Server, Box<dyn Locks>, Box<dyn Held>) {
    let rules = format!("worker on >secret ~* +hello +ping +client +exists {RIGHTS}");
    let server = Server::redis7().user(&rules).start().expect("a server");
    let url = format!("redis://worker:secret@127.0.0.1:{}/", server.port());
    let client = client_at(world, url);
    let guard = take(&*client, &Ask::new("k").ttl(TTL_MS));
    (server, client, guard)
}

fn o46_a_permission_taken_away_and_given_back_costs_no_lease(world: &dyn World) {
    let (server, client, guard) = held_by_a_user(world);
    order(&server, &format!("ACL SETUSER worker {NO_RIGHTS}"));
    let error = refusal(&*client, &Ask::new("another"));
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Permission, "{error}");
    wait_for(guard.lease(), LeaseState::Uncertain);
    order(&server, &format!("ACL SETUSER worker {RIGHTS}"));
    wait_for(guard.lease(), LeaseState::Held);
    assert_released(guard);
}

fn o46_a_release_without_permission_says_so(world: &dyn World) {
    let (server, _client, guard) = held_by_a_user(world);
    order(&server, &format!("ACL SETUSER worker {NO_RIGHTS}"));
    let error = guard.release().expect_err("it may not");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Permission, "{error}");
    // Nothing renews it any more.
    assert_released(take(&*client_at(world, server.url()), &Ask::new("k").wait(10_000)));
}

fn o17_a_restart_with_the_data_costs_no_lease(world: &dyn World) {
    let server = Server::redis7().config(["appendonly", "yes"]).config(["appendfsync", "always"]);
    let mut server = server.start().expect("a server");
    let client = client_at(world, server.url());
    let guard = take(&*client, &Ask::new("k").ttl(TTL_MS));
    server.kill();
    server.restart().expect("a server");
    assert_eq!(guard.lease().wait_lost(RENEWAL * 4), None);
    wait_for(guard.lease(), LeaseState::Held);
    assert!(matches!(guard.release(), Ok(Release::Released | Release::Unknown)));
    assert_released(take(&*client, &Ask::new("k").wait(10_000)));
}

fn o17_a_restart_without_the_data_is_a_loss(world: &dyn World) {
    let (mut server, client, guard) = held(world);
    server.kill();
    server.restart().expect("a server");
    let next = take(&*client, &Ask::new("k").wait(10_000));
    drop(next);
    let lost = guard.lease().wait_lost(BOUND).expect("lost");
    assert!(matches!(lost, LossReason::Vanished | LossReason::Taken), "{lost:?}");
    assert!(!guard.lease().is_held());
    assert!(!matches!(guard.release(), Ok(Release::Released)));
}

/// A replica of nobody: it keeps its data, and takes no writes.
const DEMOTE: &str = "REPLICAOF 127.0.0.1 1";
const PROMOTE: &str = "REPLICAOF NO ONE";

fn o41_a_primary_demoted_for_a_while_costs_no_lease(world: &dyn World) {
    let (server, client, guard) = held(world);
    order(&server, DEMOTE);
    let error = refusal(&*client, &Ask::new("another"));
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::ReadOnly, "{error}");
    wait_for(guard.lease(), LeaseState::Uncertain);
    order(&server, PROMOTE);
    wait_for(guard.lease(), LeaseState::Held);
    assert_released(guard);
}

fn o19_a_release_that_the_server_refuses_for_now_is_seen_through(world: &dyn World) {
    for (refuse, allow) in [
        (DEMOTE, PROMOTE),
        ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
    ] {
        let server = Server::redis7().start().expect("a server");
        let client = client_at(world, server.url());
        let guard = take(&*client, &Ask::new("k").ttl(60_000));
        let dropped = take(&*client, &Ask::new("dropped").ttl(60_000));
        order(&server, refuse);
        assert_eq!(guard.release().expect("no error"), Release::Unknown, "{refuse}");
        drop(dropped);
        order(&server, allow);
        assert_released(take(&*client, &Ask::new("k").wait(10_000)));
        assert_released(take(&*client, &Ask::new("dropped").wait(10_000)));
    }
}

fn o26_a_long_script_costs_no_lease(world: &dyn World) {
    let server = Server::redis7().config(["lua-time-limit", "50"]).start().expect("a server");
    let client = client_at(world, server.url());
    let guard = take(&*client, &Ask::new("k").ttl(TTL_MS));
    let (mut runs, mut kills) = (server.cli(), server.cli());
    let script = thread::spawn(move || {
        let script = redis::cmd("EVAL").arg("while true do end").arg(0).exec(&mut runs);
        script.expect_err("killed");
    });
    wait_for(guard.lease(), LeaseState::Uncertain);
    let error = refusal(&*client, &Ask::new("another"));
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::NotReady, "{error}");
    redis::cmd("SCRIPT").arg("KILL").exec(&mut kills).expect("SCRIPT KILL");
    script.join().expect("no panic");
    wait_for(guard.lease(), LeaseState::Held);
    assert_released(guard);
}

fn o47_an_evicted_lock_is_a_loss(world: &dyn World) {
    let server = Server::redis7().maxmemory("3mb").config(["maxmemory-policy", "volatile-ttl"]);
    let server = server.start().expect("a server");
    let client = client_at(world, server.url());
    let guard = take(&*client, &Ask::new("k").ttl(TTL_MS));
    let mut cli = server.cli();
    let mut fill = (0..).map(|at| {
        redis::cmd("SET").arg(format!("cache:{at}")).arg(vec![b'x'; 50_000]).exec(&mut cli)
    });
    assert!(fill.by_ref().take(1_000).any(|filled| filled.is_err()), "full, and nothing to evict");
    assert_eq!(guard.lease().wait_lost(BOUND), Some(LossReason::Vanished));
    assert_eq!(guard.release().expect("release"), Release::Expired);
}

fn t10_an_error_of_the_server_is_neither_busy_nor_a_loss(world: &dyn World) {
    const ERRORS: [(&str, FaultKind); 14] = [
        ("LOADING Redis is loading the dataset in memory", FaultKind::NotReady),
        ("BUSY Redis is busy running a script.", FaultKind::NotReady),
        ("MASTERDOWN Link with MASTER is down", FaultKind::NotReady),
        ("ERR redis temporary failure", FaultKind::NotReady),
        ("READONLY You can't write against a read only replica.", FaultKind::ReadOnly),
        ("NOREPLICAS Not enough good replicas to write.", FaultKind::ReadOnly),
        ("MISCONF Redis is configured to save RDB snapshots", FaultKind::ReadOnly),
        ("OOM command not allowed when used memory > 'maxmemory'.", FaultKind::OutOfMemory),
        ("NOPERM this user has no permissions to run the command", FaultKind::Permission),
        ("NOAUTH Authentication required.", FaultKind::Auth),
        ("CLUSTERDOWN The cluster is down", FaultKind::Cluster),
        ("TRYAGAIN Multiple keys request during rehashing", FaultKind::Cluster),
        ("ERR max number of clients reached", FaultKind::Unreachable),
        ("ERR something new", FaultKind::Server),
    ];
    let server = Server::redis7().start().expect("a server");
    // All at once, as each takes a renewal's time.
    let cases = ERRORS.map(|(error, kind)| {
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        let client = client_at(world, proxy.url());
        let guard = take(&*client, &Ask::new(error).ttl(TTL_MS));
        (error, kind, proxy, client, guard)
    });
    for (error, kind, proxy, client, _) in &cases {
        proxy.answer("", format!("-{error}\r\n").as_bytes());
        let refused = refusal(&**client, &Ask::new(format!("another:{error}")));
        assert_eq!(refused.fault().expect("a fault").kind(), *kind, "{error}: {refused}");
    }
    for (.., proxy, _, guard) in &cases {
        wait_for(guard.lease(), LeaseState::Uncertain);
        proxy.heal();
    }
    for (error, kind, proxy, client, guard) in cases {
        wait_for(guard.lease(), LeaseState::Held);
        proxy.answer("", format!("-{error}\r\n").as_bytes());
        match guard.release() {
            Ok(Release::Unknown) => assert!(is_passing(kind), "{error}"),
            Err(refused) => {
                assert!(!is_passing(kind), "{error}");
                assert_eq!(refused.fault().expect("a fault").kind(), kind, "{error}");
            }
            Ok(other) => panic!("{other:?} to {error}"),
        }
        proxy.heal();
        // Seen through, or gone with its TTL.
        assert_released(take(&*client, &Ask::new(error).wait(10_000)));
    }
}

fn is_passing(kind: FaultKind) -> bool {
    use FaultKind::{Cluster, NotReady, ReadOnly, Unreachable};
    matches!(kind, Cluster | NotReady | ReadOnly | Unreachable)
}
