//! The web integrations, over real connections: what a client of a service notices.

mod crowd;
mod handlers;
mod holding;
mod idempotency;
mod leaving;
mod refusals;
mod replaying;
mod scraping;
mod selling;
mod services;
mod shops;
mod stage;
mod walkthrough;
mod wire;

use std::{future::Future, time::Duration};

use tairlock_tests::{Server, server::Error};

/// Far more than anything here takes.
const BOUND: Duration = Duration::from_secs(60);

/// What comes of `work`, which must not take for ever.
async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, work).await.expect("it takes for ever")
}

/// A server for tests that need one between processes.
fn server() -> Server {
    let started: Result<Server, Error> = Server::redis7().start();
    started.unwrap_or_else(|error| panic!("{error}"))
}
