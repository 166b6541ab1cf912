//! Both attributes on one function: the upper one is around the lower one, in async and in blocking code.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use tairlock::{distributed_lock, optimistic_retry};

use super::{disturb, number, number_blocking, put, put_blocking};
use crate::{Answer, assert_send, blocking_client, client, is_locked, is_locked_blocking};

/// The fence of a lease tells one grant from another.
type Fences = Vec<u64>;

#[tokio::test]
async fn a_lock_above_is_held_for_all_attempts() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[distributed_lock(key = "rl:above:{key}", fence = true, lease = lease, using = client())]
    #[optimistic_retry(key = "rl:{key}", using = client())]
    async fn body(key: &str, #[value] n: &mut u64, fences: &mut Fences) -> Answer<u64> {
        fences.extend(lease.fence());
        assert!(is_locked(&format!("rl:above:{key}")).await);
        disturb("rl:a", &RUNS).await;
        *n += 1;
        Ok(*n)
    }
    put("rl:a", 1).await;
    let mut fences = vec![];
    assert_eq!(assert_send(body("a", &mut fences)).await.unwrap(), 12);
    assert!(matches!(fences[..], [one, two] if one == two), "{fences:?}");
    assert!(!is_locked("rl:above:a").await);
}

#[tokio::test]
async fn a_lock_below_is_taken_for_each_attempt() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = "rl:{key}", using = client())]
    #[distributed_lock(key = "rl:below:{key}", fence = true, lease = lease, using = client())]
    async fn body(key: String, #[value] n: &mut u64, fences: &mut Fences) -> Answer<u64> {
        fences.extend(lease.fence());
        assert!(is_locked(&format!("rl:below:{key}")).await);
        disturb("rl:b", &RUNS).await;
        *n += 1;
        drop(key);
        Ok(*n)
    }
    put("rl:b", 1).await;
    let mut fences = vec![];
    assert_eq!(assert_send(body("b".into(), &mut fences)).await.unwrap(), 12);
    assert!(matches!(fences[..], [one, two] if one < two), "{fences:?}");
    assert!(!is_locked("rl:below:b").await);
    assert_eq!(number("rl:b").await, 12);
}

#[tokio::test]
async fn locks_above_and_below_and_a_retry_without_a_key() {
    #[distributed_lock(key = "rl:1", using = client())]
    #[distributed_lock(keys = ["rl:2", "rl:3"], using = client())]
    #[optimistic_retry]
    #[distributed_lock(key = "rl:4", using = client())]
    async fn body(runs: &mut u32) -> Answer<u32> {
        *runs += 1;
        for key in ["rl:1", "rl:2", "rl:3", "rl:4"] {
            assert!(is_locked(key).await, "{key}");
        }
        if *runs < 3 {
            client().versioned::<u64>("rl:there").create(&1).await?;
        }
        Ok(*runs)
    }
    put("rl:there", 1).await;
    assert_eq!(assert_send(body(&mut 0)).await.unwrap(), 3);
    for key in ["rl:1", "rl:2", "rl:3", "rl:4"] {
        assert!(!is_locked(key).await, "{key}");
    }
}

#[tokio::test]
async fn a_lock_that_is_not_had_ends_the_attempts() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = "rl:busy", default = 0, using = client())]
    #[distributed_lock(key = "rl:held", wait = 0, using = client())]
    async fn body(#[value] n: &mut u64) -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        *n += 1;
        Ok(())
    }
    let _guard = client().lock("rl:held").acquire().await.unwrap();
    assert!(body().await.unwrap_err().is_busy());
    assert_eq!(RUNS.load(Ordering::Relaxed), 0);
    assert_eq!(client().versioned::<u64>("rl:busy").read().await.unwrap(), None);
}

#[tokio::test]
async fn under_async_trait() {
    #[async_trait]
    trait Stock: Sync {
        async fn above(&mut self, by: u64) -> Answer<u64>;
        async fn below(&mut self, by: u64) -> Answer<u64>;
    }
    struct Shop(u32, AtomicU32);
    #[async_trait]
    impl Stock for Shop {
        #[distributed_lock(key = "rl:trait:lock", using = client())]
        #[optimistic_retry(key = "rl:trait", using = client())]
        async fn above(&mut self, #[value] n: &mut u64, by: u64) -> Answer<u64> {
            self.0 += 1;
            assert!(is_locked("rl:trait:lock").await);
            disturb("rl:trait", &self.1).await;
            *n += by;
            Ok(*n)
        }
        #[optimistic_retry(key = "rl:trait", using = client())]
        #[distributed_lock(key = "rl:trait:lock", using = client())]
        async fn below(&mut self, #[value] n: &mut u64, by: u64) -> Answer<u64> {
            self.0 += 1;
            assert!(is_locked("rl:trait:lock").await);
            disturb("rl:trait", &self.1).await;
            *n += by;
            Ok(*n)
        }
    }
    put("rl:trait", 0).await;
    let mut shop = Shop(0, AtomicU32::new(0));
    assert_eq!(assert_send(shop.above(1)).await.unwrap(), 11);
    assert_eq!(assert_send(shop.below(1)).await.unwrap(), 22);
    assert_eq!(shop.0, 4);
}

#[test]
fn in_blocking_code() {
    #[distributed_lock(key = "rl:above", fence = true, lease = lease, using = blocking_client())]
    #[optimistic_retry(key = "rl:n", using = blocking_client())]
    fn above(#[value] n: &mut u64, fences: &mut Fences) -> Answer<u64> {
        fences.extend(lease.fence());
        assert!(is_locked_blocking("rl:above"));
        if fences.len() == 1 {
            put_blocking("rl:n", *n + 10);
        }
        *n += 1;
        Ok(*n)
    }
    #[optimistic_retry(key = "rl:n", using = blocking_client())]
    #[distributed_lock(key = "rl:{key}", fence = true, lease = lease, using = blocking_client())]
    fn below(#[value] n: &mut u64, key: String, fences: &mut Fences) -> Answer<u64> {
        fences.extend(lease.fence());
        assert!(is_locked_blocking(&format!("rl:{key}")));
        if fences.len() == 1 {
            put_blocking("rl:n", *n + 10);
        }
        *n += 1;
        drop(key);
        Ok(*n)
    }
    put_blocking("rl:n", 0);
    let (mut one, mut two) = (vec![], vec![]);
    assert_eq!(above(&mut one).unwrap(), 11);
    assert_eq!(below("below".into(), &mut two).unwrap(), 22);
    assert!(matches!(one[..], [first, second] if first == second), "{one:?}");
    assert!(matches!(two[..], [first, second] if first < second), "{two:?}");
    assert_eq!(number_blocking("rl:n"), 22);
}
