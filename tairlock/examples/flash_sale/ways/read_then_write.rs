//! Reads the stock, takes the money, writes the stock: whatever others wrote in between is lost.

use super::{PAYMENT, Sale, Selling, Way};
use crate::buyers::Shop;

pub(super) struct ReadThenWrite;

impl Way for ReadThenWrite {
    fn name(&self) -> &'static str {
        "read-then-write"
    }

    fn is_safe(&self) -> bool {
        false
    }

    fn sell<'a>(&'a self, shop: &'a Shop) -> Selling<'a> {
        Box::pin(sell(shop))
    }
}

pub(super) async fn sell(shop: &Shop) -> anyhow::Result<Sale> {
    let stock = shop.warehouse.read().await?;
    let Some(left) = stock.checked_sub(1) else { return Ok(Sale::SoldOut) };
    tokio::time::sleep(PAYMENT).await;
    shop.warehouse.write(left).await?;
    Ok(Sale::Confirmed { left })
}
