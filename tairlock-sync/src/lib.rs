//! Distributed locks for blocking code, over an r2d2 pool: `tairlock` without async.
//!
//! ```
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), tairlock_sync::Error> {
//! let client = tairlock_sync::Client::in_memory(); // or Client::connect("redis://…")?
//! let lock = client.lock("order:42").ttl(Duration::from_secs(5)).wait(Duration::from_secs(2));
//!
//! let guard = lock.acquire()?;
//! assert!(lock.try_acquire()?.is_none()); // busy is not an error
//! guard.release()?; // says what happened; drop releases too
//! # Ok(()) }
//! ```
//!
//! Values that many change, each on what it saw, and no change lost:
//!
//! ```
//! # fn main() -> Result<(), tairlock_sync::Error> {
//! # let client = tairlock_sync::Client::in_memory();
//! let stock = client.versioned::<u32>("stock:sku-1").default(10); // JSON; .text() .bytes() .integer()
//! let left = stock.update(|left| {
//!     *left -= 3; // again on a fresh copy, if somebody was faster
//!     Ok::<_, tairlock_sync::Error>(*left)
//! })?;
//! assert_eq!(left, 7);
//! # Ok(()) }
//! ```
//!
//! The lock is a *lease*: it ends by itself when its holder dies, so it can end before a holder that
//! was paused knows. A guard is renewed while it lives, measures its own end from before the command
//! that began it, and says when it is over ([`LockGuard::is_held`], [`LockGuard::wait_lost`]); what
//! must not happen twice even then needs a fence (`Lock::fence`) that the store checks.
//!
//! # Threads and connections
//!
//! A client talks to its server over an r2d2 pool, its own or the caller's, and a guard holds no
//! connection. From the first grant on it runs one thread, the *keeper*, which renews all leases of the
//! client in batches over a connection of its own. The thread sleeps while there is nothing to do, and
//! ends when the client and its guards are gone and their releases have been seen through.
//!
//! # Features
//!
//! `redis` (default) for servers, `cluster` and `sentinel` for several of them, `serde` (default) for
//! values as JSON, `rustls` and `native-tls` for `rediss://`; `macros` (default) for the attribute,
//! `tracing` (default) for spans and events, `metrics` for counters and histograms through the crate of
//! that name: both are listed in `docs/observability.md`. With `rustls`, *ring* does the cryptography
//! unless the program has installed another `rustls::crypto::CryptoProvider` before it connects.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod apart;
#[cfg_attr(not(feature = "redis"), expect(dead_code, reason = "a server needs to be told more"))]
mod builder;
mod client;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "redis")]
mod connect;
mod default;
mod drive;
mod examine;
mod fenced;
mod guard;
mod inspect;
mod keep;
mod listen;
mod lock;
mod lock_all;
mod node;
#[cfg(feature = "sentinel")]
mod sentinel;
mod versioned;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[cfg(test)]
mod tests;

#[doc(inline)]
pub use tairlock::{
    Codec, Coded, ConfigError, Confirm, Error, Expiry, Fault, FaultKind, Holder, IsConflict, Key,
    Label, Lease, LeaseState, Leases, LossReason, Operation, Release, Snapshot, Token, Ttl, Wake,
    Written, memory,
};
#[cfg(feature = "macros")]
pub use tairlock_macros::distributed_lock;

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
