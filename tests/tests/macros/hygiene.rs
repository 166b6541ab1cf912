//! Names: nothing of ours is seen by the body, nothing of the user's is taken for ours.
#![allow(dead_code)]

use tairlock::distributed_lock;

use crate::{Answer, client};

#[tokio::test]
async fn m16_arguments_may_be_called_anything() {
    #[distributed_lock(key = "h:{key}:{lock}:{output}", using = client())]
    #[allow(clippy::too_many_arguments)]
    async fn body(
        key: u8,
        ttl: u8,
        guard: u8,
        lease: u8,
        client_: u8,
        lock: u8,
        result: u8,
        output: u8,
        __e: u8,
    ) -> Answer<u8> {
        Ok(key + ttl + guard + lease + client_ + lock + result + output + __e)
    }
    assert_eq!(body(1, 1, 1, 1, 1, 1, 1, 1, 1).await.unwrap(), 9);
}

#[tokio::test]
async fn m17_items_of_the_body_stay_in_it() {
    mod other {
        pub(super) use std::option::Option::Some as Ok;
    }
    #[distributed_lock(key = "h:m17:{a}", using = client())]
    async fn body(a: u8) -> Answer<bool> {
        #[allow(unused_imports)]
        use other::Ok;
        enum Result {}
        enum Option {}
        fn hold() {}
        const B: u8 = 1;
        Answer::Ok(Ok(a + B) == Some(2))
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
        #[::tairlock::distributed_lock(key = "h:m18:{a}", ttl = 5, wait = "1s", using = crate::client())]
        pub(super) async fn body(a: u8) -> ::core::result::Result<u8, ::tairlock::Error> {
            ::core::result::Result::Ok(a)
        }
    }
    assert_eq!(inner::body(1).await.unwrap(), 1);
}

#[tokio::test]
async fn m18_crate_names_the_runtime_crate() {
    mod reexport {
        pub(super) use tairlock as locks;
    }
    #[distributed_lock(key = "h:crate", crate = reexport::locks, using = client())]
    async fn body() -> Answer {
        Ok(())
    }
    body().await.unwrap();
}

#[tokio::test]
async fn m19_inner_attributes() {
    #[distributed_lock(key = "h:m19", using = client())]
    async fn body(unused: u8) -> Answer {
        #![allow(unused_variables)]
        #![allow(unused_mut)]
        let mut x = 1;
        Ok(())
    }
    body(1).await.unwrap();
}

#[tokio::test]
async fn without_lease_the_body_sees_the_outer_one() {
    const LEASE: u8 = 1;
    #[allow(non_upper_case_globals)]
    static lease: u8 = LEASE;
    #[distributed_lock(key = "h:lease", using = client())]
    async fn body() -> Answer<u8> {
        Ok(lease)
    }
    assert_eq!(body().await.unwrap(), 1);
}
