//! `async fn`s: when the lock is held, what comes back, every option.

use std::{
    error::Error as StdError,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tairlock::{Client, Error, distributed_lock};

use crate::{Answer, assert_send, client, is_locked, is_soon_free};

#[derive(Debug, PartialEq)]
enum AppError {
    Mine,
    Lock(String),
}

impl From<Error> for AppError {
    fn from(error: Error) -> Self {
        Self::Lock(error.to_string())
    }
}

#[tokio::test]
async fn held_while_the_body_runs_and_free_after() {
    #[distributed_lock(key = "a:held", using = client())]
    async fn body() -> Answer<bool> {
        tokio::task::yield_now().await;
        Ok(is_locked("a:held").await)
    }
    assert!(body().await.unwrap());
    assert!(!is_locked("a:held").await);
}

#[tokio::test]
async fn free_after_question_mark_return_and_panic() {
    #[distributed_lock(key = "a:exits", using = client())]
    async fn body(how: u8) -> Result<u8, AppError> {
        if how == 0 {
            return Ok(0);
        }
        if how == 1 {
            Err(AppError::Mine)?;
        }
        assert!(how != 2, "as asked");
        Ok(how)
    }
    assert_eq!(body(0).await, Ok(0));
    assert!(!is_locked("a:exits").await);
    assert_eq!(body(1).await, Err(AppError::Mine));
    assert!(!is_locked("a:exits").await);
    assert!(tokio::spawn(body(2)).await.unwrap_err().is_panic());
    assert!(is_soon_free("a:exits").await);
    assert_eq!(body(3).await, Ok(3));
}

#[tokio::test]
async fn free_after_the_future_is_dropped() {
    #[distributed_lock(key = "a:cancelled", using = client())]
    async fn body() -> Answer {
        std::future::pending().await
    }
    _ = tokio::time::timeout(Duration::from_millis(30), body()).await.unwrap_err();
    assert!(is_soon_free("a:cancelled").await);
}

#[tokio::test]
async fn without_the_lock_the_body_never_runs() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[distributed_lock(key = "a:busy", wait = 0, using = client())]
    async fn busy() -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    #[distributed_lock(key = "a:busy", wait = "20ms", using = client())]
    async fn late() -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    #[distributed_lock(key = "a:ttl", ttl = Duration::from_millis(9), using = client())]
    async fn bad_ttl() -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    #[distributed_lock(key = name, using = client())]
    async fn empty_key(name: &str) -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    let closed = Client::in_memory();
    closed.close().await;
    #[distributed_lock(key = "a:closed", using = closed)]
    async fn on_closed(closed: &Client) -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    let guard = client().lock("a:busy").acquire().await.unwrap();
    assert!(matches!(busy().await, Err(Error::Busy { .. })));
    assert!(matches!(late().await, Err(Error::TimedOut { .. })));
    assert!(matches!(bad_ttl().await, Err(Error::Config(_))));
    assert!(matches!(empty_key("").await, Err(Error::Config(_))));
    assert!(matches!(on_closed(&closed).await, Err(Error::Closed)));
    _ = guard.release().await.unwrap();
    assert_eq!(RUNS.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn one_at_a_time() {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    #[distributed_lock(key = "a:one", wait = 30, using = client())]
    async fn body() -> Answer<u32> {
        let inside = INSIDE.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        Ok(inside)
    }
    let tasks: Vec<_> = (0..50).map(|_| tokio::spawn(body())).collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap(), 0);
    }
}

#[tokio::test]
async fn a_lost_lease_ends_the_body_and_is_told() {
    static FINISHED: AtomicU32 = AtomicU32::new(0);
    #[distributed_lock(key = "a:lost", ttl = "40ms", renew = false, using = client())]
    async fn body() -> Answer {
        std::future::pending::<()>().await;
        FINISHED.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    assert!(matches!(body().await, Err(Error::Lost { .. })));
    assert_eq!(FINISHED.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn renewal_outlives_the_ttl() {
    #[distributed_lock(key = "a:renewed", ttl = 0.5, lease = lease, using = client())]
    async fn body() -> Answer<bool> {
        Ok(tokio::time::timeout(Duration::from_millis(1200), lease.lost()).await.is_err())
    }
    assert!(body().await.unwrap());
}

#[tokio::test]
async fn boxed_errors_and_anyhow_carry_ours() {
    #[distributed_lock(key = "a:boxed", wait = 0, using = client())]
    async fn boxed(fail: bool) -> Result<(), Box<dyn StdError + Send + Sync>> {
        if fail {
            Err("mine")?
        }
        Ok(())
    }
    #[distributed_lock(key = "a:boxed", wait = 0, using = client())]
    async fn any(fail: bool) -> anyhow::Result<()> {
        anyhow::ensure!(!fail, "mine");
        Ok(())
    }
    assert_eq!(boxed(true).await.unwrap_err().to_string(), "mine");
    assert_eq!(any(true).await.unwrap_err().to_string(), "mine");
    let _guard = client().lock("a:boxed").acquire().await.unwrap();
    assert!(boxed(false).await.unwrap_err().downcast_ref::<Error>().unwrap().is_busy());
    assert!(any(false).await.unwrap_err().downcast_ref::<Error>().unwrap().is_busy());
}

#[tokio::test]
async fn or_else_frees_the_return_type() {
    #[derive(Debug, PartialEq)]
    enum Ran {
        Yes,
        No,
    }
    #[distributed_lock(key = "a:or_else", wait = 0, using = client(), or_else = |error| {
        assert!(error.is_busy());
        Ran::No
    })]
    async fn plain() -> Ran {
        Ran::Yes
    }
    #[distributed_lock(key = "a:or_else", wait = 0, using = client(), or_else = |_| None)]
    async fn option(x: u8) -> Option<u8> {
        let halved = x.checked_sub(1)?;
        Some(halved)
    }
    #[distributed_lock(key = "a:or_else", wait = 0, using = client(), or_else = drop)]
    async fn unit() {}
    #[distributed_lock(key = "a:or_else", wait = 0, using = client(), or_else = |_| Err(Box::new(x)))]
    async fn coerced(x: u8) -> Result<u8, Box<dyn std::any::Any + Send>> {
        Ok(x)
    }
    assert_eq!((plain().await, option(2).await, option(0).await), (Ran::Yes, Some(1), None));
    unit().await;
    let _guard = client().lock("a:or_else").acquire().await.unwrap();
    assert_eq!((plain().await, option(2).await), (Ran::No, None));
    unit().await;
    assert_eq!(*coerced(7).await.unwrap_err().downcast::<u8>().unwrap(), 7);
}

#[tokio::test]
async fn the_lease_has_the_name_that_was_asked_for() {
    #[distributed_lock(key = "a:lease:{id}", lease = grant, using = client())]
    async fn body(id: u32) -> Answer<String> {
        assert!(grant.is_held());
        Ok(grant.key().to_string())
    }
    assert_eq!(body(7).await.unwrap(), "a:lease:7");
}

#[tokio::test]
async fn using_takes_whatever_derefs_to_a_client() {
    struct Service {
        locks: std::sync::Arc<Client>,
    }
    impl Service {
        #[distributed_lock(key = "a:using", using = self.locks)]
        async fn field(&mut self) -> Answer {
            assert!(self.locks.lock("a:using").try_acquire().await?.is_none());
            Ok(())
        }
        #[distributed_lock(key = "a:using", using = Box::new((*self.locks).clone()))]
        async fn temporary(&self) -> Answer {
            assert!(self.locks.lock("a:using").try_acquire().await?.is_none());
            Ok(())
        }
    }
    #[distributed_lock(key = "a:using", using = locks)]
    async fn argument(locks: Client) -> Answer {
        assert!(locks.lock("a:using").try_acquire().await?.is_none());
        Ok(())
    }
    #[distributed_lock(key = "a:using", using = locks)]
    async fn reference(locks: &Client) -> Answer {
        assert!(locks.lock("a:using").try_acquire().await?.is_none());
        Ok(())
    }
    let mut service = Service { locks: Client::in_memory().into() };
    service.field().await.unwrap();
    service.temporary().await.unwrap();
    argument(Client::in_memory()).await.unwrap();
    reference(&service.locks).await.unwrap();
}

#[tokio::test]
async fn m29_futures_are_send() {
    #[distributed_lock(key = format!("a:send:{name}"), ttl = pick(&name), using = client())]
    async fn body(name: String) -> Answer<String> {
        tokio::task::yield_now().await;
        Ok(name)
    }
    fn pick(_: &str) -> Duration {
        Duration::from_secs(1)
    }
    #[distributed_lock(key = "a:send:{name}", lease = lease, using = client().clone())]
    async fn template(name: &str, number: std::cell::Cell<u8>) -> Answer<bool>
    where
        std::cell::Cell<u8>: Send,
    {
        tokio::task::yield_now().await;
        number.set(1);
        Ok(lease.is_held() && name == "x")
    }
    #[distributed_lock(key = "a:send:{name}", using = client(), or_else = |_| 0)]
    async fn or_else(name: &str) -> usize {
        tokio::task::yield_now().await;
        name.len()
    }
    assert_send(body("x".into())).await.unwrap();
    assert_send(or_else("x")).await;
    drop(assert_send(template("x", std::cell::Cell::new(1))));
}

#[tokio::test]
async fn a_body_that_blocks_past_its_lease_goes_no_further_than_its_next_await() {
    #[distributed_lock(key = "a:blocks", ttl = "50ms", renew = false, using = client(), lease = lease)]
    async fn body(went_on: &AtomicU32) -> Answer<()> {
        // Blocks the only thread of this runtime until the lease is over.
        assert!(lease.wait_lost(Duration::from_secs(10)).is_some());
        tokio::task::yield_now().await;
        went_on.store(1, Ordering::SeqCst);
        Ok(())
    }
    let went_on = AtomicU32::new(0);
    assert!(body(&went_on).await.unwrap_err().to_string().contains("was lost"));
    assert_eq!(went_on.into_inner(), 0, "the body went on without its lock");
}
