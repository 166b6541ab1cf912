//! The buyers of one process: each buys one item at a time until there is none.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use tokio::task::JoinSet;

use crate::{
    progress::Live,
    stop::Stop,
    warehouse::Warehouse,
    ways::{Sale, Way},
};

/// What a buyer finds in front of him.
pub(crate) struct Shop {
    pub(crate) warehouse: Warehouse,
    /// What is on sale.
    pub(crate) sku: String,
    holders: AtomicU64,
}

impl Shop {
    pub(crate) fn new(warehouse: Warehouse, sku: String) -> Self {
        Self { warehouse, sku, holders: AtomicU64::new(0) }
    }

    /// Says that a buyer of this process holds the lock, until the answer is dropped.
    pub(crate) fn holds_lock(&self) -> Holder<'_> {
        self.holders.fetch_add(1, Ordering::Relaxed);
        Holder(&self.holders)
    }
}

/// A buyer who holds the lock.
pub(crate) struct Holder<'a>(&'a AtomicU64);

impl Drop for Holder<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How the buyers came away.
pub(crate) enum Bought {
    /// There is nothing left; each order took so many microseconds.
    All(Vec<u32>),
    /// They were stopped, and one of so many held a lock.
    Stopped { held: u64 },
}

/// Lets `count` buyers in at once.
pub(crate) async fn rush(
    way: &'static dyn Way,
    shop: &Arc<Shop>,
    count: u32,
    live: &Arc<Live>,
    stop: &Stop,
) -> anyhow::Result<Bought> {
    let mut buyers = JoinSet::new();
    for _ in 0..count {
        buyers.spawn(buy(way, Arc::clone(shop), Arc::clone(live)));
    }
    let mut micros = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = stop.asked() => {
                let held = shop.holders.load(Ordering::Relaxed);
                // Their sales are dropped where they stand, and with them the guards.
                buyers.shutdown().await;
                return Ok(Bought::Stopped { held });
            }
            buyer = buyers.join_next() => match buyer {
                Some(buyer) => micros.extend(buyer??),
                None => return Ok(Bought::All(micros)),
            },
        }
    }
}

async fn buy(way: &dyn Way, shop: Arc<Shop>, live: Arc<Live>) -> anyhow::Result<Vec<u32>> {
    let mut micros = Vec::new();
    loop {
        let began = Instant::now();
        match way.sell(&shop).await? {
            Sale::SoldOut => return Ok(micros),
            Sale::Confirmed { left } => {
                micros.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
                live.confirmed(1, left);
            }
        }
    }
}
