//! Other attributes on the same function, above and below.

use std::sync::atomic::AtomicU32;

use async_trait::async_trait;
use tairlock::optimistic_retry;

use super::{disturb, number, put};
use crate::{Answer, assert_send, blocking_client, client};

#[async_trait]
trait Repository: Sync {
    async fn save(&mut self, id: u8, note: String) -> Answer<String>;

    #[optimistic_retry(key = "rn:default", using = client())]
    async fn default(&self, #[value] n: &mut u64, runs: &AtomicU32) -> Answer<u64> {
        disturb("rn:default", runs).await;
        *n += 1;
        Ok(*n)
    }

    async fn alone(&mut self) -> Answer<u8>;
}

struct Memory(u8, AtomicU32);

#[async_trait]
impl Repository for Memory {
    /// Documented.
    #[optimistic_retry(key = "rn:save:{id}", using = client())]
    #[tracing::instrument(skip(self))]
    async fn save(&mut self, #[value] n: &mut u64, id: u8, mut note: String) -> Answer<String> {
        note.push('!');
        disturb("rn:save:1", &self.1).await;
        *n += 1;
        self.0 += 1;
        Ok(note)
    }

    #[optimistic_retry]
    async fn alone(&mut self) -> Answer<u8> {
        self.0 += 1;
        if self.0 < 10 {
            client().versioned::<u64>("rn:alone").create(&1).await?;
        }
        Ok(self.0)
    }
}

#[tokio::test]
async fn m01_m34_under_async_trait_the_body_runs_again() {
    let mut memory = Memory(1, AtomicU32::new(0));
    for key in ["rn:save:1", "rn:default", "rn:alone"] {
        put(key, 0).await;
    }
    assert_eq!(assert_send(memory.save(1, "a".into())).await.unwrap(), "a!");
    assert_eq!((memory.0, number("rn:save:1").await), (3, 11));
    assert_eq!(assert_send(memory.default(&AtomicU32::new(0))).await.unwrap(), 11);
    assert_eq!(memory.alone().await.unwrap(), 10);
}

#[tokio::test]
async fn m31_above_and_below_instrument() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[tracing::instrument(skip(a, n), fields(x = b.0))]
    #[optimistic_retry(key = "rn:span", using = client())]
    async fn above(#[value] n: &mut u64, a: String, b: (u8, u8)) -> Answer<u64> {
        disturb("rn:span", &RUNS).await;
        *n += 1;
        Ok(*n + a.len() as u64 + u64::from(b.1))
    }
    #[optimistic_retry(key = "rn:span", using = client())]
    #[tracing::instrument(skip(a), fields(x = c))]
    async fn below(a: String, mut b: u8, #[value] n: &mut u64, (c, _): (u8, u8)) -> Answer<u64> {
        b += c;
        disturb("rn:span", &RUNS).await;
        *n += 1;
        drop(a);
        Ok(*n + u64::from(b))
    }
    #[optimistic_retry(key = "rn:span", using = client())]
    #[tracing::instrument(skip_all, ret, err)]
    async fn told(a: String, #[value] n: &mut u64) -> Answer<u64> {
        disturb("rn:span", &RUNS).await;
        *n += 1;
        drop(a);
        Ok(*n)
    }
    put("rn:span", 0).await;
    assert_eq!(assert_send(above("a".into(), (1, 2))).await.unwrap(), 14);
    assert_eq!(assert_send(below("a".into(), 1, (2, 3))).await.unwrap(), 25);
    assert_eq!(assert_send(told("a".into())).await.unwrap(), 33);
}

#[test]
fn m31_above_and_below_instrument_in_blocking_code() {
    #[tracing::instrument(skip(n))]
    #[optimistic_retry(key = "rn:above", default = 0, using = blocking_client())]
    fn above(#[value] n: &mut u64, a: String) -> Answer<u64> {
        *n += a.len() as u64;
        Ok(*n)
    }
    #[optimistic_retry(key = "rn:below", default = 0, using = blocking_client())]
    #[tracing::instrument(ret, err)]
    fn below(#[value] n: &mut u64, a: String) -> Answer<u64> {
        *n += a.len() as u64;
        drop(a);
        Ok(*n)
    }
    assert_eq!((above("ab".into()).unwrap(), below("abc".into()).unwrap()), (2, 3));
}

#[optimistic_retry(key = "rn:m31:above", default = 1, using = client())]
#[tokio::test]
async fn m31_above_tokio_test(#[value] n: &mut u64) -> Answer {
    tokio::task::yield_now().await;
    assert_eq!(*n, 1);
    Ok(())
}

#[tokio::test]
#[optimistic_retry(max_attempts = 2)]
async fn m31_below_tokio_test() -> Answer {
    let value = client().versioned::<u64>("rn:m31:below");
    match value.read().await? {
        Some(seen) => {
            assert_eq!(seen.value, 1);
            Ok(())
        }
        None => {
            value.create(&1).await?;
            value.create(&1).await.map(drop)
        }
    }
}

#[optimistic_retry]
#[tokio::test]
async fn m31_above_tokio_test_without_a_key() -> Answer {
    assert!(client().versioned::<u64>("rn:m31:none").read().await?.is_none());
    Ok(())
}

#[test]
fn m31_above_and_below_tokio_main() {
    #[optimistic_retry(key = "rn:m31:main", default = 1, using = client())]
    #[tokio::main(flavor = "current_thread")]
    async fn above(#[value] n: &mut u64) -> Answer<u64> {
        *n += 1;
        Ok(*n)
    }
    #[tokio::main(flavor = "current_thread")]
    #[optimistic_retry(max_attempts = 2)]
    async fn below() -> Answer<bool> {
        Ok(client().versioned::<u64>("rn:m31:main").read().await?.is_some())
    }
    assert_eq!(above().unwrap(), 2);
    assert!(below().unwrap());
}

#[tokio::test]
async fn m30_six_layers_compile() {
    #[tracing::instrument(skip_all)]
    #[tairlock::distributed_lock(key = "rn:1", using = client())]
    #[tracing::instrument(skip_all)]
    #[optimistic_retry(key = "rn:six", default = 0, using = client())]
    #[tracing::instrument(skip_all)]
    #[tairlock::distributed_lock(key = "rn:2", using = client())]
    async fn body(#[value] n: &mut u64, x: u64) -> Answer<u64> {
        tokio::task::yield_now().await;
        *n += x;
        Ok(*n)
    }
    assert_eq!(assert_send(body(1)).await.unwrap(), 1);
    assert_eq!(assert_send(body(1)).await.unwrap(), 2);
}
