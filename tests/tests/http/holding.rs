//! Handlers run one at a time, and give the lock back however they end.

use std::time::Instant;

use tairlock::Client;

use crate::{
    server,
    services::BOTH,
    stage::Stage,
    wire::{post, try_post},
    within,
};

#[tokio::test(flavor = "multi_thread")]
async fn of_64_at_once_one_is_inside_at_a_time() {
    let server = server();
    let stage = Stage::new(Client::connect(server.url()).await.expect("a client"));
    for kind in BOTH {
        let service = kind.serve(&stage).await;
        for &path in kind.ways().iter().chain(&["/extractor/1"]) {
            let before = stage.visits();
            let addr = service.addr;
            let asked: Vec<_> = (0..64)
                .map(|_| tokio::spawn(async move { post(addr, path, &[], "").await }))
                .collect();
            for answer in asked {
                let answer = within(answer).await.expect("no panic");
                assert_eq!((answer.status, answer.body.as_str()), (200, "item 1"));
            }
            assert_eq!(stage.visits() - before, 64, "{kind:?} {path}");
        }
        // Other items have other locks: the gauge can show more than one.
        assert_eq!(stage.most(), 1, "{kind:?}");
    }
    stage.close_gate();
    let service = BOTH[0].serve(&stage).await;
    let addr = service.addr;
    let [one, two] = ["/attribute/1", "/extractor/2"]
        .map(|path| tokio::spawn(async move { post(addr, path, &[], "").await }));
    within(async {
        while stage.most() < 2 {
            stage.entered().await;
        }
    })
    .await;
    stage.open_gate();
    assert_eq!(within(one).await.expect("no panic").status, 200);
    assert_eq!(within(two).await.expect("no panic").status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_answer_the_next_request_finds_the_lock_free() {
    let server = server();
    let stage = Stage::new(Client::connect(server.url()).await.expect("a client"));
    for kind in BOTH {
        let service = kind.serve(&stage).await;
        for &path in kind.ways() {
            for _ in 0..50 {
                assert_eq!(within(post(service.addr, path, &[], "")).await.status, 200);
                assert!(stage.is_free("item:1").await, "{kind:?} {path}: answered, and not free");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_gives_the_lock_back() {
    let stage = Stage::new(Client::in_memory());
    for kind in BOTH {
        let service = kind.serve(&stage).await;
        for path in ["/panic/1", "/panic-extractor/1"] {
            stage.close_gate();
            let addr = service.addr;
            let asked = tokio::spawn(async move { try_post(addr, path, &[], "").await.is_err() });
            within(stage.entered()).await;
            assert!(!stage.is_free("item:1").await, "{kind:?} {path}");
            stage.open_gate();
            assert!(within(asked).await.expect("no panic here"), "the connection breaks");
            let began = Instant::now();
            within(stage.free("item:1")).await;
            // Its ttl is 10 s: this was the release.
            assert!(began.elapsed().as_secs() < 5, "{kind:?} {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_lease_is_lost_is_dropped_and_says_so() {
    let server = server();
    let stage = Stage::new(Client::connect(server.url()).await.expect("a client"));
    stage.close_gate();
    for kind in BOTH {
        let service = kind.serve(&stage).await;
        for &path in kind.ways() {
            let addr = service.addr;
            let asked = tokio::spawn(async move { post(addr, path, &[], "").await });
            within(stage.entered()).await;
            // Noticed at the next renewal.
            let deleted: i64 =
                redis::cmd("DEL").arg("item:1").query(&mut server.cli()).expect("an answer");
            assert_eq!(deleted, 1);
            within(stage.left()).await;
            let told = within(asked).await.expect("no panic");
            assert_eq!((told.status, told.header("retry-after")), (503, None), "{kind:?} {path}");
            assert!(told.body.contains("#lost"), "{}", told.body);
        }
    }
    assert_eq!(stage.visits(), 0);
}
