//! The annotated handlers of axum on the page `docs/handlers.md`, word by word.

use std::time::Duration;

use axum::{
    Json, Router,
    extract::{FromRef, Path, Query, State},
    response::{IntoResponse, Response},
    routing::post,
};
use axum::{debug_handler, http::HeaderMap};
use tairlock::{Client, Lock, distributed_lock, optimistic_retry};
use tairlock_axum::{Asked, BadKey, LockKey, Locked, Problem, Refused};
use tokio::net::TcpListener;

use super::{Page, Transfer, play};
use crate::{wire, within};

#[derive(Clone, FromRef)]
struct Shop {
    locks: Client,
}

impl Shop {
    async fn pause(&self) {
        tokio::task::yield_now().await;
    }
}

fn tenant(headers: &HeaderMap) -> &str {
    headers.get("x-tenant").and_then(|tenant| tenant.to_str().ok()).unwrap_or("nobody")
}

/// Key from the path, client from the state, and the lease to look at.
#[distributed_lock(key = "order:{id}", using = shop.locks, ttl = 5, lease = lease)]
#[debug_handler(state = Shop)]
async fn settle(State(shop): State<Shop>, Path(id): Path<u64>) -> Result<String, Refused> {
    shop.pause().await;
    Ok(format!("order {id}, held: {}", lease.is_held()))
}

/// Key from the body, which is JSON.
#[distributed_lock(key = "account:{transfer.from}", using = locks)]
async fn transfer(
    State(locks): State<Client>,
    Json(transfer): Json<Transfer>,
) -> Result<String, Refused> {
    Ok(format!("{} from {}", transfer.amount, transfer.from))
}

/// Key from a header and the query: any expression.
#[distributed_lock(key = format!("tenant:{}:{}", tenant(&headers), page.name), using = locks)]
async fn publish(
    State(locks): State<Client>,
    headers: HeaderMap,
    Query(page): Query<Page>,
) -> Result<String, Refused> {
    Ok(format!("{} of {}", page.name, tenant(&headers)))
}

/// Whatever is not a client's fault is answered in the service's own words.
#[distributed_lock(key = "order:{id}", using = shop.locks, wait = 0)]
async fn cancel(State(shop): State<Shop>, Path(id): Path<u64>) -> Result<String, Trouble> {
    Ok(format!("order {id} is cancelled"))
}

struct Trouble(tairlock::Error);

impl From<tairlock::Error> for Trouble {
    fn from(error: tairlock::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let problem = Problem::of_error(&self.0); // or a status of your own
        (problem.status, format!("sorry: {}", problem.kind)).into_response()
    }
}

/// Nobody is kept waiting: the stock is filled in, and written if nobody else was faster.
#[optimistic_retry(key = "stock:{sku}", default = 0, using = shop.locks)]
#[debug_handler(state = Shop)]
async fn restock(
    State(shop): State<Shop>,
    Path(sku): Path<String>,
    #[value] stock: &mut u64,
    more: String,
) -> Result<String, Refused> {
    *stock += more.parse::<u64>().unwrap_or(0);
    Ok(stock.to_string())
}

/// What the request is about: the same type in both frameworks.
struct Order(u64);

impl LockKey for Order {
    fn find(request: &dyn Asked) -> Result<Self, BadKey> {
        let id = request.param("id").and_then(|id| id.parse().ok());
        id.map(Self).ok_or(BadKey("an order's id is a number"))
    }

    fn key(&self) -> String {
        format!("order:{}", self.0)
    }

    fn options(lock: Lock) -> Lock {
        lock.ttl(Duration::from_secs(5)).wait(Duration::from_secs(1))
    }
}

/// The lock is held while the argument lives.
async fn weigh(order: Locked<Order>) -> String {
    format!("order {}", order.0)
}

/// The work is dropped if the lease is lost, and the lock is free before the answer is sent.
async fn weigh_well(order: Locked<Order>) -> Result<String, Refused> {
    let id = order.0;
    order.into_held().run(async move { Ok(format!("order {id}")) }).await
}

/// Below the other attribute: nothing else changes.
#[debug_handler(state = Shop)]
#[distributed_lock(key = "order:{id}", using = shop.locks)]
async fn settle_below(State(shop): State<Shop>, Path(id): Path<u64>) -> Result<String, Refused> {
    shop.pause().await;
    Ok(format!("order {id}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn axum_takes_annotated_handlers() {
    let locks = Client::in_memory();
    let app = Router::new()
        .route("/orders/{id}/settle", post(settle))
        .route("/orders/{id}/settle-below", post(settle_below))
        .route("/orders/{id}/cancel", post(cancel))
        .route("/orders/{id}/weigh", post(weigh))
        .route("/orders/{id}/weigh-well", post(weigh_well))
        .route("/transfers", post(transfer))
        .route("/pages", post(publish))
        .route("/stock/{sku}", post(restock))
        .with_state(Shop { locks: locks.clone() });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let addr = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await });

    play(addr, &locks).await;
    for path in ["/orders/7/settle-below", "/orders/7/weigh", "/orders/7/weigh-well"] {
        assert_eq!(within(wire::post(addr, path, &[], "")).await.body, "order 7");
    }
    assert_eq!(within(wire::post(addr, "/orders/7/cancel", &[], "")).await.status, 200);
    let _guard = locks.lock("order:7").acquire().await.expect("it is free");
    let refused = within(wire::post(addr, "/orders/7/cancel", &[], "")).await;
    assert_eq!((refused.status, refused.body.as_str()), (423, "sorry: busy"));
}
