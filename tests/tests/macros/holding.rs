//! `max_hold`, `min_hold`, `fence`.

use std::time::Duration;

use tairlock::{Error, LossReason, distributed_lock};

use crate::{Answer, blocking_client, client, is_locked, is_locked_blocking};

#[tokio::test]
async fn max_hold_ends_a_body_that_is_stuck() {
    #[distributed_lock(key = "hold:max", ttl = "50ms", max_hold = "120ms", using = client())]
    async fn body() -> Answer {
        std::future::pending().await
    }
    let lost = body().await.unwrap_err();
    assert!(matches!(lost, Error::Lost { reason: LossReason::MaxHold, .. }), "{lost}");
}

#[tokio::test]
async fn min_hold_keeps_the_key_after_the_body() {
    #[distributed_lock(key = "hold:min", min_hold = Duration::from_secs(30), using = client())]
    async fn body() -> Answer {
        Ok(())
    }
    body().await.unwrap();
    assert!(is_locked("hold:min").await);
    #[distributed_lock(key = "hold:min", min_hold = 30, on_busy = skip, using = blocking_client())]
    fn job() -> Option<()> {
        Some(())
    }
    assert_eq!((job(), job()), (Some(()), None));
    assert!(is_locked_blocking("hold:min"));
}

#[tokio::test]
async fn fences_increase() {
    #[distributed_lock(key = "hold:fence", fence = true, lease = lease, using = client())]
    async fn body() -> Answer<Option<u64>> {
        Ok(lease.fence())
    }
    let (first, second) = (body().await.unwrap(), body().await.unwrap());
    assert!(first.is_some() && first < second);
}
