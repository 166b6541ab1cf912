//! Arguments: what each attempt has of its own, what it borrows, and when they go.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, atomic::AtomicU32},
};

use tairlock::optimistic_retry;

use super::{disturb, number, put};
use crate::{Answer, assert_send, client};

#[tokio::test]
async fn m10_m13_what_is_borrowed_for_longer_can_be_returned() {
    #[optimistic_retry(key = "rs:m10", default = 0, using = client())]
    async fn body<'a, 'b>(
        #[value] n: &mut usize,
        values: &'a [u8],
        other: &'b str,
        seen: &mut Vec<usize>,
    ) -> Answer<(&'a u8, &'b str)> {
        *n += 1;
        seen.push(*n);
        tokio::task::yield_now().await;
        Ok((&values[*n], other))
    }
    let mut seen = vec![];
    assert_eq!(assert_send(body(&[5, 6], "x", &mut seen)).await.unwrap(), (&6, "x"));
    assert_eq!(seen, [1]);
}

#[tokio::test]
async fn m11_m12_mut_arguments_are_each_attempts_own() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = "rs:m11:{s}", using = client())]
    async fn body(
        mut s: String,
        #[value] n: &mut u64,
        (mut a, b): (u8, u8),
        [mut c, ..]: [u8; 3],
        mut t: &str,
        left: &mut u8,
    ) -> Answer<String> {
        s.push('!');
        disturb("rs:m11:s", &RUNS).await;
        a += b;
        c += a;
        let owned = t.repeat(2);
        if t.len() < 5 {
            t = &owned;
        }
        *left += 1;
        *n += 1;
        Ok(format!("{s}{c}{t}"))
    }
    put("rs:m11:s", 1).await;
    let mut left = 0;
    let answer = body("s".into(), (1, 2), [3, 4, 5], "xy", &mut left).await;
    assert_eq!(answer.unwrap(), "s!6xyxy");
    assert_eq!((number("rs:m11:s").await, left), (12, 2), "what is borrowed is not fresh");
}

#[tokio::test]
async fn m34_arguments_that_are_used_up() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    struct Whole(String, Vec<u8>);
    #[optimistic_retry(key = "rs:m34", using = client())]
    async fn body(
        #[value] n: &mut u64,
        name: String,
        Wrapped(inner): Wrapped,
        _not_used: Whole,
        _: Whole,
        shared: Arc<Whole>,
    ) -> Answer<String> {
        disturb("rs:m34", &RUNS).await;
        *n += 1;
        drop(inner);
        Ok(tokio::spawn(async move { name + &shared.0 + &shared.1.len().to_string() })
            .await
            .unwrap())
    }
    #[derive(Clone)]
    struct Wrapped(Vec<u8>);
    put("rs:m34", 0).await;
    let whole = || Whole("b".into(), vec![1]);
    let body = body("a".into(), Wrapped(vec![1]), whole(), whole(), Arc::new(whole()));
    assert_eq!(body.await.unwrap(), "ab1");
    assert_eq!(number("rs:m34").await, 11);
}

#[tokio::test]
async fn m20_cfg_on_arguments_and_generics() {
    #[optimistic_retry(key = "rs:m20:{a}", default = 1, using = client())]
    async fn body<#[cfg(any())] T, #[cfg(not(any()))] U: Default>(
        #[cfg(any())] gone: T,
        #[cfg(not(any()))] a: u8,
        #[value]
        #[allow(unused_mut)]
        mut n: &mut u8,
        #[allow(unused_mut)] mut b: u8,
    ) -> Answer<(u8, u8, U)> {
        *n += 1;
        Ok((a + *n, b, U::default()))
    }
    assert_eq!(body::<u16>(1, 2).await.unwrap(), (3, 2, 0));
}

#[tokio::test]
async fn m14_each_attempts_arguments_and_locals_go_in_a_plain_functions_order() {
    #[derive(Clone)]
    struct Told(&'static str, Rc<RefCell<Vec<&'static str>>>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0);
        }
    }
    macro_rules! body {
        ($(#[$attr:meta])* $name:ident, $($value:tt)*) => {
            $(#[$attr])*
            async fn $name(first: Told, $($value)* _second: Told, _: Told) -> Answer {
                let _local = Told("local", Rc::clone(&first.1));
                tokio::task::yield_now().await;
                Ok(drop(Told("temporary", Rc::clone(&_second.1))))
            }
        };
    }
    body!(plain,);
    body!(#[optimistic_retry(key = "rs:m14", default = 0, using = client())] retried, #[value] _n: &mut u8,);
    let order = async |which: bool| {
        let log = Rc::<RefCell<Vec<_>>>::default();
        let told = |name| Told(name, Rc::clone(&log));
        let (a, b, c) = (told("first"), told("second"), told("third"));
        if which { retried(a, b, c).await } else { plain(a, b, c).await }.unwrap();
        log.take()
    };
    let plain = order(false).await;
    assert_eq!(plain, ["temporary", "local", "third", "second", "first"]);
    // The attempt's own first, in that order; then what they were cloned of.
    let retried = order(true).await;
    assert_eq!(retried, ["temporary", "local", "second", "first", "third", "second", "first"]);
}
