//! A body that asks for a lock that it holds.

use std::{sync::Arc, time::Duration};

use tairlock::{Client, Error, Release, distributed_lock};
use tokio::sync::Notify;

use crate::{Answer, client, is_locked};

#[distributed_lock(key = "r:{key}", using = client())]
async fn inner(key: &str) -> Answer<u8> {
    tokio::task::yield_now().await;
    Ok(1)
}

#[tokio::test]
async fn o55_a_nested_acquire_of_the_same_key_is_a_typed_error_at_once() {
    #[distributed_lock(key = "r:{key}", using = client())]
    async fn outer(key: &str) -> Answer<(Error, Error, bool)> {
        tokio::task::yield_now().await;
        let began = std::time::Instant::now();
        let nested = inner(key).await.unwrap_err();
        let by_hand = client().lock(format!("r:{key}")).acquire().await.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(1), "it waited for itself");
        let tried = client().lock(format!("r:{key}")).try_acquire().await?;
        Ok((nested, by_hand, tried.is_none()))
    }
    let (nested, by_hand, not_had) = outer("o55").await.unwrap();
    for error in [nested, by_hand] {
        assert!(matches!(&error, Error::WouldDeadlock { key } if key.as_bytes() == b"r:o55"));
        assert!(!error.is_busy() && error.to_string().contains("reentrant = true"));
    }
    assert!(not_had && !is_locked("r:o55").await);
}

#[test]
fn o55_in_blocking_code() {
    use crate::{blocking_client as client, is_locked_blocking};
    #[distributed_lock(key = "r:o55", using = client())]
    fn inner() -> Answer {
        Ok(())
    }
    #[distributed_lock(key = "r:o55", using = client())]
    fn outer() -> Answer<Error> {
        assert!(matches!(client().lock("r:o55").acquire(), Err(Error::WouldDeadlock { .. })));
        assert!(client().lock("r:o55").try_acquire()?.is_none());
        Ok(inner().unwrap_err())
    }
    assert!(matches!(outer(), Ok(Error::WouldDeadlock { .. })));
    assert!(!is_locked_blocking("r:o55"));
}

#[tokio::test]
async fn reentrant_shares_the_lease_and_the_outer_one_releases() {
    #[distributed_lock(key = "r:shared", reentrant = true, lease = lease, using = client())]
    async fn inner() -> Answer<tairlock::Lease> {
        tokio::task::yield_now().await;
        Ok(lease)
    }
    #[distributed_lock(key = "r:shared", lease = lease, using = client())]
    async fn outer() -> Answer<tairlock::Lease> {
        let shared = inner().await?;
        assert_eq!((shared.token(), shared.fence()), (lease.token(), lease.fence()));
        let guard = client().lock("r:shared").reentrant(true).acquire().await?;
        assert_eq!(guard.lease().token(), lease.token());
        assert_eq!(guard.release().await?, Release::Kept);
        drop(client().lock("r:shared").reentrant(true).try_acquire().await?.unwrap());
        assert!(lease.is_held() && is_locked("r:shared").await);
        Ok(lease)
    }
    let lease = outer().await.unwrap();
    assert!(!lease.is_held() && !is_locked("r:shared").await);
    assert_ne!(inner().await.unwrap().token(), lease.token(), "on its own it takes the lock");
}

#[test]
fn reentrant_shares_the_lease_in_blocking_code() {
    use crate::{blocking_client as client, is_locked_blocking};
    #[distributed_lock(key = "r:shared:{n}", reentrant = true, lease = lease, using = client())]
    fn inner(n: u8) -> Answer<tairlock::Token> {
        Ok(lease.token().clone())
    }
    #[distributed_lock(key = "r:shared:{n}", lease = lease, using = client())]
    fn outer(n: u8) -> Answer<bool> {
        let same = inner(n)? == *lease.token();
        let guard = client().lock(format!("r:shared:{n}")).reentrant(true).acquire()?;
        Ok(same && guard.release()? == Release::Kept && lease.is_held())
    }
    assert!(outer(1).unwrap() && !is_locked_blocking("r:shared:1"));
}

#[tokio::test]
async fn a_shared_guard_that_outlives_the_call_holds_nothing() {
    #[distributed_lock(key = "r:outlives", using = client())]
    async fn outer() -> Answer<tairlock::LockGuard> {
        client().lock("r:outlives").reentrant(true).acquire().await
    }
    let guard = outer().await.unwrap();
    assert!(!guard.is_held() && !is_locked("r:outlives").await);
    let _next = client().lock("r:outlives").acquire().await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Release::Expired);
    assert!(is_locked("r:outlives").await, "it released somebody else's lock");
}

#[tokio::test]
async fn klock_starter_26_an_attribute_inside_an_attribute_frees_both() {
    #[distributed_lock(key = "r:outer:{id}", using = client())]
    async fn outer(id: u8) -> Answer<bool> {
        let nested = inner(&format!("inner:{id}")).await?;
        Ok(nested == 1 && is_locked(&format!("r:outer:{id}")).await)
    }
    assert!(outer(1).await.unwrap());
    assert!(!is_locked("r:outer:1").await && !is_locked("r:inner:1").await);

    use crate::{blocking_client, is_locked_blocking};
    #[distributed_lock(key = "r:26:b", using = blocking_client())]
    fn second() -> Answer {
        Ok(())
    }
    #[distributed_lock(key = "r:26:a", using = blocking_client())]
    fn first() -> Answer {
        second()?;
        assert!(is_locked_blocking("r:26:a"));
        second()
    }
    first().unwrap();
    assert!(!is_locked_blocking("r:26:a") && !is_locked_blocking("r:26:b"));
}

#[tokio::test]
async fn futures_side_by_side_wait_for_each_other() {
    let (a, b, c) = tokio::join!(inner("join"), inner("join"), inner("join"));
    assert_eq!((a.unwrap(), b.unwrap(), c.unwrap()), (1, 1, 1));
    // Also inside of a body that holds another key.
    #[distributed_lock(key = "r:around", using = client())]
    async fn around() -> Answer<u8> {
        let (a, b) = tokio::join!(inner("join"), inner("join"));
        Ok(a? + b?)
    }
    assert_eq!(around().await.unwrap(), 2);
}

#[tokio::test]
async fn what_a_body_spawns_is_not_inside_of_it() {
    #[distributed_lock(key = "r:spawn", using = client())]
    async fn outer() -> Answer<tokio::task::JoinHandle<Answer<u8>>> {
        let waits = Arc::new(Notify::new());
        let started = Arc::clone(&waits);
        let task = tokio::spawn(async move {
            started.notify_one();
            inner("spawn").await
        });
        waits.notified().await;
        tokio::task::yield_now().await;
        assert!(!task.is_finished(), "it waits for the lock");
        Ok(task)
    }
    assert_eq!(outer().await.unwrap().await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn another_client_is_somebody_else() {
    #[distributed_lock(key = "r:other", using = client())]
    async fn outer(other: &Client) -> Answer<bool> {
        Ok(other.lock("r:other").acquire().await?.is_held())
    }
    assert!(outer(&Client::in_memory()).await.unwrap());
}

#[tokio::test]
async fn a_lost_lock_can_be_asked_for_again() {
    #[distributed_lock(
        key = "r:lost", ttl = "40ms", renew = false, on_lost = finish, lease = lease, using = client()
    )]
    async fn outer() -> Answer<bool> {
        lease.lost().await;
        assert!(client().lock("r:lost").acquire().await.is_ok());
        Ok(true)
    }
    assert!(matches!(outer().await, Err(Error::Lost { .. })));
}

#[tokio::test]
async fn a_scope_ends_with_a_panic_and_with_cancellation() {
    #[distributed_lock(key = "r:ends", using = client())]
    async fn body(panics: bool) -> Answer {
        tokio::task::yield_now().await;
        assert!(!panics, "as asked");
        std::future::pending().await
    }
    // Polled on this very thread.
    let panicked = std::panic::AssertUnwindSafe(body(true));
    let caught = futures_catch(panicked).await;
    assert!(caught.is_err());
    assert!(client().lock("r:ends").acquire().await.is_ok());
    _ = tokio::time::timeout(Duration::from_millis(30), body(false)).await.unwrap_err();
    assert!(client().lock("r:ends").acquire().await.is_ok());
}

/// Polls `future` and catches its panics.
async fn futures_catch<F: Future>(future: F) -> std::thread::Result<F::Output> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| {
        let poll = || future.as_mut().poll(cx);
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(poll)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => std::task::Poll::Ready(Err(panic)),
        }
    })
    .await
}
