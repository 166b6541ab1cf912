//! Locks and idempotent requests for tower services, and the rules that axum and actix share.
//!
//! [`LockLayer`] lets one request at a time through, by a key that it finds in the request.
//! [`IdempotencyLayer`] runs a request with an `Idempotency-Key` once, and gives everybody who repeats it
//! the first answer. What is refused is answered as [`Problem`], or as the application likes ([`Answers`]).
//!
//! ```
//! use std::{convert::Infallible, time::Duration};
//!
//! use bytes::Bytes;
//! use http::{Request, Response, request::Parts};
//! use http_body_util::Full;
//! use tairlock::Client;
//! use tairlock_tower::LockLayer;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main] async fn main() {
//! let client = Client::in_memory(); // or Client::connect("redis://…").await?
//! let by_order = LockLayer::new(client.clone(), |request: &Parts| {
//!     let order = request.uri.path().strip_prefix("/orders/")?;
//!     Some(format!("order:{order}")) // None: this request takes no lock
//! });
//! let service = ServiceBuilder::new()
//!     .layer(by_order.options(|lock| lock.ttl(Duration::from_secs(5)).wait(Duration::ZERO)))
//!     .service(service_fn(async |_: Request<Full<Bytes>>| {
//!         Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("settled"))))
//!     }));
//!
//! let request = || Request::post("/orders/7").body(Full::default()).unwrap();
//! assert_eq!(service.clone().oneshot(request()).await.unwrap().status(), 200);
//!
//! let guard = client.lock("order:7").acquire().await.unwrap(); // somebody else, on any machine
//! let refused = service.oneshot(request()).await.unwrap();
//! assert_eq!(refused.status(), 423);
//! assert_eq!(refused.headers()["retry-after"], "1");
//! # drop(guard);
//! # }
//! ```
#![forbid(unsafe_code)]

mod answer;
mod body;
mod held;
pub mod idempotency;
mod key;
mod lock;
mod problem;
mod refusal;

pub use self::{
    answer::{Answers, Refused},
    body::AnswerBody,
    held::Held,
    idempotency::{Idempotency, IdempotencyLayer, IdempotencyService, Unfinished},
    key::{Asked, BadKey, LockKey},
    lock::{LockLayer, LockService, Until},
    problem::Problem,
    refusal::Refusal,
};
