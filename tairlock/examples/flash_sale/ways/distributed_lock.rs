//! The same code, one buyer at a time: in this process and in all others.

use tairlock::distributed_lock;

use super::{Sale, Selling, Way, read_then_write};
use crate::buyers::Shop;

pub(super) struct Locked;

impl Way for Locked {
    fn name(&self) -> &'static str {
        "distributed_lock"
    }

    fn is_safe(&self) -> bool {
        true
    }

    fn sell<'a>(&'a self, shop: &'a Shop) -> Selling<'a> {
        Box::pin(sell(shop, &shop.sku))
    }
}

#[distributed_lock(key = "sale:{sku}", ttl = 5, wait = 60)]
async fn sell(shop: &Shop, sku: &str) -> anyhow::Result<Sale> {
    let _held = shop.holds_lock(); // for what Ctrl-C has to say
    read_then_write::sell(shop).await
}
