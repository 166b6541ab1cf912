//! Signatures of every shape, under `async fn`.

use std::{any::Any, fmt::Display, future::Future, pin::Pin, rc::Rc, sync::Arc};

use tairlock::{Client, distributed_lock};

use crate::{Answer, assert_send, client};

struct Service {
    locks: Client,
    calls: u32,
}

impl Service {
    #[distributed_lock(key = "s:recv", using = self.locks)]
    async fn shared(&self) -> Answer<u32> {
        tokio::task::yield_now().await;
        Ok(self.calls)
    }
    #[distributed_lock(key = "s:recv:{self.calls}", using = self.locks)]
    async fn exclusive(&mut self) -> Answer<&mut u32> {
        self.calls += 1;
        tokio::task::yield_now().await;
        Ok(&mut self.calls)
    }
    #[distributed_lock(key = "s:recv", using = self.locks)]
    async fn owned(mut self) -> Answer<Self> {
        self.calls += 1;
        Ok(self)
    }
    #[distributed_lock(key = "s:recv", using = self.locks)]
    async fn part(self) -> Answer<Client> {
        tokio::task::yield_now().await;
        Ok(self.locks)
    }
    #[distributed_lock(key = "s:recv", using = self.locks)]
    async fn arc(self: Arc<Self>) -> Answer<u32> {
        Ok(self.calls)
    }
    #[distributed_lock(key = "s:recv", using = self.locks)]
    #[allow(clippy::needless_arbitrary_self_type)]
    async fn reference(self: &Self) -> Answer<u32> {
        Ok(self.calls)
    }
    #[distributed_lock(key = "s:recv", using = self.locks)]
    async fn rc(self: Rc<Self>) -> Answer<u32> {
        Ok(self.calls)
    }
    #[distributed_lock(key = "s:recv", using = self.locks)]
    async fn boxed(self: Box<Self>) -> Answer<Self> {
        Ok(*self)
    }
    #[distributed_lock(key = "s:recv", using = self.locks)]
    async fn pinned(mut self: Pin<&mut Self>) -> Answer<u32> {
        self.as_mut().calls += 1;
        Ok(self.calls)
    }
    // M28: `self` stays `self`, also where only a macro sees it.
    #[distributed_lock(key = "s:macros", using = self.locks)]
    async fn in_macros(&self) -> Answer<String> {
        Ok(format!("{} {:?}", self.calls, vec![self.shared().await.is_ok()]))
    }
}

#[tokio::test]
async fn m27_every_receiver() {
    let mut service = Service { locks: Client::in_memory(), calls: 0 };
    assert_eq!(service.shared().await.unwrap(), 0);
    assert_eq!(service.reference().await.unwrap(), 0);
    *service.exclusive().await.unwrap() += 1;
    assert_eq!(service.in_macros().await.unwrap(), "2 [true]");
    let service = service.owned().await.unwrap();
    let mut service = Box::new(service).boxed().await.unwrap();
    assert_eq!(Pin::new(&mut service).pinned().await.unwrap(), 4);
    let rc = Rc::new(service);
    assert_eq!(Rc::clone(&rc).rc().await.unwrap(), 4);
    let arc = Arc::new(Rc::into_inner(rc).unwrap());
    assert_eq!(Arc::clone(&arc).arc().await.unwrap(), 4);
    Arc::into_inner(arc).unwrap().part().await.unwrap();
}

#[tokio::test]
async fn m28_self_in_a_macro_and_an_impl_written_by_one() {
    macro_rules! implement {
        ($ty:ident, $this:ident, $arg:ident, $method:ident) => {
            impl $ty {
                #[distributed_lock(key = "s:m28:{self.0}:{count}", using = client())]
                async fn written(&self, count: u8) -> Answer<u8> {
                    Ok(self.0 + count)
                }
                #[distributed_lock(key = "s:m28:{count}", using = client())]
                async fn $method(&$this, $arg: u8) -> Answer<u8> {
                    Ok($this.0 + $arg)
                }
            }
        };
    }
    struct Number(u8);
    implement!(Number, self, count, given);
    assert_eq!(Number(1).written(2).await.unwrap(), 3);
    assert_eq!(Number(1).given(2).await.unwrap(), 3);
}

#[tokio::test]
async fn m08_results_are_coerced() {
    #[distributed_lock(key = "s:m08", using = client())]
    async fn tail(x: u8) -> Answer<Box<dyn Any + Send>> {
        if x == 0 {
            return Ok(Box::new("zero"));
        }
        tokio::task::yield_now().await;
        Ok(Box::new(x))
    }
    type Later = Pin<Box<dyn Future<Output = u8> + Send>>;
    #[distributed_lock(key = "s:m08", using = client())]
    async fn alias() -> Answer<Later> {
        Ok(Box::pin(async { 7 }))
    }
    #[distributed_lock(key = "s:m08", using = client())]
    async fn reference<'a>(x: &'a u8) -> Answer<&'a (dyn Display + Sync)> {
        Ok(x)
    }
    assert!(tail(0).await.unwrap().is::<&str>());
    assert!(tail(1).await.unwrap().is::<u8>());
    assert_eq!(alias().await.unwrap().await, 7);
    assert_eq!(reference(&7).await.unwrap().to_string(), "7");
}

#[tokio::test]
async fn m09_impl_trait_in_arguments_and_results() {
    #[distributed_lock(key = "s:m09:{x}", using = client())]
    async fn body(x: impl Display + Send, f: impl AsyncFn(u8) -> u8) -> Answer<impl Fn() -> u8> {
        let x = x.to_string();
        let y = f(1).await;
        Ok(move || y + x.len() as u8)
    }
    assert_eq!(body("abc", async |x| x + 1).await.unwrap()(), 5);
}

#[tokio::test]
async fn m10_m13_borrows_of_arguments_can_be_returned() {
    #[distributed_lock(key = "s:m10", using = client())]
    async fn body(values: &mut Vec<u8>) -> Answer<&mut u8> {
        values.push(1);
        tokio::task::yield_now().await;
        Ok(values.last_mut().unwrap())
    }
    #[distributed_lock(key = "s:m13:{other}", using = client())]
    async fn shared<'a, 'b>(values: &'a mut u32, other: &'b str) -> Answer<(&'a u32, &'b str)> {
        Ok((values, other))
    }
    let mut values = vec![];
    *assert_send(body(&mut values)).await.unwrap() = 5;
    assert_eq!(values, [5]);
    assert_eq!(shared(&mut 3, "x").await.unwrap(), (&3, "x"));
}

#[tokio::test]
async fn m11_m12_mut_arguments_can_be_changed() {
    #[distributed_lock(key = "s:m11:{s}", using = client())]
    async fn body(mut s: String, (mut a, b): (u8, u8), [mut c, ..]: [u8; 3]) -> Answer<String> {
        s.push('!');
        a += b;
        c += a;
        Ok(format!("{s}{c}"))
    }
    #[distributed_lock(key = "s:m12", using = client())]
    async fn shorter(mut s: &str) -> Answer<usize> {
        let owned = s.repeat(2);
        tokio::task::yield_now().await;
        if s.len() < 5 {
            s = &owned;
        }
        Ok(s.len())
    }
    assert_eq!(body("s".into(), (1, 2), [3, 4, 5]).await.unwrap(), "s!6");
    assert_eq!(shorter("abc").await.unwrap(), 6);
}

#[tokio::test]
async fn m15_arguments_and_nested_results_survive() {
    #[distributed_lock(key = "s:m15", using = client())]
    async fn body(a: u8, b: u8) -> Result<Result<u8, String>, tairlock::Error> {
        Ok(a.checked_sub(b).ok_or_else(|| "negative".to_owned()))
    }
    assert_eq!(body(3, 1).await.unwrap(), Ok(2));
    assert!(body(1, 3).await.unwrap().is_err());
}

#[tokio::test]
async fn m07_never_returns() {
    #[distributed_lock(key = "s:m07", using = client(), or_else = |_| panic!("not had"))]
    async fn body() -> ! {
        panic!("ran")
    }
    assert!(tokio::spawn(async { body().await }).await.unwrap_err().is_panic());
}

#[tokio::test]
async fn m20_cfg_on_arguments_and_generics() {
    #[distributed_lock(key = "s:m20:{a}", using = client())]
    async fn body<#[cfg(any())] T, #[cfg(not(any()))] U: Default>(
        #[cfg(any())] gone: T,
        #[cfg(not(any()))] a: u8,
        #[allow(unused_mut)] mut b: u8,
    ) -> Answer<(u8, u8, U)> {
        Ok((a, b, U::default()))
    }
    assert_eq!(body::<u16>(1, 2).await.unwrap(), (1, 2, 0));
}

#[tokio::test]
async fn m33_return_in_closures_async_blocks_and_macros() {
    #[distributed_lock(key = "s:m33", using = client())]
    async fn body(x: Result<u8, tairlock::Error>) -> Answer<Vec<u8>> {
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
        Ok(vec![one(), two.await, x?])
    }
    assert_eq!(body(Ok(3)).await.unwrap(), [1, 2, 3]);
    assert!(matches!(body(Err(tairlock::Error::Closed)).await, Err(tairlock::Error::Closed)));
}

#[tokio::test]
async fn generics_traits_and_recursion() {
    trait Greet {
        const NAME: &'static str;
        async fn greet(&self, times: usize) -> Answer<String>;
        #[distributed_lock(key = "s:trait:{Self::NAME}", using = client())]
        async fn default(&self) -> Answer<&'static str> {
            Ok(Self::NAME)
        }
    }
    impl<T: Display + Sync> Greet for Vec<T> {
        const NAME: &'static str = "vec";
        #[distributed_lock(key = "s:trait:{times}", using = client())]
        async fn greet(&self, times: usize) -> Answer<String> {
            tokio::task::yield_now().await;
            Ok(self.iter().map(ToString::to_string).collect::<String>().repeat(times))
        }
    }
    #[distributed_lock(key = "s:generic:{N}:{t}", using = client())]
    async fn generic<'a, T, const N: usize>(t: &'a T, values: [T; N]) -> Answer<(&'a T, usize)>
    where
        T: Display + Send,
    {
        Ok((t, values.len()))
    }
    #[distributed_lock(key = "s:recursive:{n}", using = client())]
    async fn recursive(n: u32) -> Answer<u32> {
        if n == 0 { Ok(0) } else { Ok(1 + Box::pin(recursive(n - 1)).await?) }
    }
    assert_eq!(vec![1, 2].greet(2).await.unwrap(), "1212");
    assert_eq!(vec![1].default().await.unwrap(), "vec");
    assert_eq!(generic(&1, [2, 3]).await.unwrap(), (&1, 2));
    assert_eq!(assert_send(recursive(5)).await.unwrap(), 5);
}
