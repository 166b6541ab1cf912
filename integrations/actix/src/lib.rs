//! Locks and idempotent requests in actix-web.
//!
//! `#[distributed_lock]` works on handlers as on any other function, below the route's attribute or above
//! it. [`Locked`] is the same as an extractor: the key is the business of a type, the client comes from
//! the application's data. [`Idempotent`] is a middleware for applications, scopes and resources.
//!
//! ```
//! use actix_web::{App, HttpServer, post, web};
//! use tairlock::{Client, distributed_lock};
//! use tairlock_actix::{Asked, BadKey, Idempotency, Idempotent, LockKey, Locked, Refused};
//!
//! // The attribute: the key is made of what the extractors gave.
//! #[post("/orders/{id}/settle")]
//! #[distributed_lock(key = "order:{id}", using = locks, ttl = 5)]
//! async fn settle(locks: web::Data<Client>, id: web::Path<u64>) -> Result<String, Refused> {
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
//! #[post("/orders/{id}/cancel")]
//! async fn cancel(order: Locked<Order>) -> String {
//!     format!("order {} is cancelled", order.0) // the lock is held until here
//! }
//!
//! # #[actix_web::main] async fn main() {
//! let locks = Client::in_memory(); // or Client::connect("redis://…").await?, once, for all workers
//! let once = Idempotency::new(locks.clone());
//! let app = move || {
//!     App::new()
//!         .app_data(web::Data::new(locks.clone()))
//!         .wrap(Idempotent::new(once.clone()))
//!         .service(settle)
//!         .service(cancel)
//! };
//! # use actix_web::test;
//! # let service = test::init_service(app()).await;
//! # let post = |uri: &str| test::TestRequest::post().uri(uri).to_request();
//! # assert_eq!(test::call_service(&service, post("/orders/7/settle")).await.status(), 200);
//! # assert_eq!(test::call_service(&service, post("/orders/7/cancel")).await.status(), 200);
//! # assert_eq!(test::call_service(&service, post("/orders/x/cancel")).await.status(), 400);
//! # drop(|| {
//! HttpServer::new(app)
//! # });
//! # }
//! ```
//!
//! # When a lock is given back
//!
//! Under the attribute, and by [`Held::run`] and [`Held::release`], before the response is sent. A
//! [`Locked`] that is dropped is given back in the background: when the handler has returned, has
//! panicked, or was dropped. Moved into a streaming body, it is held until that has ended.
//!
//! **actix does not drop a handler when its client closes the connection**: the handler runs on, with its
//! lock held and renewed, until it is done. Only if the connection is *reset* is the handler dropped at
//! once, and the lock free. (Measured with actix-web 4.18, HTTP/1.) For work of uncertain length, put a
//! time limit around it.
//!
//! # What is answered
//!
//! A refusal is answered as [`Problem`]. To answer in another way, give [`Answers`] to the application as
//! `app_data` for [`Locked`] and to [`Idempotency`] for the middleware, and let a handler's error be your
//! own type with `From<tairlock::Error>`.
#![forbid(unsafe_code)]

mod idempotent;
mod locked;
mod refused;
mod request;

pub use tairlock_tower::{
    Answers, Asked, BadKey, Held, Idempotency, LockKey, Problem, Refusal, Unfinished, idempotency,
};

pub use self::{
    idempotent::{Idempotent, IdempotentService},
    locked::Locked,
    refused::Refused,
};
