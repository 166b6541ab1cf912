//! Where the stock is kept: one number in this process or on a server, to be read and to be written.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use redis::{AsyncCommands as _, aio::MultiplexedConnection};

/// How long the way to the warehouse in this process and back takes: as if there were a network.
const ROUND_TRIP: Duration = Duration::from_micros(50);

/// How long a stock that nobody clears away stays on a server, in seconds.
const EXPIRY: u64 = 3_600;

/// Keeps the stock of one article.
#[derive(Clone)]
pub(crate) enum Warehouse {
    /// In this process.
    Here(Arc<Shelf>),
    /// On a server, under a key.
    Server { connection: MultiplexedConnection, key: String },
}

/// A stock in this process, and how often it was read and written.
#[derive(Default)]
pub(crate) struct Shelf {
    stock: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
}

impl Warehouse {
    /// The stock of `sku` on the server at the other end of `connection`.
    pub(crate) fn on_server(connection: MultiplexedConnection, sku: &str) -> Self {
        Self::Server { connection, key: format!("stock:{sku}") }
    }

    /// How many items there are.
    pub(crate) async fn read(&self) -> anyhow::Result<u64> {
        match self {
            Self::Here(shelf) => {
                round_trip().await;
                shelf.reads.fetch_add(1, Ordering::Relaxed);
                Ok(shelf.stock.load(Ordering::Relaxed))
            }
            Self::Server { connection, key } => Ok(connection.clone().get(key).await?),
        }
    }

    /// From now on there are `stock` items.
    pub(crate) async fn write(&self, stock: u64) -> anyhow::Result<()> {
        match self {
            Self::Here(shelf) => {
                round_trip().await;
                shelf.writes.fetch_add(1, Ordering::Relaxed);
                shelf.stock.store(stock, Ordering::Relaxed);
                Ok(())
            }
            Self::Server { connection, key } => {
                Ok(connection.clone().set_ex(key, stock, EXPIRY).await?)
            }
        }
    }

    /// Leaves nothing behind.
    pub(crate) async fn clear(&self) -> anyhow::Result<()> {
        match self {
            Self::Here(_) => self.write(0).await,
            Self::Server { connection, key } => Ok(connection.clone().del(key).await?),
        }
    }
}

/// tokio's timers are no finer than a millisecond: this lets others run until it is time.
async fn round_trip() {
    let began = Instant::now();
    while began.elapsed() < ROUND_TRIP {
        tokio::task::yield_now().await;
    }
}
