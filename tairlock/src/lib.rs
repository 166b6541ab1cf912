//! Distributed locks and optimistic updates for Tair, Redis and Valkey, as attributes and guards.
//!
//! ```
//! use tairlock::{Client, distributed_lock};
//!
//! #[distributed_lock(key = "order:{order_id}", ttl = 5)]
//! async fn settle(order_id: u64) -> Result<u64, tairlock::Error> {
//!     Ok(order_id) // one at a time, on every machine
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     tairlock::set_default(Client::in_memory())?; // or Client::connect("redis://…").await?
//!     assert_eq!(settle(42).await?, 42);
//!     Ok(())
//! }
//! ```
//!
//! Guards, for what an attribute cannot wrap:
//!
//! ```
//! # use std::time::Duration;
//! # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
//! let client = tairlock::Client::in_memory();
//! let lock = client.lock("order:42").ttl(Duration::from_secs(5)).wait(Duration::from_secs(2));
//!
//! let guard = lock.acquire().await?;
//! assert!(lock.try_acquire().await?.is_none()); // busy is not an error
//! guard.release().await?; // says what happened; drop releases too
//! # Ok(()) }
//! ```
//!
//! Values that many change, each on what it saw, and no change lost:
//!
//! ```
//! # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
//! # let client = tairlock::Client::in_memory();
//! let stock = client.versioned::<u32>("stock:sku-1").default(10); // JSON; .text() .bytes() .integer()
//! let left = stock.update(|left| {
//!     *left -= 3; // again on a fresh copy, if somebody was faster
//!     Ok::<_, tairlock::Error>(*left)
//! });
//! assert_eq!(left.await?, 7);
//! # Ok(()) }
//! ```
//!
//! The lock is a *lease*: it ends by itself when its holder dies, so it can end before a holder that
//! was paused knows. A guard is renewed while it lives, measures its own end from before the command
//! that began it, and says at once when it is over; what must not happen twice even then needs a fence
//! (`Lock::fence`) that the store checks.
//!
//! # Features
//!
//! Runtimes: `tokio` (default), `smol`, `async-std`. Servers: `redis` (default), `cluster`, `sentinel`;
//! `rustls` and `native-tls` for `rediss://`, which bring `tokio` along. `macros`, `serde`, `tracing`
//! (default: a span for every wait and every hold, events for what is lost or slow), `metrics` (through
//! the crate of that name); both are listed in `docs/observability.md`. Without default features this
//! crate is the protocol core alone, which does no I/O; `tairlock-sync` is built on it.
//!
//! # Runtimes
//!
//! With several compiled in, each call uses the one that it is made in: tokio inside a tokio runtime,
//! else smol's reactor, which serves any executor. One client serves all of them. Renewals, and the
//! releases of dropped guards, run on a thread of this crate's own, with a connection of its own: no
//! runtime of the program can end or block them.
//!
//! `smol` alone compiles no tokio runtime; redis-rs uses the crate `tokio` for its traits and channels.
//! `async-std` is `smol` by another name: async-std is discontinued and redis-rs has dropped it, but its
//! executor drives the same reactor as smol's I/O does.
//!
//! ```
//! # #[cfg(feature = "smol")]
//! # fn main() -> Result<(), tairlock::Error> {
//! smol::block_on(async {
//!     let client = tairlock::Client::in_memory();
//!     let guard = client.lock("order:42").acquire().await?;
//!     guard.release().await.map(drop)
//! })
//! # }
//! # #[cfg(not(feature = "smol"))] fn main() {}
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod answers;
pub mod bell;
mod confirm;
mod conflict;
pub mod dialect;
pub mod doctor;
mod error;
mod fault;
pub mod fence;
mod holder;
mod key;
mod lease;
pub mod memory;
pub mod options;
mod outcome;
pub mod proto;
mod release;
mod report;
mod scope;
mod several;
pub mod slot;
mod template;
pub mod time;
mod token;
mod ttl;
pub mod value;

#[cfg(feature = "redis")]
#[doc(hidden)]
pub mod redis;
#[doc(hidden)]
pub mod tls;

pub use confirm::Confirm;
pub use conflict::IsConflict;
pub use error::{ConfigError, Error, Operation};
pub use fault::{Fault, FaultKind};
pub use holder::Holder;
pub use key::Key;
pub use lease::{Lease, LeaseState, LossReason};
pub use options::Wake;
pub use release::Release;
pub use several::Leases;
pub use token::{Label, Token};
pub use ttl::Ttl;
pub use value::{Codec, Coded, Expiry, Snapshot, Written};

#[cfg(feature = "macros")]
pub use tairlock_macros::distributed_lock;

#[cfg(any(feature = "tokio", feature = "smol"))]
mod builder;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod client;
#[cfg(all(feature = "cluster", any(feature = "tokio", feature = "smol")))]
mod cluster;
#[cfg(all(feature = "redis", any(feature = "tokio", feature = "smol")))]
mod connect;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod default;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod drive;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod examine;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod fenced;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod guard;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod inspect;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod keep;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod listen;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod lock;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod lock_all;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod node;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod runtime;
#[cfg(all(feature = "sentinel", any(feature = "tokio", feature = "smol")))]
mod sentinel;
#[cfg(any(feature = "tokio", feature = "smol"))]
mod versioned;

#[cfg(any(feature = "tokio", feature = "smol"))]
pub use self::{
    builder::ClientBuilder,
    client::Client,
    default::{default_client, set_default},
    fenced::Fenced,
    guard::LockGuard,
    lock::Lock,
    lock_all::{LockAll, LockGuards},
    versioned::Versioned,
};

#[doc(hidden)]
pub mod core_private {
    //! What `tairlock-sync` shares with this crate and users do not see.
    pub use crate::{
        answers::{Answers, or_else, outcome, skip, skip_or_else},
        release::{lent, loss},
        report::{Asking, declined, describe},
        scope::{Held, Scope, enter, seek},
        several::Several,
        template::Template,
    };
}

#[cfg(any(feature = "tokio", feature = "smol"))]
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
