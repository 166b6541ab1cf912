//! Several real servers as one deployment: replicas, sentinels, a cluster, and five that know nothing
//! of each other.

mod cable;
mod cluster;
mod five;
mod patience;
mod replicated;
mod sentinels;

use std::{io, thread};

pub use self::{
    cable::Cable, cluster::Cluster, five::Five, replicated::Replicated, sentinels::Sentinels,
};
use crate::server::{self, Builder, Server};

/// A deployment that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One of its servers did not start.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The system gave no port for what stands between them.
    #[error("a link between servers: {0}")]
    Io(#[from] io::Error),
    /// A server refused what the others need of it.
    #[error("setting up: {0}")]
    Refused(#[from] redis::RedisError),
    /// It was not what it should be in time.
    #[error("not within {bound:?}: {what}; last seen: {seen}")]
    NotReady {
        /// What was waited for.
        what: String,
        /// For how long.
        bound: std::time::Duration,
        /// What it was instead.
        seen: String,
    },
}

/// Starts all at once, as each takes its time.
fn start_all(builders: Vec<Builder>) -> Result<Vec<Server>, server::Error> {
    thread::scope(|scope| {
        let starting: Vec<_> =
            builders.into_iter().map(|builder| scope.spawn(|| builder.start())).collect();
        let started = starting.into_iter().map(|one| one.join().expect("starting never panics"));
        started.collect()
    })
}
