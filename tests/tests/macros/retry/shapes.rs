//! Signatures of every shape: each body runs twice, as somebody else is faster the first time.

use std::{
    any::Any,
    fmt::Display,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::{Arc, atomic::AtomicU32},
};

use tairlock::{Client, optimistic_retry};

use super::{disturb, number, put};
use crate::{Answer, assert_send, client};

struct Service {
    client: Client,
    calls: u32,
    runs: AtomicU32,
}

impl Service {
    #[optimistic_retry(key = "rs:recv", using = self.client)]
    async fn shared(&self, #[value] n: &mut u64) -> Answer<u32> {
        disturb("rs:recv", &self.runs).await;
        *n += 1;
        Ok(self.calls)
    }
    #[optimistic_retry(key = "rs:recv", using = self.client)]
    async fn exclusive(&mut self, #[value] n: &mut u64, _by: u8) -> Answer<u32> {
        self.calls += 1; // and what a lost attempt did stays done
        disturb("rs:recv", &self.runs).await;
        *n += 1;
        Ok(self.calls)
    }
    #[optimistic_retry(key = "rs:recv", using = self.client)]
    async fn owned(mut self, #[value] n: &mut u64) -> Answer<u32> {
        self.calls += 1;
        disturb("rs:recv", &self.runs).await;
        *n += 1;
        Ok(self.calls)
    }
    #[optimistic_retry(key = "rs:recv", using = self.client)]
    async fn arc(self: Arc<Self>, #[value] n: &mut u64) -> Answer<u32> {
        disturb("rs:recv", &self.runs).await;
        *n += 1;
        Ok(self.calls)
    }
    #[optimistic_retry(key = "rs:recv", using = self.client)]
    #[allow(clippy::needless_arbitrary_self_type)]
    async fn reference(self: &Self, #[value] n: &mut u64) -> Answer<u32> {
        disturb("rs:recv", &self.runs).await;
        *n += 1;
        Ok(self.calls)
    }
    #[optimistic_retry(key = "rs:recv", using = self.client)]
    async fn rc(self: Rc<Self>, #[value] n: &mut u64) -> Answer<u32> {
        disturb("rs:recv", &self.runs).await;
        *n += 1;
        Ok(self.calls)
    }
    #[optimistic_retry(key = "rs:recv", using = self.client)]
    async fn boxed(self: Box<Self>, #[value] n: &mut u64) -> Answer<u32> {
        disturb("rs:recv", &self.runs).await;
        *n += 1;
        Ok(self.calls)
    }
    #[optimistic_retry(key = "rs:recv", using = self.client)]
    async fn pinned(mut self: Pin<&mut Self>, #[value] n: &mut u64) -> Answer<u32> {
        self.as_mut().calls += 1;
        disturb("rs:recv", &self.runs).await;
        *n += 1;
        Ok(self.calls)
    }
    // M28: `self` stays `self`, also where only a macro sees it.
    #[optimistic_retry(key = "rs:macros", using = self.client, default = 0)]
    async fn in_macros(&self, #[value] n: &mut u64) -> Answer<String> {
        *n += 1;
        Ok(format!("{} {:?}", self.calls, vec![self.shared().await.is_ok()]))
    }
}

#[tokio::test]
async fn m27_m34_every_receiver() {
    let service = |calls| Service { client: client().clone(), calls, runs: AtomicU32::new(0) };
    put("rs:recv", 0).await;
    let mut one = service(1);
    assert_eq!(one.shared().await.unwrap(), 1);
    assert_eq!(one.reference().await.unwrap(), 1);
    assert_eq!(one.exclusive(1).await.unwrap(), 3);
    assert_eq!(one.in_macros().await.unwrap(), "3 [true]");
    assert_eq!(Pin::new(&mut one).pinned().await.unwrap(), 5);
    assert_eq!(one.owned().await.unwrap(), 7);
    assert_eq!(Box::new(service(2)).boxed().await.unwrap(), 2);
    assert_eq!(Rc::new(service(3)).rc().await.unwrap(), 3);
    assert_eq!(Arc::new(service(4)).arc().await.unwrap(), 4);
    assert_eq!(number("rs:recv").await, 9 * 10 + 9, "each ran twice, and counted once");
}

#[tokio::test]
async fn m28_self_in_a_macro_and_an_impl_written_by_one() {
    macro_rules! implement {
        ($ty:ident, $this:ident, $value:ident, $arg:ident, $method:ident) => {
            impl $ty {
                #[optimistic_retry(key = "rs:m28:{self.0}:{count}", default = 1, using = client())]
                async fn written(&self, #[value] n: &mut u8, count: u8) -> Answer<u8> {
                    *n += self.0;
                    Ok(*n + count)
                }
                #[optimistic_retry(key = "rs:m28:{count}", default = 1, using = client())]
                async fn $method(&$this, #[value] $value: &mut u8, $arg: u8) -> Answer<u8> {
                    *$value += $this.0;
                    Ok(*$value + $arg)
                }
            }
        };
    }
    struct Number(u8);
    implement!(Number, self, stock, count, given);
    assert_eq!(Number(1).written(2).await.unwrap(), 4);
    assert_eq!(Number(1).given(2).await.unwrap(), 4);
}

#[tokio::test]
async fn m08_results_are_coerced() {
    #[optimistic_retry(key = "rs:m08", default = 0, using = client())]
    async fn tail(#[value] n: &mut u8, x: u8) -> Answer<Box<dyn Any + Send>> {
        *n += 1;
        if x == 0 {
            return Ok(Box::new("zero"));
        }
        tokio::task::yield_now().await;
        Ok(Box::new(x))
    }
    type Later = Pin<Box<dyn Future<Output = u8> + Send>>;
    #[optimistic_retry(key = "rs:m08", default = 0, using = client())]
    async fn alias(#[value] _: &mut u8) -> Answer<Later> {
        Ok(Box::pin(async { 7 }))
    }
    #[optimistic_retry(key = "rs:m08", default = 0, using = client())]
    async fn reference<'a>(#[value] _: &mut u8, x: &'a u8) -> Answer<&'a (dyn Display + Sync)> {
        Ok(x)
    }
    assert!(assert_send(tail(0)).await.unwrap().is::<&str>());
    assert!(tail(1).await.unwrap().is::<u8>());
    assert_eq!(alias().await.unwrap().await, 7);
    assert_eq!(reference(&7).await.unwrap().to_string(), "7");
}

#[tokio::test]
async fn m03_statements_before_the_future_stay() {
    #[optimistic_retry(key = "rs:m03", using = client())]
    fn body(id: u64, #[value] n: &mut u64) -> Pin<Box<dyn Future<Output = Answer<u64>> + Send>> {
        let next = id + 1;
        let double = next * 2;
        Box::pin(async move {
            tokio::task::yield_now().await;
            *n += double;
            Ok(next)
        })
    }
    put("rs:m03", 1).await;
    assert_eq!(body(1).await.unwrap(), 2);
    assert_eq!(number("rs:m03").await, 5);
}

#[tokio::test]
async fn m09_impl_trait_in_arguments_and_results() {
    #[optimistic_retry(key = "rs:m09:{x}", default = 0, using = client())]
    async fn body(
        #[value] n: &mut u8,
        x: impl Display + Clone + Send,
        f: &impl AsyncFn(u8) -> u8,
        g: impl Fn(u8) -> u8 + Clone,
    ) -> Answer<impl Fn() -> u8> {
        *n += 1;
        let x = x.to_string();
        let y = f(*n).await;
        let z = g(y);
        Ok(move || z + x.len() as u8)
    }
    assert_eq!(body("abc", &async |x| x + 1, |x| x * 2).await.unwrap()(), 7);
}

#[tokio::test]
async fn m15_nested_results_survive() {
    #[optimistic_retry(key = "rs:m15", default = 5, using = client())]
    async fn body(#[value] n: &mut u8, b: u8) -> Result<Result<u8, String>, tairlock::Error> {
        *n = match n.checked_sub(b) {
            Some(left) => left,
            None => return Ok(Err("negative".to_owned())),
        };
        Ok(Ok(*n))
    }
    assert_eq!(body(3).await.unwrap(), Ok(2));
    assert!(body(3).await.unwrap().is_err());
}

#[tokio::test]
async fn m33_return_in_closures_async_blocks_and_macros() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = "rs:m33", using = client())]
    async fn body(#[value] n: &mut u64, x: Result<u8, String>) -> Result<Vec<u8>, Own> {
        disturb("rs:m33", &RUNS).await;
        #[allow(clippy::needless_return)]
        let one = || {
            return 1;
        };
        let two = async {
            if one() == 1 {
                return 2;
            }
            3
        };
        *n += 1;
        Ok(vec![one(), two.await, x?])
    }
    #[derive(Debug, PartialEq)]
    struct Own(String);
    impl From<String> for Own {
        fn from(text: String) -> Self {
            Self(text)
        }
    }
    impl From<tairlock::Error> for Own {
        fn from(error: tairlock::Error) -> Self {
            Self(error.to_string())
        }
    }
    put("rs:m33", 0).await;
    assert_eq!(body(Ok(3)).await, Ok(vec![1, 2, 3]));
    assert_eq!(body(Err("own".to_owned())).await, Err(Own("own".to_owned())));
    assert_eq!(number("rs:m33").await, 21, "the second changed nothing");
}

#[tokio::test]
async fn m34_generics_trait_impls_and_recursion() {
    trait Count {
        const NAME: &'static str;
        async fn count(&self, times: u64) -> Answer<u64>;
        #[optimistic_retry(key = "rs:trait:{Self::NAME}", default = 0, using = client())]
        async fn default(&self, #[value] n: &mut u64) -> Answer<u64> {
            *n += 1;
            Ok(*n)
        }
    }
    impl<T: Sync> Count for Vec<T> {
        const NAME: &'static str = "vec";
        #[optimistic_retry(key = "rs:trait:{times}", default = 0, using = client())]
        async fn count(&self, #[value] n: &mut u64, times: u64) -> Answer<u64> {
            tokio::task::yield_now().await;
            *n += times * self.len() as u64;
            Ok(*n)
        }
    }
    #[optimistic_retry(key = "rs:generic:{N}:{t}", default = start, using = client())]
    async fn generic<'a, T, V, const N: usize>(
        #[value] there: &mut Vec<V>,
        t: &'a T,
        values: [V; N],
        start: Vec<V>,
    ) -> Answer<(&'a T, usize)>
    where
        T: Display + Send,
        V: Clone + serde::Serialize + serde::de::DeserializeOwned,
    {
        there.extend(values);
        Ok((t, there.len()))
    }
    #[optimistic_retry(key = "rs:recursive:{depth}", default = 0, using = client())]
    async fn recursive(#[value] n: &mut u32, depth: u32) -> Answer<u32> {
        if depth > 0 {
            *n += Box::pin(recursive(depth - 1)).await?;
        }
        *n += 1;
        Ok(*n)
    }
    assert_eq!(vec![1, 2].count(2).await.unwrap(), 4);
    assert_eq!((vec![1].default().await.unwrap(), vec!['a'].default().await.unwrap()), (1, 2));
    assert_eq!(generic(&1, [2, 3], vec![1]).await.unwrap(), (&1, 3));
    assert_eq!(assert_send(recursive(4)).await.unwrap(), 5);
}

#[tokio::test]
async fn futures_made_elsewhere_but_run_here() {
    #[optimistic_retry(key = "rs:m02:{id}", default = 0, using = client())]
    fn boxed<'a>(
        id: &'a str,
        #[value] n: &mut u64,
    ) -> Pin<Box<dyn Future<Output = Answer<u64>> + Send + 'a>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            *n += id.len() as u64;
            Ok(*n)
        })
    }
    #[optimistic_retry(key = "rs:m02:hidden", default = 0, using = client())]
    #[allow(clippy::manual_async_fn)]
    fn hidden(#[value] n: &mut u64) -> impl Future<Output = Answer<u64>> + Send {
        async move {
            *n += 1;
            Ok(*n)
        }
    }
    assert_eq!((boxed("ab").await.unwrap(), boxed("ab").await.unwrap()), (2, 4));
    assert_eq!((hidden().await.unwrap(), hidden().await.unwrap()), (1, 2));
}
