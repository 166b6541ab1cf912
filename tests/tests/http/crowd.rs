//! One request with an `Idempotency-Key`, sent to several shops many times, and shops that die of it.

use std::{collections::BTreeSet, net::SocketAddr};

use tokio::task::JoinSet;

use crate::{
    server,
    services::{BOTH, Kind},
    shops::{Books, JSON, ONE_MUG, checkout},
    wire::{Answer, Visitor, request, try_post},
    within,
};

/// The answers to one request, sent 1,000 times on 100 connections; those who are told to come back do.
async fn a_thousand(shops: [SocketAddr; 2]) -> Vec<Answer> {
    let mut asked = JoinSet::new();
    for connection in 0..100 {
        asked.spawn(async move {
            let mut visitor = Visitor::to(shops[connection % 2]).await;
            let mut answers = Vec::new();
            while answers.len() < 10 {
                let headers = [JSON, ("idempotency-key", "\"k\"")];
                let asked = request("POST", &checkout(7), &headers, ONE_MUG);
                let answer = visitor.send(asked).await.expect("an answer");
                if !answer.body.contains("#in-flight") {
                    answers.push(answer);
                }
            }
            answers
        });
    }
    within(asked.join_all()).await.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_with_one_key_one_is_done_and_all_are_answered_alike() {
    // The last two share it too, although one is axum's and the other actix's.
    for kind in [[Kind::Axum, Kind::Axum], [Kind::Actix, Kind::Actix], BOTH] {
        let server = server();
        let books = Books::of(&server).await;
        books.fill(10).await;
        let shops = kind.map(|kind| kind.open(Some(&server), 50));
        let answers = a_thousand([shops[0].addr, shops[1].addr]).await;
        assert_eq!(answers.len(), 1000);
        for answer in &answers {
            let body = r#"{"order":7,"sku":"mug","quantity":1,"left":9}"#;
            assert_eq!((answer.status, answer.body.as_str()), (201, body), "{kind:?}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
        let first = answers.iter().filter(|one| one.header("idempotency-replayed").is_none());
        assert_eq!((first.count(), books.payments().await), (1, 1), "{kind:?}");
    }
}

/// A request that was begun at one shop is refused at another, once its lease has ended.
async fn is_unfinished(at: SocketAddr) {
    let headers = [JSON, ("idempotency-key", "k")];
    let again = async || try_post(at, &checkout(7), &headers, ONE_MUG).await.expect("an answer");
    let told = within(async {
        loop {
            let told = again().await;
            assert_eq!(told.status, 409, "{told:?}");
            if !told.body.contains("#in-flight") {
                return told;
            }
            // As long as the lease lasts, it may be under way.
            assert_eq!(told.header("retry-after"), Some("1"));
        }
    })
    .await;
    assert!(told.body.contains("#unfinished"), "{}", told.body);
    assert_eq!(again().await.body, told.body, "and so it stays");
}

async fn killed_in_the_middle(kind: Kind) {
    let server = server();
    let books = Books::of(&server).await;
    books.fill(10).await;
    let [mut dying, heir] = [kind.open(Some(&server), 3_600_000), kind.open(Some(&server), 1)];
    let headers = [JSON, ("idempotency-key", "k")];
    let addr = dying.addr;
    let cut = tokio::spawn(async move { try_post(addr, &checkout(7), &headers, ONE_MUG).await });
    books.is_under_way("7").await;
    dying.process.kill();
    assert!(within(cut).await.expect("no panic").is_err(), "the connection breaks");
    is_unfinished(heir.addr).await;
    assert_eq!(books.payments().await, 0, "{kind:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_cut_off_by_a_crash_is_refused() {
    tokio::join!(killed_in_the_middle(Kind::Axum), killed_in_the_middle(Kind::Actix));
}

async fn stopped_in_the_middle(kind: Kind) {
    let server = server();
    let books = Books::of(&server).await;
    books.fill(10).await;
    let [slow, heir] = [kind.open(Some(&server), 3_600_000), kind.open(Some(&server), 1)];
    let headers = [JSON, ("idempotency-key", "k")];
    let addr = slow.addr;
    let late = tokio::spawn(async move { try_post(addr, &checkout(7), &headers, ONE_MUG).await });
    books.is_under_way("7").await;
    slow.process.pause();
    is_unfinished(heir.addr).await;
    // It goes on, and knows by its clock that its lease has ended.
    slow.process.resume();
    let told = within(late).await.expect("no panic").expect("an answer");
    assert_eq!((told.status, told.header("retry-after")), (503, None), "{kind:?}: {told:?}");
    assert!(told.body.contains("#lost"), "{}", told.body);
    assert_eq!(books.payments().await, 0, "{kind:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_stopped_for_longer_than_its_lease_says_so() {
    tokio::join!(stopped_in_the_middle(Kind::Axum), stopped_in_the_middle(Kind::Actix));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_amid_a_thousand_gives_one_outcome_to_all() {
    for kind in BOTH {
        let server = server();
        let books = Books::of(&server).await;
        books.fill(10).await;
        let mut shops = [kind.open(Some(&server), 300), kind.open(Some(&server), 300)];
        let (dying, heir) = (shops[0].addr, shops[1].addr);
        let headers = [JSON, ("idempotency-key", "\"k\"")];
        let mut cut = JoinSet::new();
        for _ in 0..50 {
            cut.spawn(async move { try_post(dying, &checkout(7), &headers, ONE_MUG).await });
        }
        let crowd = tokio::spawn(a_thousand([heir, heir]));
        books.is_under_way("7").await;
        shops[0].process.kill();
        let mut outcomes: BTreeSet<_> = within(crowd)
            .await
            .expect("no panic")
            .into_iter()
            .map(|answer| (answer.status, answer.body))
            .collect();
        // What the dying one still said is no other outcome.
        let said = within(cut.join_all()).await.into_iter().flatten();
        let said = said.filter(|answer| !answer.body.contains("#in-flight"));
        outcomes.extend(said.map(|answer| (answer.status, answer.body)));
        assert_eq!(outcomes.len(), 1, "{kind:?}: {outcomes:?}");
        let (status, body) = outcomes.first().expect("one");
        let payments = books.payments().await;
        match status {
            201 => assert_eq!(payments, 1, "{kind:?}"),
            409 => assert!(body.contains("#unfinished") && payments <= 1, "{kind:?}: {body}"),
            _ => panic!("{kind:?}: {status} {body}"),
        }
    }
}
