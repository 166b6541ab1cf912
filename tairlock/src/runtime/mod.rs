//! The runtimes: how to sleep in the caller's, and where the keeper runs.

#[cfg(all(feature = "redis", feature = "smol"))]
mod dial;
#[cfg(feature = "smol")]
mod smol;
#[cfg(feature = "tokio")]
mod tokio;

use std::{future::Future, pin::Pin, time::Duration};

use crate::{
    Fault, FaultKind,
    time::{self, Timestamp},
};

/// A future on the heap.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The runtime that a future is being polled in.
///
/// redis-rs chooses the same one for a connection: tokio inside of a tokio runtime, else smol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Runtime {
    /// tokio, and which of the process's tokio runtimes.
    #[cfg(feature = "tokio")]
    Tokio(::tokio::runtime::Id),
    /// Anything else: smol's reactor serves every executor.
    #[cfg(feature = "smol")]
    Smol,
}

impl Runtime {
    /// The one that the caller runs in; `None` outside of all that were compiled in.
    pub(crate) fn current() -> Option<Self> {
        #[cfg(feature = "tokio")]
        if let Some(id) = tokio::current() {
            return Some(Self::Tokio(id));
        }
        #[cfg(feature = "smol")]
        return Some(Self::Smol);
        #[cfg(not(feature = "smol"))]
        None
    }

    /// As [`Runtime::current`], with the fault that says what to do.
    pub(crate) fn here() -> Result<Self, Fault> {
        let help = "there is no runtime here; call from inside a tokio runtime, or turn on tairlock's \
                    feature `smol` or `async-std`";
        Self::current().ok_or_else(|| Fault::new(FaultKind::Config, help))
    }

    /// Sleeps until `at`; for ever if that is [`Timestamp::NEVER`].
    pub(crate) fn sleep_until(self, at: Timestamp) -> BoxFuture<'static, ()> {
        if at == Timestamp::NEVER {
            return Box::pin(std::future::pending());
        }
        self.sleep(at.since(time::now()))
    }

    fn sleep(self, duration: Duration) -> BoxFuture<'static, ()> {
        match self {
            #[cfg(feature = "tokio")]
            Self::Tokio(_) => tokio::sleep(duration),
            #[cfg(feature = "smol")]
            Self::Smol => smol::sleep(duration),
        }
    }

    /// Gives `future` that long; `None` if it is not ready by then.
    pub(crate) async fn limit<F: Future>(self, duration: Duration, future: F) -> Option<F::Output> {
        let future = std::pin::pin!(future);
        match futures_util::future::select(future, self.sleep(duration)).await {
            futures_util::future::Either::Left((output, _)) => Some(output),
            futures_util::future::Either::Right(_) => None,
        }
    }
}

#[cfg(feature = "redis")]
impl Runtime {
    /// Opens a connection for callers: its task is one among those of the program.
    pub(crate) async fn dial(
        self,
        client: &redis::Client,
        config: &redis::AsyncConnectionConfig,
    ) -> redis::RedisResult<redis::aio::MultiplexedConnection> {
        client.get_multiplexed_async_connection_with_config(config).await
    }

    /// Opens a connection from within a keeper: no task of the program can block its task.
    pub(crate) async fn dial_for_keeper(
        self,
        client: &redis::Client,
        config: &redis::AsyncConnectionConfig,
    ) -> redis::RedisResult<redis::aio::MultiplexedConnection> {
        match self {
            #[cfg(feature = "tokio")]
            Self::Tokio(_) => self.dial(client, config).await,
            #[cfg(feature = "smol")]
            Self::Smol => dial::dial(client, config).await,
        }
    }
}

/// Runs `task` on the thread that all keepers of this process share. It outlives every runtime of the
/// program, and no task of the program can block it.
pub(crate) fn spawn_keeper(task: BoxFuture<'static, ()>) {
    #[cfg(feature = "tokio")]
    return tokio::spawn_keeper(task);
    #[cfg(not(feature = "tokio"))]
    smol::spawn_keeper(task)
}
