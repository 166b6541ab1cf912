//! `on_busy`, `on_lost`, `when`, `name`.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use tairlock::{Client, Error, Lease, distributed_lock};

use crate::{Answer, blocking_client, client, is_locked, is_locked_blocking};

#[tokio::test]
async fn on_busy_skip_answers_nothing_at_once() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[distributed_lock(key = "c:skip", on_busy = skip, using = client())]
    async fn unit() {
        RUNS.fetch_add(1, Ordering::Relaxed);
    }
    #[distributed_lock(key = "c:skip", on_busy = skip, using = client())]
    async fn option() -> Option<u8> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Some(1)
    }
    #[distributed_lock(key = "c:skip", on_busy = skip, using = client())]
    async fn result() -> anyhow::Result<()> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    #[distributed_lock(key = "c:skip", on_busy = skip, using = client())]
    async fn result_option() -> Answer<Option<u8>> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(Some(1))
    }
    unit().await;
    assert_eq!(option().await, Some(1));
    result().await.unwrap();
    assert_eq!(result_option().await.unwrap(), Some(1));
    assert_eq!(RUNS.swap(0, Ordering::Relaxed), 4);

    let _guard = client().lock("c:skip").acquire().await.unwrap();
    let began = Instant::now();
    unit().await;
    assert_eq!(option().await, None);
    result().await.unwrap();
    assert_eq!(result_option().await.unwrap(), None);
    assert!(began.elapsed() < Duration::from_secs(1), "one try");
    assert_eq!(RUNS.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn on_busy_skip_waits_where_it_is_told_to() {
    #[distributed_lock(key = "c:waits", on_busy = skip, wait = 10, using = client())]
    async fn waits() -> Option<u8> {
        Some(1)
    }
    #[distributed_lock(key = "c:waits", on_busy = skip, wait = "20ms", using = client())]
    async fn gives_up() -> Option<u8> {
        Some(1)
    }
    let guard = client().lock("c:waits").acquire().await.unwrap();
    assert_eq!(gives_up().await, None);
    let (waited, _) = tokio::join!(waits(), async { guard.release().await });
    assert_eq!(waited, Some(1));
}

#[tokio::test]
async fn on_busy_skip_hides_no_other_error() {
    let closed = Client::in_memory();
    closed.close().await;
    #[distributed_lock(key = "c:closed", on_busy = skip, using = closed)]
    async fn result(closed: &Client) -> Answer<Option<u8>> {
        Ok(Some(1))
    }
    #[distributed_lock(key = "c:closed", on_busy = skip, using = closed, or_else = |error| Some(error.to_string()))]
    async fn or_else(closed: &Client) -> Option<String> {
        unreachable!()
    }
    #[distributed_lock(key = "c:closed", on_busy = skip, using = closed)]
    async fn no_room(closed: &Client) -> Option<u8> {
        Some(1)
    }
    assert!(matches!(result(&closed).await, Err(Error::Closed)));
    assert_eq!(or_else(&closed).await.unwrap(), "the client is closed");
    assert_eq!(no_room(&closed).await, None, "the body did not run");

    #[distributed_lock(key = "c:skip:or", on_busy = skip, using = client(), or_else = |error| panic!("{error}"))]
    async fn busy() {}
    let _guard = client().lock("c:skip:or").acquire().await.unwrap();
    busy().await;
}

#[test]
fn on_busy_skip_in_blocking_code() {
    #[distributed_lock(key = "c:skip", on_busy = skip, using = blocking_client())]
    fn job(ran: &mut bool) {
        *ran = true;
    }
    #[distributed_lock(key = "c:skip", on_busy = skip, using = blocking_client())]
    fn result() -> Answer<Option<u8>> {
        Ok(Some(1))
    }
    let mut ran = false;
    job(&mut ran);
    assert!(std::mem::take(&mut ran) && result().unwrap() == Some(1));
    let _guard = blocking_client().lock("c:skip").acquire().unwrap();
    job(&mut ran);
    assert!(!ran && result().unwrap().is_none());
}

#[tokio::test]
async fn on_busy_error_is_the_default() {
    #[distributed_lock(key = "c:error", on_busy = error, wait = 0, using = client())]
    async fn body() -> Answer<Option<u8>> {
        Ok(None)
    }
    let _guard = client().lock("c:error").acquire().await.unwrap();
    assert!(matches!(body().await, Err(Error::Busy { .. })));
}

#[tokio::test]
async fn on_lost_finish_lets_the_body_end_and_then_tells() {
    #[derive(Debug)]
    enum AppError {
        Mine,
        Lock(Error),
    }
    impl From<Error> for AppError {
        fn from(error: Error) -> Self {
            Self::Lock(error)
        }
    }
    #[distributed_lock(
        key = "c:finish", ttl = "40ms", renew = false, on_lost = finish, lease = lease, using = client()
    )]
    async fn body(finished: &AtomicU32, fails: bool) -> Result<u8, AppError> {
        lease.lost().await;
        tokio::task::yield_now().await;
        finished.fetch_add(1, Ordering::Relaxed);
        if fails { Err(AppError::Mine) } else { Ok(1) }
    }
    let finished = AtomicU32::new(0);
    assert!(matches!(body(&finished, false).await, Err(AppError::Lock(Error::Lost { .. }))));
    assert!(matches!(body(&finished, true).await, Err(AppError::Mine)));
    assert_eq!(finished.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn on_lost_cancel_drops_the_body_at_its_await() {
    #[distributed_lock(
        key = "c:cancel", ttl = "40ms", renew = false, on_lost = cancel, lease = lease, using = client()
    )]
    async fn body(finished: &AtomicU32) -> Answer {
        lease.lost().await;
        tokio::task::yield_now().await;
        finished.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    let finished = AtomicU32::new(0);
    assert!(matches!(body(&finished).await, Err(Error::Lost { .. })));
    assert_eq!(finished.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn when_says_whether_to_lock() {
    #[distributed_lock(key = "c:when:{amount}", when = *amount > 100, lease = lease, using = client())]
    async fn body(amount: &u32) -> Answer<Option<Lease>> {
        tokio::task::yield_now().await;
        assert_eq!(is_locked(&format!("c:when:{amount}")).await, lease.is_some());
        Ok(lease)
    }
    assert!(body(&100).await.unwrap().is_none());
    assert!(body(&101).await.unwrap().is_some());
    // Not asked for, it cannot be busy, nor be in the way.
    let _guard = client().lock("c:when:7").acquire().await.unwrap();
    #[distributed_lock(key = "c:when:7", when = lock, wait = 0, using = client())]
    async fn maybe(lock: bool) -> Answer {
        Ok(())
    }
    maybe(false).await.unwrap();
    assert!(maybe(true).await.unwrap_err().is_busy());

    #[distributed_lock(key = "c:when", when = lock, lease = lease, using = blocking_client())]
    fn blocking(lock: bool) -> Answer<bool> {
        Ok(is_locked_blocking("c:when") && lease.is_some_and(|lease| lease.is_held()))
    }
    assert!(blocking(true).unwrap() && !blocking(false).unwrap());
}

#[tokio::test]
async fn name_is_a_constant_label() {
    #[distributed_lock(key = "c:name:{id}", name = "settlement", using = client())]
    async fn body(id: u8) -> Answer<u8> {
        Ok(id)
    }
    assert_eq!(body(7).await.unwrap(), 7);
    let shown = format!("{:?}", client().lock("c:name").name("settlement"));
    assert!(shown.contains("settlement"), "{shown}");
}
