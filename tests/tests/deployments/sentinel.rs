//! The primary is the one that the sentinels name, whichever that is now.

use std::time::{Duration, Instant};

use tairlock::{FaultKind, LossReason, Release};
use tairlock_tests::{
    Server,
    fleet::Sentinels,
    place::At,
    world::{Ask, Held, Wish, World},
};

use crate::{add, await_that, client_of, for_either_driver, kind, take, under};

for_either_driver!(
    a_requested_failover_while_holding,
    a_killed_primary_while_holding,
    a_killed_primary_while_updating,
    a_sentinel_may_be_down_or_silent,
    what_is_wrong_is_told,
    passwords_are_those_that_were_said,
);

/// Lost, or the new primary has our token.
fn told_the_truth(fleet: &Sentinels, primary: usize, key: &str, guard: &dyn Held) {
    let mut look = fleet.servers()[primary].cli();
    let stored: Option<Vec<u8>> = redis::cmd("GET").arg(key).query(&mut look).expect("GET");
    let ours = stored.as_deref() == Some(guard.lease().token().as_bytes());
    // Where it is not there, the next renewal tells, or the end of the lease.
    let lost = guard.lease().wait_lost(if ours { Duration::ZERO } else { Duration::from_secs(13) });
    assert_eq!(lost.is_none(), ours, "{key}: {lost:?}, {stored:?}");
}

/// The old primary stays up, and takes no writes any more.
fn a_requested_failover_while_holding(world: &dyn World) {
    let fleet = Sentinels::start(Server::valkey9, 1).expect("sentinels");
    let client = under(world, &fleet);
    let guard = take(&*client, &Ask::new("k").ttl(12_000));
    let new = fleet.failover().expect("another primary");
    let began = Instant::now();
    let other = take(&*client, &Ask::new("other").wait(10_000));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(other.release().expect("release"), Release::Released);
    told_the_truth(&fleet, new, "k", &*guard);

    // It is renewed at the new one, by which its end is seen.
    redis::cmd("DEL").arg("k").exec(&mut fleet.servers()[new].cli()).expect("DEL");
    assert_eq!(guard.lease().wait_lost(Duration::from_secs(13)), Some(LossReason::Vanished));
}

fn a_killed_primary_while_holding(world: &dyn World) {
    let mut fleet = Sentinels::start(Server::redis7, 2).expect("sentinels");
    let client = under(world, &fleet);
    let held: Vec<_> = (0..20)
        .map(|number| format!("k{number}"))
        .map(|key| (take(&*client, &Ask::new(&key).ttl(12_000)), key))
        .collect();
    // The last of them may never have been copied.
    let new = fleet.kill_primary().expect("another primary");
    let began = Instant::now();
    let other = take(&*client, &Ask::new("other").wait(10_000));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    for (guard, key) in &held {
        told_the_truth(&fleet, new, key, &**guard);
    }
    assert_eq!(other.release().expect("release"), Release::Released);
    for (guard, _) in held {
        assert!(guard.release().is_ok());
    }
}

fn a_killed_primary_while_updating(world: &dyn World) {
    let mut fleet = Sentinels::start(Server::redis7, 1).expect("sentinels");
    let client = under(world, &fleet);
    let value = client.value(&Wish::new("v"));
    value.create(b"0").expect("created");
    let add = |updates: u64| {
        for _ in 0..updates {
            value.update_json(&mut add).expect("an update");
        }
    };
    add(50);
    await_that("all is copied", || {
        let mut first = fleet.servers()[0].cli();
        redis::cmd("WAIT").arg(1).arg(1_000).query::<u8>(&mut first).expect("WAIT") == 1
            && read(&fleet.servers()[1]) == read(&fleet.servers()[0])
    });
    fleet.servers_mut()[0].kill();
    add(50);
    assert_eq!(value.read_json().expect("a value").expect("there").value, 100);
    assert_eq!(fleet.primary().expect("a primary"), 1);
}

fn read(server: &Server) -> Option<String> {
    redis::cmd("HGET").arg("v").arg("value").query(&mut server.cli()).expect("HGET")
}

fn a_sentinel_may_be_down_or_silent(world: &dyn World) {
    let mut fleet = Sentinels::start(Server::redis7, 1).expect("sentinels");
    fleet.sentinels_mut()[0].kill();
    drop(take(&*under(world, &fleet), &Ask::new("k")));
    fleet.sentinels()[1].pause();
    let began = Instant::now();
    let client = under(world, &fleet);
    drop(take(&*client, &Ask::new("k").wait(5_000)));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    fleet.sentinels()[1].resume();
}

fn what_is_wrong_is_told(world: &dyn World) {
    let mut fleet = Sentinels::start(Server::redis7, 1).expect("sentinels");
    let under = |name: &str, urls: Vec<String>| {
        client_of(world, At::Sentinel(name.to_owned(), urls)).map(|_| ())
    };
    let outcome = under("mian", fleet.urls());
    assert!(format!("{outcome:?}").contains("mian"), "{outcome:?}");
    assert_eq!(kind(outcome), FaultKind::Config);
    let no_sentinel = under(fleet.name(), vec![fleet.servers()[0].url()]);
    assert_eq!(kind(no_sentinel), FaultKind::Config);
    assert!(matches!(under("main", vec![]), Err(tairlock::Error::Config(_))));
    let urls = fleet.urls();
    fleet.sentinels_mut().iter_mut().for_each(Server::kill);
    assert_eq!(kind(under("main", urls)), FaultKind::Unreachable);
}

fn passwords_are_those_that_were_said(world: &dyn World) {
    let fleet = Sentinels::start(|| Server::redis7().password("s3cret"), 1).expect("sentinels");
    let under = |primary: &str, urls| client_of(world, At::Sentinel(primary.to_owned(), urls));
    let client = under("redis://:s3cret@main/3", fleet.urls()).unwrap_or_else(|e| panic!("{e}"));
    let guard = take(&*client, &Ask::new("k"));
    let mut look = fleet.servers()[0].cli();
    redis::cmd("SELECT").arg(3).exec(&mut look).expect("SELECT");
    assert!(redis::cmd("EXISTS").arg("k").query::<bool>(&mut look).expect("EXISTS"));
    assert_eq!(guard.release().expect("release"), Release::Released);
    let outcome = under("redis://:c4n4ry@main", fleet.urls()).map(|_| ());
    assert!(!format!("{outcome:?}").contains("c4n4ry"), "{outcome:?}");
    assert_eq!(kind(outcome), FaultKind::Auth);
    let bare = fleet.urls().iter().map(|url| url.replace(":s3cret@", "")).collect();
    assert_eq!(kind(under("redis://:s3cret@main", bare).map(|_| ())), FaultKind::Auth);
}
