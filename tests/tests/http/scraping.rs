//! What Prometheus gets from the two shops: all that is documented, and nothing else of tairlock.

use tairlock_tests::documented;
use tokio::task::JoinSet;

use crate::{
    server,
    services::{BOTH, Kind},
    shops::{Books, JSON, ONE_MUG, checkout},
    wire::{get, post},
    within,
};

/// A payment takes longer than a third of the checkout's TTL of 5 s: the lock is renewed meanwhile.
const PAYMENT_MS: u32 = 2_500;

async fn shows_all_that_is_documented(kind: Kind) {
    let server = server();
    let books = Books::of(&server).await;
    books.fill(10).await;
    let shop = kind.open(Some(&server), PAYMENT_MS);
    let addr = shop.addr;
    let mut asked = JoinSet::new();
    for order in [1, 2] {
        asked.spawn(async move { post(addr, &checkout(order), &[JSON], ONE_MUG).await.status });
        books.is_under_way(&order.to_string()).await;
    }
    // Somebody takes the lock of one away, which the next renewal finds out.
    let deleted: u32 = redis::cmd("DEL").arg("order:1").query(&mut server.cli()).expect("DEL");
    assert_eq!(deleted, 1);
    let mut answers = asked.join_all().await;
    answers.sort_unstable();
    assert_eq!(answers, [201, 503], "{kind:?}: the lost one is told so");

    let scrape = get(addr, "/metrics").await.body;
    for row in documented::metrics() {
        let kind_of = format!("# TYPE {} {}\n", row.name, row.kind);
        assert!(scrape.contains(&kind_of), "{kind:?}: no {kind_of}{scrape}");
        assert!(scrape.contains(&format!("# HELP {} ", row.name)), "{kind:?}: {}", row.name);
    }
    documented::check_scrape(&scrape);
    for line in [
        r#"tairlock_losses_total{name="checkout",reason="vanished"} 1"#,
        r#"tairlock_acquires_total{name="checkout",outcome="granted",fault="none"} 2"#,
        r#"tairlock_held{name="checkout"} 0"#,
        "shop_checkouts_total 1",
    ] {
        assert!(scrape.lines().any(|seen| seen == line), "{kind:?}: no {line}\n{scrape}");
    }
    assert!(!scrape.contains("order:"), "{kind:?}: a key in a metric");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_shows_all_that_is_documented() {
    assert_eq!(documented::metrics().len(), 12, "a row that is not read");
    let [axum, actix] = BOTH.map(|kind| tokio::spawn(within(shows_all_that_is_documented(kind))));
    axum.await.expect("axum's");
    actix.await.expect("actix's");
}
