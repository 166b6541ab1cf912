//! Annotated handlers with every kind of argument: what `docs/handlers.md` shows.

mod on_actix;
mod on_axum;

use std::{net::SocketAddr, path::Path};

use serde::Deserialize;
use tairlock::Client;

use crate::{
    shops::JSON,
    wire::{Answer, post},
    within,
};

#[derive(Deserialize)]
struct Transfer {
    from: String,
    amount: u32,
}

#[derive(Deserialize)]
struct Page {
    name: String,
}

/// A request of each kind is answered, by a handler that holds the lock which it says.
async fn play(addr: SocketAddr, locks: &Client) {
    let transfer = r#"{"from":"ada","amount":7}"#;
    let ask = async |path: &str, headers: &[(&str, &str)], body: &str| -> Answer {
        within(post(addr, path, headers, body)).await
    };
    for (key, path, headers, body, answer) in [
        ("order:7", "/orders/7/settle", &[][..], "", "order 7, held: true"),
        ("account:ada", "/transfers", &[JSON][..], transfer, "7 from ada"),
        ("tenant:acme:home", "/pages?name=home", &[("x-tenant", "acme")][..], "", "home of acme"),
    ] {
        let said = ask(path, headers, body).await;
        assert_eq!((said.status, said.body.as_str()), (200, answer), "{path}");
        // That the handler takes this lock, and no other: with it taken, it waits, and else it does not.
        let guard = locks.lock(key).acquire().await.expect("it is free");
        let waiting = ask(path, headers, body);
        let mut waiting = std::pin::pin!(waiting);
        let elsewhere = ask("/orders/8/settle", &[], "");
        tokio::select! {
            said = &mut waiting => panic!("{path} was answered without its lock: {said:?}"),
            other = elsewhere => assert_eq!(other.status, 200),
        }
        assert!(guard.release().await.expect("in memory").was_held());
        assert_eq!(waiting.await.body, answer);
    }
    restocked(addr, locks).await;
}

/// Requests that come together are each counted once, and need no lock.
async fn restocked(addr: SocketAddr, locks: &Client) {
    let stock = locks.versioned::<u64>("stock:tea");
    let text = [("content-type", "text/plain")];
    let one = async || within(post(addr, "/stock/tea", &text, "2")).await;
    let (first, second, third) = tokio::join!(one(), one(), one());
    let mut said = [first.body, second.body, third.body];
    said.sort();
    assert_eq!(said, ["2", "4", "6"]);
    assert_eq!(within(post(addr, "/stock/tea", &text, "1")).await.body, "7");
    assert_eq!(stock.read().await.expect("in memory").expect("it is there").value, 7);
}

#[test]
fn what_the_page_shows_is_what_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).expect(path);
    let page = read("../docs/handlers.md");
    let run = read("tests/http/handlers/on_axum.rs") + &read("tests/http/handlers/on_actix.rs");
    let blocks: Vec<_> = page.split("```rust\n").skip(1).collect();
    assert!(blocks.len() >= 3, "{} blocks", blocks.len());
    for block in blocks {
        let (block, _) = block.split_once("```").expect("its end");
        assert!(run.contains(block), "not in tests/tests/http/handlers/:\n{block}");
    }
}
