//! `keys` and `lock_all`: several locks as one.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tairlock::{Client, ConfigError, Error, Leases, Release, distributed_lock};

use crate::{Answer, blocking_client, client, is_locked, is_locked_blocking};

fn names(leases: &Leases) -> Vec<String> {
    leases.iter().map(|lease| lease.key().to_string()).collect()
}

#[tokio::test]
async fn keys_are_templates_and_expressions_sorted_each_once() {
    const LAST: &[u8] = b"k2:z";
    #[distributed_lock(
        keys = ["k2:{to}", "k2:{from}", LAST, format!("k2:{}", from + 1), "k2:{from}"],
        lease = leases,
        using = client()
    )]
    async fn transfer(from: u32, to: &str) -> Answer<Vec<String>> {
        tokio::task::yield_now().await;
        assert!(is_locked("k2:a%3Ab").await && is_locked("k2:7").await && is_locked("k2:z").await);
        assert!(leases.is_held() && leases.get("k2:8").is_some());
        Ok(names(&leases))
    }
    assert_eq!(transfer(7, "a:b").await.unwrap(), ["k2:7", "k2:8", "k2:a%3Ab", "k2:z"]);
    assert!(!is_locked("k2:7").await && !is_locked("k2:z").await);
}

#[tokio::test]
async fn keys_can_be_whatever_iterates() {
    #[distributed_lock(keys = ids, lease = leases, using = client())]
    async fn vec(ids: Vec<String>) -> Answer<(Vec<String>, usize)> {
        Ok((names(&leases), ids.len()))
    }
    #[distributed_lock(keys = ids.iter().map(|id| format!("k3:{id}")), lease = leases, using = client())]
    async fn mapped(ids: &[u32]) -> Answer<Vec<String>> {
        Ok(names(&leases))
    }
    #[distributed_lock(keys = ids.iter().map(|id| format!("k3:{id}")), lease = leases, using = blocking_client())]
    fn blocking(ids: &[u32]) -> Answer<Vec<String>> {
        assert!(is_locked_blocking("k3:9"));
        Ok(names(&leases))
    }
    let ids = vec!["k3:b".to_owned(), "k3:a".to_owned()];
    assert_eq!(vec(ids).await.unwrap(), (vec!["k3:a".to_owned(), "k3:b".to_owned()], 2));
    assert_eq!(mapped(&[9, 1, 9]).await.unwrap(), ["k3:1", "k3:9"]);
    assert_eq!(blocking(&[9, 1]).unwrap(), ["k3:1", "k3:9"]);
    assert!(!is_locked_blocking("k3:9"));
    assert!(matches!(mapped(&[]).await, Err(Error::Config(ConfigError::NoKeys))));
}

#[tokio::test]
async fn all_or_none_within_one_wait() {
    #[distributed_lock(keys = ["k4:a", "k4:b", "k4:c"], wait = "100ms", using = client())]
    async fn body() -> Answer {
        Ok(())
    }
    let guard = client().lock("k4:b").acquire().await.unwrap();
    let error = body().await.unwrap_err();
    assert!(matches!(&error, Error::TimedOut { key, waited }
        if key.as_bytes() == b"k4:b" && *waited >= Duration::from_millis(90)));
    assert!(client().lock("k4:a").acquire().await.is_ok(), "given back");
    assert!(!is_locked("k4:c").await, "never asked for");
    let all = client().lock_all(["k4:a", "k4:b", "k4:c"]);
    assert!(all.try_acquire().await.unwrap().is_none());
    assert!(matches!(all.clone().wait(Duration::ZERO).acquire().await, Err(Error::Busy { .. })));
    _ = guard.release().await.unwrap();
    let guards = all.acquire().await.unwrap();
    assert_eq!(guards.release().await.unwrap(), [Release::Released; 3]);
    body().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o56_redisson_4050_opposite_orders_never_wait_for_each_other() {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    #[distributed_lock(keys = ["o56:{from}", "o56:{to}"], wait = 10, using = client)]
    async fn transfer(client: &Client, from: u8, to: u8) -> Answer {
        assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0);
        tokio::task::yield_now().await;
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
    let client = Client::in_memory();
    let tasks = [(1, 2), (2, 1)].map(|(from, to)| {
        let client = client.clone();
        tokio::spawn(async move {
            for _ in 0..1000 {
                transfer(&client, from, to).await.unwrap();
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn o56_redisson_4050_opposite_orders_in_blocking_code() {
    let client = tairlock_sync::Client::in_memory();
    std::thread::scope(|scope| {
        for keys in [["o56:a", "o56:b"], ["o56:b", "o56:a"]] {
            let all = client.lock_all(keys).wait(Duration::from_secs(10));
            scope.spawn(move || {
                for _ in 0..1000 {
                    let guards = all.acquire().unwrap();
                    assert!(guards.leases().is_held());
                    assert_eq!(guards.release().unwrap(), [Release::Released; 2]);
                }
            });
        }
    });
}

#[tokio::test]
async fn a_lost_lease_of_several_ends_the_body() {
    #[distributed_lock(keys = ["k5:a", "k5:b"], ttl = "60ms", renew = false, using = client())]
    async fn body() -> Answer {
        std::future::pending().await
    }
    assert!(matches!(body().await, Err(Error::Lost { .. })));
    let leases = {
        let all = client().lock_all(["k5:c", "k5:d"]).ttl(Duration::from_millis(40)).renew(false);
        let guards = all.acquire().await.unwrap();
        let lost = guards.leases().lost().await;
        assert!(lost.0.as_bytes().starts_with(b"k5:"));
        guards.leases().clone()
    };
    assert!(leases.wait_lost(Duration::from_secs(5)).is_some() && leases.remaining().is_zero());
}

#[tokio::test]
async fn several_inside_of_one_of_them() {
    #[distributed_lock(keys = ["k6:a", "k6:b"], reentrant = share, using = client())]
    async fn inner(share: bool) -> Answer {
        Ok(())
    }
    #[distributed_lock(keys = ["k6:b", "k6:c"], using = client())]
    async fn outer(share: bool) -> Answer {
        let done = inner(share).await;
        assert!(is_locked("k6:b").await, "the inner one gave back what it had not taken");
        done
    }
    assert!(matches!(outer(false).await, Err(Error::WouldDeadlock { .. })));
    outer(true).await.unwrap();
    for key in ["k6:a", "k6:b", "k6:c"] {
        assert!(client().lock(key).acquire().await.is_ok());
    }
}
