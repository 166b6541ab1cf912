//! Names: nothing of ours is seen by the body, nothing of the user's is taken for ours.
#![allow(dead_code)]

use tairlock::optimistic_retry;

use super::{number, put};
use crate::{Answer, client};

#[tokio::test]
async fn m16_arguments_may_be_called_anything() {
    #[optimistic_retry(key = "rh:{key}:{terms}:{output}", default = 1, using = client())]
    #[allow(clippy::too_many_arguments)]
    async fn body(
        key: u8,
        versioned: u8,
        #[value] value: &mut u8,
        terms: u8,
        attempts: u8,
        again: u8,
        copy: u8,
        output: u8,
        error: u8,
        client_: u8,
        __self: u8,
        private: u8,
    ) -> Answer<u8> {
        *value += 1;
        let sum = key + versioned + terms + attempts + again + copy + output + error + client_;
        Ok(sum + __self + private + *value)
    }
    assert_eq!(body(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1).await.unwrap(), 13);
    assert_eq!(body(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1).await.unwrap(), 14);
}

#[tokio::test]
async fn m16_without_a_key_too() {
    #[optimistic_retry(max_attempts = terms)]
    async fn body(again: u8, terms: u32, output: u8, error: u8, key: u8) -> Answer<u8> {
        Ok(again + terms as u8 + output + error + key)
    }
    assert_eq!(body(1, 1, 1, 1, 1).await.unwrap(), 5);
}

#[tokio::test]
async fn m17_items_of_the_body_stay_in_it() {
    mod other {
        pub(super) use std::option::Option::Some as Ok;
    }
    #[optimistic_retry(key = "rh:m17:{a}", default = 1, using = client())]
    async fn body(a: u8, #[value] n: &mut u8) -> Answer<bool> {
        #[allow(unused_imports)]
        use other::Ok;
        enum Result {}
        enum Option {}
        fn update() {}
        const B: u8 = 1;
        *n += B;
        Answer::Ok(Ok(a + *n) == Some(3))
    }
    assert!(body(1).await.unwrap());
}

#[tokio::test]
async fn m18_user_modules_with_our_names() {
    mod inner {
        mod tairlock {}
        mod std {}
        mod core {}
        enum Result {}
        enum Option {}
        #[::tairlock::optimistic_retry(key = "rh:m18:{a}", within = "1s", expire = 5, default = 0, using = crate::client())]
        pub(super) async fn body(
            #[value] n: &mut u8,
            a: u8,
        ) -> ::core::result::Result<u8, ::tairlock::Error> {
            *n += a;
            ::core::result::Result::Ok(*n)
        }
        #[::tairlock::optimistic_retry]
        pub(super) async fn alone(a: u8) -> ::core::result::Result<u8, ::tairlock::Error> {
            ::core::result::Result::Ok(a)
        }
    }
    assert_eq!(inner::body(1).await.unwrap(), 1);
    assert_eq!(inner::alone(1).await.unwrap(), 1);
}

#[tokio::test]
async fn m18_crate_names_the_runtime_crate() {
    mod reexport {
        pub(super) use tairlock as locks;
    }
    #[optimistic_retry(key = "rh:crate", crate = reexport::locks, default = 0, using = client())]
    async fn body(#[value] n: &mut u8) -> Answer {
        *n += 1;
        Ok(())
    }
    body().await.unwrap();
}

#[tokio::test]
async fn m19_inner_attributes() {
    #[optimistic_retry(key = "rh:m19", default = 0, using = client())]
    async fn body(#[value] n: &mut u8, unused: u8) -> Answer {
        #![allow(unused_variables)]
        #![allow(unused_mut)]
        let mut x = 1;
        Ok(())
    }
    body(1).await.unwrap();
}

#[tokio::test]
async fn labels_and_loops_of_the_body_are_its_own() {
    #[optimistic_retry(key = "rh:loops", using = client())]
    async fn body(#[value] n: &mut u64) -> Answer<u64> {
        let left = 'outer: loop {
            for i in 0.. {
                if i == 3 {
                    break 'outer i;
                }
                if i == 1 {
                    continue;
                }
                *n += 1;
            }
        };
        if *n > 10 {
            return Ok(*n);
        }
        Ok(left)
    }
    put("rh:loops", 7).await;
    assert_eq!(body().await.unwrap(), 3);
    assert_eq!(body().await.unwrap(), 11);
    assert_eq!(number("rh:loops").await, 11);
}

#[tokio::test]
async fn the_value_can_be_a_pattern_and_shadow_what_is_outside() {
    #[allow(non_upper_case_globals)]
    static stock: u8 = 7;
    #[optimistic_retry(key = "rh:outer:{stock}", default = (1, 2), using = client())]
    async fn body(#[value] (a, b): &mut (u8, u8)) -> Answer<u8> {
        std::mem::swap(a, b);
        Ok(*a * 10 + *b + stock)
    }
    assert_eq!(body().await.unwrap(), 28);
    assert_eq!(body().await.unwrap(), 19);
    let there = client().versioned::<(u8, u8)>("rh:outer:7").read().await.unwrap();
    assert_eq!(there.unwrap().value, (1, 2));
}
