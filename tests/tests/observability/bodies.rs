//! Bodies under the attribute: they run inside of their lock's span, on whatever thread they are polled.

use std::sync::OnceLock;

use tairlock::{Error, distributed_lock};
use tracing::Instrument as _;

use crate::{
    scrape::{acquires, count},
    soon, told,
};

type Answer<T = ()> = Result<T, Error>;

fn locks() -> &'static tairlock::Client {
    static CLIENT: OnceLock<tairlock::Client> = OnceLock::new();
    told::listen();
    CLIENT.get_or_init(tairlock::Client::in_memory)
}

fn blocking_locks() -> &'static tairlock_sync::Client {
    static CLIENT: OnceLock<tairlock_sync::Client> = OnceLock::new();
    told::listen();
    CLIENT.get_or_init(tairlock_sync::Client::in_memory)
}

/// That what was said of `key` was said in the hold of the lock called `name`, and that in `around`.
#[track_caller]
fn said_inside(key: &str, name: &str, around: &str) {
    let store = told::store();
    let said = store.said("working", key);
    assert_eq!(said.len(), 2, "before and after an await");
    for said in said {
        let hold = &store.spans[said.span.expect("in a span")];
        assert_eq!(
            (hold.name, &*hold.fields["name"], &*hold.fields["key"]),
            ("tairlock.hold", name, key)
        );
        let parent = &store.spans[hold.parent.expect("in a span")];
        assert_eq!((parent.name, &*parent.fields["key"]), (around, key));
    }
}

#[distributed_lock(key = "body:{id}", using = locks())]
async fn inside(id: u32) -> Answer {
    tracing::info!(key = format!("body:{id}"), "working");
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    tracing::info!(key = format!("body:{id}"), "working");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_body_is_in_its_hold_and_in_its_callers_span() {
    told::listen();
    let tasks: Vec<_> = (0..20)
        .map(|id| {
            let around = tracing::info_span!("request", key = format!("body:{id}"));
            tokio::spawn(inside(id).instrument(around))
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic").expect("it is free");
    }
    for id in 0..20 {
        said_inside(&format!("body:{id}"), "inside", "request");
    }
}

#[distributed_lock(key = "blocking-body:{id}", using = blocking_locks(), name = "till")]
fn inside_blocking(id: u32) -> Answer {
    tracing::info!(key = format!("blocking-body:{id}"), "working");
    tracing::info!(key = format!("blocking-body:{id}"), "working");
    Ok(())
}

#[test]
fn a_blocking_body_is_in_its_hold() {
    told::listen();
    let around = tracing::info_span!("request", key = "blocking-body:1");
    around.in_scope(|| inside_blocking(1)).expect("it is free");
    said_inside("blocking-body:1", "till", "request");
}

#[distributed_lock(key = "outer:{id}", using = locks())]
async fn deadlock_outer(id: u32) -> Answer<u32> {
    deadlock_inner(id).await
}

#[distributed_lock(key = "outer:{id}", using = locks())]
async fn deadlock_inner(id: u32) -> Answer<u32> {
    Ok(id)
}

#[distributed_lock(key = "shared:{id}", using = locks())]
async fn share_outer(id: u32) -> Answer<u32> {
    share_inner(id).await
}

#[distributed_lock(key = "shared:{id}", using = locks(), reentrant = true)]
async fn share_inner(id: u32) -> Answer<u32> {
    Ok(id)
}

#[tokio::test]
async fn re_entry_is_told_apart() {
    assert!(matches!(deadlock_outer(1).await, Err(Error::WouldDeadlock { .. })));
    assert_eq!(acquires("deadlock_inner", "would_deadlock"), 1.0);
    share_outer(1).await.expect("it is shared");
    assert_eq!((acquires("share_outer", "granted"), acquires("share_inner", "shared")), (1.0, 1.0));
    assert_eq!(count("tairlock_hold_seconds_count", "share_inner", &[]), 0.0, "it holds nothing");
    let store = told::store();
    let (outer, inner) =
        (store.of("tairlock.hold", "share_outer"), store.of("tairlock.wait", "share_inner"));
    assert_eq!(inner[0].1.parent, Some(outer[0].0), "asked inside of the outer one");
}

#[distributed_lock(key = "blocking-outer", using = blocking_locks())]
fn blocking_deadlock_outer() -> Answer {
    blocking_deadlock_inner()
}

#[distributed_lock(key = "blocking-outer", using = blocking_locks())]
fn blocking_deadlock_inner() -> Answer {
    Ok(())
}

#[test]
fn blocking_re_entry_is_told_apart() {
    assert!(matches!(blocking_deadlock_outer(), Err(Error::WouldDeadlock { .. })));
    assert_eq!(acquires("blocking_deadlock_inner", "would_deadlock"), 1.0);
}

#[distributed_lock(key = "nightly", using = locks(), on_busy = skip)]
async fn nightly() -> Answer {
    Ok(())
}

#[distributed_lock(key = "nightly-blocking", using = blocking_locks(), on_busy = skip)]
fn nightly_blocking() -> Answer {
    Ok(())
}

#[tokio::test]
async fn a_skipped_job_is_told() {
    let guard = locks().lock("nightly").acquire().await.expect("it is free");
    nightly().await.expect("it is skipped");
    drop(guard);
    let guard = blocking_locks().lock("nightly-blocking").acquire().expect("it is free");
    nightly_blocking().expect("it is skipped");
    drop(guard);
    let store = told::store();
    for key in ["nightly", "nightly-blocking"] {
        assert_eq!(store.said("skipped", key).len(), 1, "{key}");
    }
    drop(store);
    assert_eq!((acquires("nightly", "busy"), acquires("nightly_blocking", "busy")), (1.0, 1.0));
}

#[tokio::test]
async fn a_cancelled_call_is_told() {
    let guard = locks().lock("cancelled").acquire().await.expect("it is free");
    let lock = locks().lock("cancelled").name("cancelled");
    tokio::select! {
        biased;
        _ = lock.acquire() => panic!("somebody holds it"),
        () = tokio::task::yield_now() => {}
    }
    drop(guard);
    assert_eq!(acquires("cancelled", "cancelled"), 1.0);
    assert_eq!(count("tairlock_waiters", "cancelled", &[]), 0.0);
    assert_eq!(told::outcomes("tairlock.wait", "cancelled"), ["cancelled"]);
}

#[tokio::test]
async fn a_body_that_is_dropped_ends_its_hold() {
    #[distributed_lock(key = "dropped-body", using = locks())]
    async fn dropped_body() -> Answer {
        std::future::pending().await
    }
    tokio::select! {
        biased;
        _ = dropped_body() => panic!("it never ends"),
        () = async { while count("tairlock_held", "dropped_body", &[]) == 0.0 { tokio::task::yield_now().await } } => {}
    }
    soon("it is released", || told::outcomes("tairlock.hold", "dropped_body") == ["released"]);
    assert_eq!(count("tairlock_held", "dropped_body", &[]), 0.0);
}

#[tokio::test]
async fn several_locks_are_a_hold_each() {
    let lock = locks().lock_all(["several:b", "several:a"]).name("several");
    lock.acquire().await.expect("both are free").release().await.expect("they are ours");
    assert_eq!(acquires("several", "granted"), 2.0);
    assert_eq!(told::outcomes("tairlock.hold", "several"), ["released", "released"]);
}
