//! Requests with an `Idempotency-Key`, on both frameworks.

use std::{sync::Arc, time::Duration};

use tairlock::Client;
use tairlock_tower::{Answers, Idempotency, Unfinished};

use crate::{
    services::{BOTH, Kind, Service},
    stage::Stage,
    wire::{Answer, Outcome, Visitor, post, request, try_post},
    within,
};

/// Each test is played with a service of both kinds.
async fn on_both(
    set: impl Fn(Idempotency) -> Idempotency,
    play: impl AsyncFn(Kind, &Arc<Stage>, &Service),
) {
    for kind in BOTH {
        let locks = Client::in_memory();
        let idempotency = set(Idempotency::new(locks.clone()));
        let stage = Stage::with(locks, idempotency, Answers::default());
        let service = kind.serve(&stage).await;
        within(play(kind, &stage, &service)).await;
    }
}

async fn once(service: &Service, key: &str, body: &str) -> Answer {
    post(service.addr, "/once", &[("idempotency-key", key)], body).await
}

async fn try_once(service: &Service, key: &str, body: &str) -> Outcome {
    try_post(service.addr, "/once", &[("idempotency-key", key)], body).await
}

fn spawn_once(service: &Service, key: &'static str) -> tokio::task::JoinHandle<Answer> {
    let addr = service.addr;
    tokio::spawn(async move { post(addr, "/once", &[("idempotency-key", key)], "ok").await })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_done_once_and_answered_alike() {
    on_both(
        |idempotency| idempotency,
        async |kind, stage, service| {
            let first = once(service, "\"a\"", "ok").await;
            assert_eq!((first.status, first.body.as_str()), (201, "thing 1: ok"), "{kind:?}");
            assert_eq!(first.header("idempotency-replayed"), None);
            for key in ["\"a\"", "a"] {
                let again = once(service, key, "ok").await;
                assert_eq!((again.status, &again.body), (201, &first.body), "{kind:?}");
                assert_eq!(again.header("idempotency-replayed"), Some("true"));
                for kept in ["location", "content-type"] {
                    assert!(first.header(kept).is_some() || kind == Kind::Actix, "{kept}");
                    assert_eq!(again.header(kept), first.header(kept), "{kind:?} {kept}");
                }
                // Headers that were not chosen are not kept.
                assert_eq!((first.header("x-secret"), again.header("x-secret")), (Some("7"), None));
            }
            assert_eq!(stage.visits(), 1);

            // Without the header, or with another key, it is another request.
            assert_eq!(once(service, "b", "ok").await.body, "thing 2: ok");
            assert_eq!(post(service.addr, "/once", &[], "ok").await.body, "thing 3: ok");

            // The same key for something else: other body, other path, other query.
            let other =
                [("/once", "other"), ("/other", "ok"), ("/once?x", "ok"), ("/nested/once", "ok")];
            for (path, body) in other {
                let headers = [("idempotency-key", "a")];
                let refused = post(service.addr, path, &headers, body).await;
                assert_eq!(refused.status, 422, "{kind:?} {path}");
                assert!(refused.body.contains("#idempotency-key-reused"), "{}", refused.body);
            }
            let bad = once(service, "a b", "ok").await;
            assert_eq!(bad.status, 400, "{}", bad.body);
            assert_eq!(stage.visits(), 3);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_while_it_is_done_waits_and_is_answered_alike() {
    on_both(
        |idempotency| idempotency.wait(Duration::from_secs(50)),
        async |kind, stage, service| {
            stage.close_gate();
            let first = spawn_once(service, "a");
            stage.entered().await;
            let others: Vec<_> = (0..20).map(|_| spawn_once(service, "a")).collect();
            stage.open_gate();
            let first = first.await.expect("no panic");
            for other in others {
                let other = other.await.expect("no panic");
                assert_eq!((other.status, &other.body), (201, &first.body), "{kind:?}");
                assert_eq!(other.header("idempotency-replayed"), Some("true"));
            }
            assert_eq!(stage.visits(), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_waited_long_enough_is_told_to_come_back() {
    on_both(
        |idempotency| idempotency.wait(Duration::from_millis(50)),
        async |kind, stage, service| {
            stage.close_gate();
            let first = spawn_once(service, "a");
            stage.entered().await;
            let early = once(service, "a", "ok").await;
            assert_eq!((early.status, early.header("retry-after")), (409, Some("1")), "{kind:?}");
            assert!(early.body.contains("#in-flight"), "{}", early.body);
            // It is known already that this one is another request.
            assert_eq!(once(service, "a", "other").await.status, 422);
            stage.open_gate();
            assert_eq!(first.await.expect("no panic").status, 201);
            assert_eq!(once(service, "a", "ok").await.body, "thing 1: ok");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_says_that_nothing_was_done_is_not_kept() {
    on_both(
        |idempotency| idempotency,
        async |kind, stage, service| {
            for nth in 1..=2 {
                assert_eq!(once(service, "a", "fail").await.status, 500, "{kind:?}");
                assert_eq!(stage.visits(), nth);
            }
        },
    )
    .await;
    on_both(
        |idempotency| idempotency.keep(|_| true),
        async |kind, stage, service| {
            for _ in 1..=2 {
                assert_eq!(once(service, "a", "fail").await.status, 500, "{kind:?}");
                assert_eq!(stage.visits(), 1, "where the service wants so, it is");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_is_refused_or_not_kept() {
    on_both(
        |idempotency| idempotency.request_limit(10).response_limit(1000),
        async |kind, stage, service| {
            let refused = once(service, "a", "01234567890").await;
            assert_eq!(refused.status, 413, "{kind:?}: {}", refused.body);
            assert_eq!(stage.visits(), 0);
            let long = once(service, "b", "long").await;
            assert_eq!((long.status, long.body), (200, "0123456789".repeat(300)), "{kind:?}");
            let again = once(service, "b", "long").await;
            assert_eq!(again.status, 409);
            assert!(again.body.contains("#not-kept"), "{}", again.body);
            assert_eq!(stage.visits(), 1);
        },
    )
    .await;
    // A body that comes in pieces is kept, if it is short enough.
    on_both(
        |idempotency| idempotency,
        async |kind, stage, service| {
            for _ in 0..2 {
                assert_eq!(once(service, "b", "long").await.body.len(), 3000, "{kind:?}");
            }
            assert_eq!(stage.visits(), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_client_has_left_is_brought_to_its_end() {
    on_both(
        |idempotency| idempotency.wait(Duration::from_secs(50)),
        async |kind, stage, service| {
            stage.close_gate();
            let mut visitor = Visitor::that_resets(service.addr).await;
            {
                let asked = request("POST", "/once", &[("idempotency-key", "a")], "ok");
                let mut asked = std::pin::pin!(visitor.send(asked));
                tokio::select! {
                    answer = &mut asked => panic!("answered too early: {answer:?}"),
                    () = stage.entered() => {}
                }
            }
            visitor.leave().await;
            let retry = spawn_once(service, "a");
            stage.open_gate();
            let retry = retry.await.expect("no panic");
            assert_eq!(retry.body, "thing 1: ok", "{kind:?}");
            assert_eq!(retry.header("idempotency-replayed"), Some("true"));
            assert_eq!(stage.visits(), 1);
            stage.idempotency.close().await;
            assert_eq!(once(service, "a", "ok").await.body, "thing 1: ok", "on record");
            let closed = once(service, "b", "ok").await;
            assert_eq!((closed.status, closed.header("retry-after")), (503, Some("1")));
            assert_eq!(stage.visits(), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_and_not_ended_is_refused_or_done_again() {
    on_both(
        |idempotency| idempotency,
        async |kind, stage, service| {
            assert!(try_once(service, "a", "panic").await.is_err(), "the connection breaks");
            let again = once(service, "a", "panic").await;
            assert_eq!((again.status, again.header("retry-after")), (409, None), "{kind:?}");
            assert!(again.body.contains("#unfinished"), "{}", again.body);
            assert_eq!(stage.visits(), 1);
        },
    )
    .await;
    on_both(
        |idempotency| idempotency.unfinished(Unfinished::RunAgain),
        async |kind, stage, service| {
            for nth in 1..=2 {
                assert!(try_once(service, "a", "panic").await.is_err(), "{kind:?}");
                assert_eq!(stage.visits(), nth);
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_two_scopes_have_nothing_to_do_with_each_other() {
    on_both(
        |idempotency| idempotency,
        async |kind, _, service| {
            let ask = async |account| {
                let headers = [("idempotency-key", "a"), ("x-account", account)];
                post(service.addr, "/once", &headers, "ok").await.body
            };
            assert_eq!(ask("ada").await, "thing 1: ok", "{kind:?}");
            assert_eq!(ask("bob").await, "thing 2: ok", "{kind:?}");
            assert_eq!(ask("ada").await, "thing 1: ok", "{kind:?}");
        },
    )
    .await;
}
