//! The two example shops as processes, and the books that they keep on the server that they share.

use std::net::SocketAddr;

use serde_json::Value;
use tairlock::Client;
use tairlock_tests::{Server, program::Program};

use crate::{services::Kind, within};

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// A shop that runs in a process of its own.
pub(crate) struct Shop {
    pub(crate) addr: SocketAddr,
    pub(crate) process: Program,
}

impl Kind {
    /// Opens a shop, which is alone without a server.
    pub(crate) fn open(self, server: Option<&Server>, payment_ms: u32) -> Shop {
        let program = match self {
            Self::Axum => env!("CARGO_BIN_EXE_shop-on-axum"),
            Self::Actix => env!("CARGO_BIN_EXE_shop-on-actix"),
        };
        let (url, payment) = (server.map(Server::url), payment_ms.to_string());
        let mut arguments = vec!["--listen", "127.0.0.1:0", "--payment-ms", &payment];
        arguments.extend(["--report-every", "1"]);
        if let Some(url) = &url {
            arguments.extend(["--url", url]);
        }
        let process = Program::start(program, &arguments).expect("a shop");
        let line = process.line();
        let addr = line.strip_prefix("listening on http://").and_then(|addr| addr.parse().ok());
        Shop { addr: addr.unwrap_or_else(|| panic!("{line}")), process }
    }
}

/// What the server says of the shops.
pub(crate) struct Books(Client);

impl Books {
    pub(crate) async fn of(server: &Server) -> Self {
        Self(Client::connect(server.url()).await.expect("a client"))
    }

    pub(crate) async fn fill(&self, left: u32) {
        let stock = self.0.versioned::<Value>("stock:mug");
        let filled = stock.create(&serde_json::json!({ "left": left })).await;
        assert!(filled.expect("the server answers") > 0);
    }

    /// How many are left; which orders have how many; and that all of them are paid.
    pub(crate) async fn account(&self) -> (u64, Vec<(u64, u64)>) {
        let stock = self.0.versioned::<Value>("stock:mug").read().await;
        let stock = stock.expect("the server answers").expect("a stock").value;
        let sold = stock["sold"].as_object().into_iter().flatten();
        let sold = sold.map(|(order, sale)| {
            assert_eq!(sale["paid"], true, "order {order}");
            (order.parse().expect("a number"), sale["quantity"].as_u64().expect("a number"))
        });
        let mut sold: Vec<_> = sold.collect();
        sold.sort_unstable();
        (stock["left"].as_u64().expect("a number"), sold)
    }

    /// Waits until a handler has set goods aside for the order: from then on it is paid.
    pub(crate) async fn is_under_way(&self, order: &str) {
        let stock = self.0.versioned::<Value>("stock:mug");
        within(async {
            loop {
                let seen = stock.read().await.expect("the server answers");
                if seen.is_some_and(|seen| !seen.value["sold"][order].is_null()) {
                    return;
                }
            }
        })
        .await;
    }

    pub(crate) async fn payments(&self) -> i64 {
        let payments = self.0.versioned::<i64>("payments").integer().read().await;
        payments.expect("the server answers").map_or(0, |payments| payments.value)
    }
}

pub(crate) fn checkout(order: u64) -> String {
    format!("/orders/{order}/checkout")
}

pub(crate) const ONE_MUG: &str = r#"{"sku":"mug","quantity":1}"#;
