//! Nobody waits: who was too late takes the money again, on the stock as it is now.

use std::time::Duration;

use tairlock::{Client, Expiry, Versioned, optimistic_retry};

use super::{PAYMENT, Sale, Selling, Way};
use crate::buyers::Shop;

/// How long a stock that nobody clears away stays on a server.
const EXPIRY: Duration = Duration::from_secs(3_600);

pub(super) struct Retried;

impl Way for Retried {
    fn name(&self) -> &'static str {
        "optimistic_retry"
    }

    fn is_safe(&self) -> bool {
        true
    }

    fn is_versioned(&self) -> bool {
        true
    }

    fn sell<'a>(&'a self, shop: &'a Shop) -> Selling<'a> {
        Box::pin(sell(&shop.sku))
    }
}

#[optimistic_retry(key = "versioned:{sku}", expire = EXPIRY, max_attempts = 10_000, within = 60)]
async fn sell(#[value] stock: &mut u64, sku: &str) -> anyhow::Result<Sale> {
    let Some(left) = stock.checked_sub(1) else { return Ok(Sale::SoldOut) };
    tokio::time::sleep(PAYMENT).await;
    *stock = left;
    Ok(Sale::Confirmed { left })
}

/// The stock that is sold from in this way.
pub(crate) fn stock(client: &Client, sku: &str) -> Versioned<u64> {
    client.versioned(format!("versioned:{sku}")).expire(Expiry::After(EXPIRY))
}
