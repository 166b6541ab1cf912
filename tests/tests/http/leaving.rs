//! Clients that leave in the middle of a request.

use std::time::{Duration, Instant};

use tairlock::{Client, Error};

use crate::{
    services::Kind,
    stage::Stage,
    wire::{Visitor, request},
    within,
};

/// Where to, and whether the connection is reset in the end.
const WAYS: [(&str, bool); 5] = [
    ("/attribute/1", false),
    ("/attribute/1", true),
    ("/extractor/1", false),
    ("/run/1", true),
    ("/layered/1", false),
];

async fn come(to: std::net::SocketAddr, reset: bool) -> Visitor {
    if reset { Visitor::that_resets(to).await } else { Visitor::to(to).await }
}

/// A client whose request is inside, and has left since.
///
/// The connection goes first: hyper closes one in good order when nobody waits for the response any more,
/// and to a server that is not the same as a reset.
async fn come_and_go(stage: &Stage, visitor: Visitor, path: &'static str) {
    let mut visitor = visitor;
    let connection = visitor.connection();
    let request = visitor.send(request("POST", path, &[], ""));
    let mut request = std::pin::pin!(request);
    tokio::select! {
        answer = &mut request => panic!("answered before it was let go: {answer:?}"),
        () = within(stage.entered()) => {}
    }
    connection.abort();
    within(request).await.expect_err("there is nobody to answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_axum_the_handler_is_dropped_and_the_lock_free_at_once() {
    let stage = Stage::new(Client::in_memory());
    let service = Kind::Axum.serve(&stage).await;
    for (path, reset) in WAYS {
        stage.close_gate();
        let began = Instant::now();
        let visitor = come(service.addr, reset).await;
        come_and_go(&stage, visitor, path).await;
        within(stage.left()).await;
        within(stage.free("item:1")).await;
        // Its ttl is 10 s: this was the release.
        assert!(began.elapsed() < Duration::from_secs(5), "{path}: {:?}", began.elapsed());
        assert_eq!(stage.visits(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_axum_who_leaves_the_line_is_not_waited_for() {
    let stage = Stage::new(Client::in_memory());
    let service = Kind::Axum.serve(&stage).await;
    let guard = stage.locks.lock("item:1").acquire().await.expect("it is free");
    // It has come to the handler, and the lock is not free.
    come_and_go(&stage, Visitor::to(service.addr).await, "/line/1").await;
    within(stage.left()).await;
    assert!(guard.release().await.expect("in memory").was_held());
    within(stage.free("item:1")).await;
    assert_eq!(stage.visits(), 0, "nobody was let in for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_actix_the_handler_goes_on_if_the_connection_is_closed() {
    let stage = Stage::new(Client::in_memory());
    let service = Kind::Actix.serve(&stage).await;
    for (nth, path) in ["/attribute/1", "/extractor/1", "/run/1"].into_iter().enumerate() {
        stage.close_gate();
        come_and_go(&stage, Visitor::to(service.addr).await, path).await;
        // A second later nothing has changed.
        let second = Duration::from_secs(1);
        match stage.locks.lock("item:1").wait(second).acquire().await {
            Err(Error::TimedOut { .. }) => {}
            other => panic!("{path}: {other:?}"),
        }
        assert_eq!(stage.visits(), nth, "{path}");
        stage.open_gate();
        within(stage.left()).await;
        within(stage.free("item:1")).await;
        assert_eq!(stage.visits(), nth + 1, "{path}: it came to its end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_actix_the_handler_is_dropped_if_the_connection_is_reset() {
    let stage = Stage::new(Client::in_memory());
    let service = Kind::Actix.serve(&stage).await;
    for path in ["/attribute/1", "/extractor/1", "/run/1"] {
        stage.close_gate();
        let began = Instant::now();
        come_and_go(&stage, Visitor::that_resets(service.addr).await, path).await;
        within(stage.left()).await;
        within(stage.free("item:1")).await;
        assert!(began.elapsed() < Duration::from_secs(5), "{path}: {:?}", began.elapsed());
        assert_eq!(stage.visits(), 0);
    }
}
