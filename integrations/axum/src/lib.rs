//! Locks and idempotent requests in axum.
//!
//! `#[distributed_lock]` works on handlers as on any other function. [`Locked`] is the same as an
//! extractor: the key is the business of a type, the client comes from the state. [`LockLayer`] and
//! [`IdempotencyLayer`] are layers for routers and routes.
//!
//! ```
//! use axum::{Json, Router, extract::{FromRef, Path}, routing::post};
//! use tairlock::{Client, distributed_lock};
//! use tairlock_axum::{Asked, BadKey, Idempotency, IdempotencyLayer, LockKey, Locked, Refused};
//!
//! #[derive(Clone, FromRef)]
//! struct Shop {
//!     locks: Client,
//! }
//!
//! // The attribute: the key is made of what the extractors gave.
//! #[distributed_lock(key = "order:{id}", using = state.locks, ttl = 5)]
//! async fn settle(
//!     axum::extract::State(state): axum::extract::State<Shop>,
//!     Path(id): Path<u64>,
//! ) -> Result<String, Refused> {
//!     Ok(format!("order {id} is settled"))
//! }
//!
//! // The extractor: the key is made of the request.
//! struct Order(u64);
//!
//! impl LockKey for Order {
//!     fn find(request: &dyn Asked) -> Result<Self, BadKey> {
//!         let id = request.param("id").and_then(|id| id.parse().ok());
//!         id.map(Self).ok_or(BadKey("an order's id is a number"))
//!     }
//!     fn key(&self) -> String {
//!         format!("order:{}", self.0)
//!     }
//! }
//!
//! async fn cancel(order: Locked<Order>) -> String {
//!     format!("order {} is cancelled", order.0) // the lock is held until here
//! }
//!
//! # #[tokio::main] async fn main() {
//! let locks = Client::in_memory(); // or Client::connect("redis://…").await?
//! let once = IdempotencyLayer::new(Idempotency::new(locks.clone()));
//! let app: Router = Router::new()
//!     .route("/orders/{id}/settle", post(settle).layer(once))
//!     .route("/orders/{id}/cancel", post(cancel))
//!     .with_state(Shop { locks: locks.clone() });
//! # use tower::ServiceExt;
//! # let post = |uri: &str| axum::http::Request::post(uri).body(axum::body::Body::empty()).unwrap();
//! # assert_eq!(app.clone().oneshot(post("/orders/7/settle")).await.unwrap().status(), 200);
//! # assert_eq!(app.clone().oneshot(post("/orders/7/cancel")).await.unwrap().status(), 200);
//! # assert_eq!(app.clone().oneshot(post("/orders/x/cancel")).await.unwrap().status(), 400);
//! # }
//! ```
//!
//! # When a lock is given back
//!
//! Under the attribute, and by [`Held::run`] and [`Held::release`], before the response is sent. A
//! [`Locked`] that is dropped is given back in the background: when the handler has returned, has
//! panicked, or was dropped, which axum does as soon as the client leaves. Moved into a streaming body,
//! it is held until that has ended.
//!
//! # What is answered
//!
//! A refusal is answered as [`Problem`]. To answer in another way, put [`Answers`] in an
//! [`Extension`](axum::Extension) layer for [`Locked`], give them to the layers, and let a handler's error
//! be your own type with `From<tairlock::Error>`. The [`Refusal`] is among the response's extensions, for
//! what logs.
#![forbid(unsafe_code)]

mod idempotent;
mod locked;
mod refused;
mod request;

pub use tairlock_tower::{
    AnswerBody, Answers, Asked, BadKey, Held, Idempotency, IdempotencyService, LockKey, LockLayer,
    LockService, Problem, Refusal, Unfinished, Until, idempotency,
};

pub use self::{idempotent::IdempotencyLayer, locked::Locked, refused::Refused};
