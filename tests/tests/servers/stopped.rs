//! A holder that is stopped (SIGSTOP) for two TTLs: it knows before any I/O that the lease is over.

use std::time::Duration;

use tairlock::{LossReason, Release};
use tairlock_tests::{
    Proxy, Server,
    program::Program,
    proxy::Fault,
    world::{Ask, Blocking, Held},
};

use crate::{BOUND, client_at, take};

/// The TTL of the process's lease.
const TTL_MS: u64 = 1_000;

const DRIVERS: [&str; 2] = ["async", "blocking"];

fn holder(url: &str, driver: &str, deed: &str) -> Program {
    let holder = Program::start(env!("CARGO_BIN_EXE_holder"), &[url, driver, deed]);
    let holder = holder.expect("a process");
    assert_eq!(holder.line(), "\"connected\"");
    holder
}

/// A server, and a process that was stopped for two TTLs while it held the lock. Meanwhile somebody else took
/// it, and gave it back if it was not `kept`.
fn paused(driver: &str, deed: &str, kept: bool) -> (Server, Program, Box<dyn Held>) {
    let server = Server::redis7().start().expect("a server");
    let other = client_at(&Blocking, server.url());
    let holder = holder(&server.url(), driver, deed);
    assert_eq!(holder.line(), "\"holds\"");
    holder.pause();
    let mut next = take(&*other, &Ask::new("k").wait(10_000));
    if !kept {
        assert_eq!(next.release().expect("release"), Release::Released);
        next = take(&*other, &Ask::new("another"));
    }
    let clock = take(&*other, &Ask::new("clock").ttl(2 * TTL_MS).fixed());
    assert_eq!(clock.lease().wait_lost(BOUND), Some(LossReason::Expired));
    holder.resume();
    (server, holder, next)
}

/// A pause that outlasts the lease without a renewal in doubt, or with one.
fn assert_lost(known: &str) {
    assert!(["Lost(Expired)", "Lost(Unreachable)"].contains(&known), "{known}");
}

#[test]
fn k4_a_stopped_holder_knows_at_once_and_its_release_says_what_it_found() {
    for driver in DRIVERS {
        for (kept, says) in [(true, "Ok(Taken)"), (false, "Ok(Expired)")] {
            let (_server, mut holder, next) = paused(driver, "guard", kept);
            assert_lost(&holder.line());
            assert_eq!(holder.line(), says, "{driver}");
            assert!(holder.ended_well());
            assert!(next.lease().is_held());
            assert_eq!(next.release().expect("release"), Release::Released, "untouched");
        }
    }
}

#[test]
fn k4_an_async_body_that_was_stopped_goes_no_further_than_its_next_await() {
    for kept in [true, false] {
        let (_server, mut holder, next) = paused("async", "attribute", kept);
        assert_lost(&holder.line());
        let told = holder.line();
        assert!(told.starts_with("Err(Lost {"), "{told}");
        assert!(holder.ended_well());
        assert_eq!(next.release().expect("release"), Release::Released, "untouched");
    }
}

#[test]
fn k4_a_blocking_body_that_was_stopped_runs_to_its_end_and_its_caller_is_told() {
    for kept in [true, false] {
        let (_server, mut holder, next) = paused("blocking", "attribute", kept);
        assert_lost(&holder.line());
        assert_eq!(holder.line(), "\"went on\"");
        let told = holder.line();
        assert!(told.starts_with("Err(Lost {"), "{told}");
        assert!(holder.ended_well());
        assert_eq!(next.release().expect("release"), Release::Released, "untouched");
    }
}

#[test]
fn k3_who_is_stopped_before_the_reply_is_not_granted_a_lease_that_has_run_out() {
    let server = Server::redis7().start().expect("a server");
    let other = client_at(&Blocking, server.url());
    for driver in DRIVERS {
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        proxy.once("SET k", Fault::Delay(Duration::from_millis(100)));
        let mut holder = holder(&proxy.url(), driver, "take");
        assert!(proxy.wait_for("SET k", 1, BOUND), "asked");
        holder.pause();
        let next = take(&*other, &Ask::new("k").wait(10_000));
        let clock = take(&*other, &Ask::new("clock").ttl(2 * TTL_MS).fixed());
        assert_eq!(clock.lease().wait_lost(BOUND), Some(LossReason::Expired));
        holder.resume();
        let told = holder.line();
        assert!(told.starts_with("Err(") || told == "Ok(None)", "{driver}: {told}");
        assert!(holder.ended_well());
        assert!(next.lease().is_held());
        assert_eq!(next.release().expect("release"), Release::Released, "untouched");
    }
}
