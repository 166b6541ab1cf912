//! Other attributes on the same function, above and below.

use std::{boxed, future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
use tairlock::distributed_lock;
use tokio::sync::Notify;

use crate::{Answer, assert_send, client, is_locked};

#[async_trait]
trait Repository: Sync {
    async fn save(&mut self, id: u8, note: String) -> Answer<String>;

    #[distributed_lock(key = "n:default:{id}", using = client())]
    async fn default(&self, id: u8) -> Answer<bool> {
        tokio::task::yield_now().await;
        Ok(is_locked(&format!("n:default:{id}")).await)
    }
}

struct Memory(u8);

#[async_trait]
impl Repository for Memory {
    /// Documented.
    #[distributed_lock(key = "n:save:{self.0}:{id}", lease = lease, using = client())]
    #[tracing::instrument(skip(self))]
    async fn save(&mut self, id: u8, mut note: String) -> Answer<String> {
        note.push('!');
        tokio::task::yield_now().await;
        assert!(lease.is_held());
        self.0 += 1;
        if id == 9 {
            return Err(tairlock::Error::Closed);
        }
        Ok(note)
    }
}

#[tokio::test]
async fn m01_under_async_trait_the_lock_is_held_while_the_body_is_suspended() {
    let mut memory = Memory(1);
    assert!(memory.default(1).await.unwrap());
    assert!(!is_locked("n:default:1").await);
    assert_eq!(assert_send(memory.save(1, "a".into())).await.unwrap(), "a!");
    assert!(memory.save(9, "a".into()).await.is_err());
    assert_eq!(memory.0, 3);

    struct Slow(Arc<Notify>, Arc<Notify>);
    #[async_trait]
    impl Repository for Slow {
        #[distributed_lock(key = "n:slow:{id}", using = client())]
        async fn save(&mut self, id: u8, note: String) -> Answer<String> {
            self.0.notify_one();
            self.1.notified().await;
            Ok(note)
        }
    }
    let (suspended, go_on) = <(Arc<Notify>, Arc<Notify>)>::default();
    let mut slow = Slow(Arc::clone(&suspended), Arc::clone(&go_on));
    let task = tokio::spawn(async move { slow.save(1, String::new()).await });
    suspended.notified().await;
    assert!(is_locked("n:slow:1").await);
    go_on.notify_one();
    task.await.unwrap().unwrap();
    assert!(!is_locked("n:slow:1").await);
}

#[tokio::test]
async fn m02_functions_that_return_their_future() {
    #[distributed_lock(key = "n:m02:{id}", using = client())]
    #[allow(clippy::manual_async_fn)]
    fn hidden(id: u8) -> impl Future<Output = Answer<bool>> + Send {
        async move {
            tokio::task::yield_now().await;
            Ok(is_locked(&format!("n:m02:{id}")).await)
        }
    }
    #[distributed_lock(key = "n:m02:{id}", using = client())]
    fn boxed<'a>(id: &'a str) -> Pin<Box<dyn Future<Output = Answer<bool>> + Send + 'a>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(is_locked(&format!("n:m02:{id}")).await)
        })
    }
    assert!(hidden(1).await.unwrap());
    assert!(boxed("2").await.unwrap());
    let not_polled = hidden(3);
    assert!(!is_locked("n:m02:3").await);
    assert!(not_polled.await.unwrap());
}

#[tokio::test]
async fn m03_statements_before_the_future_stay() {
    #[distributed_lock(key = "n:m03:{key}", using = client())]
    #[allow(unused_qualifications)]
    fn body(id: u8) -> Pin<Box<dyn Future<Output = Answer<bool>> + Send>> {
        let key = id + 1;
        let double = key * 2;
        boxed::Box::pin(async move { Ok(is_locked(&format!("n:m03:{key}")).await && double == 4) })
    }
    assert!(body(1).await.unwrap());
}

#[distributed_lock(key = "n:m31:below", using = client())]
#[tokio::test]
async fn m31_above_tokio_test() -> Answer {
    tokio::task::yield_now().await;
    assert!(is_locked("n:m31:below").await);
    Ok(())
}

#[tokio::test]
#[distributed_lock(key = "n:m31:above", using = client())]
async fn m31_below_tokio_test() -> Answer {
    tokio::task::yield_now().await;
    assert!(is_locked("n:m31:above").await);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[distributed_lock(key = "n:m31:unit", using = client(), or_else = |error| panic!("{error}"))]
async fn m31_below_tokio_test_without_a_result() {
    assert!(is_locked("n:m31:unit").await);
}

#[test]
fn m31_above_and_below_tokio_main() {
    #[distributed_lock(key = "n:m31:main", using = client())]
    #[tokio::main(flavor = "current_thread")]
    async fn above() -> Answer<bool> {
        Ok(is_locked("n:m31:main").await)
    }
    #[tokio::main(flavor = "current_thread")]
    #[distributed_lock(key = "n:m31:main", using = client())]
    async fn below() -> Answer<bool> {
        Ok(is_locked("n:m31:main").await)
    }
    assert!(above().unwrap());
    assert!(below().unwrap());
}

#[tokio::test]
async fn m31_above_and_below_instrument() {
    #[tracing::instrument(skip(a), fields(x = b.0))]
    #[distributed_lock(key = "n:m31:span:{a}", using = client())]
    async fn above(a: u8, b: (u8, u8)) -> Answer<bool> {
        tokio::task::yield_now().await;
        Ok(is_locked("n:m31:span:1").await && b.1 == 2)
    }
    #[distributed_lock(key = "n:m31:span:{a}", using = client())]
    #[tracing::instrument(skip(a), fields(x = c))]
    async fn below(a: u8, mut b: u8, (c, _): (u8, u8)) -> Answer<bool> {
        b += c;
        tokio::task::yield_now().await;
        Ok(is_locked("n:m31:span:1").await && b == 3)
    }
    assert!(assert_send(above(1, (1, 2))).await.unwrap());
    assert!(assert_send(below(1, 1, (2, 3))).await.unwrap());
}

#[tokio::test]
async fn m30_six_layers_compile() {
    #[tracing::instrument]
    #[distributed_lock(key = "n:1", using = client())]
    #[tracing::instrument]
    #[distributed_lock(key = "n:2", using = client())]
    #[tracing::instrument]
    #[distributed_lock(key = "n:3", using = client())]
    async fn body(x: u8) -> Answer<u8> {
        tokio::task::yield_now().await;
        Ok(x)
    }
    assert_eq!(assert_send(body(1)).await.unwrap(), 1);
}
