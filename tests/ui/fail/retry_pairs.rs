//! A key needs a value, a value a key, and most options need both.

use tairlock::{Error, optimistic_retry};

#[optimistic_retry(key = "stock:{sku}")]
async fn no_value(sku: &str, stock: &mut u64) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry]
async fn no_key(sku: &str, #[value] stock: &mut u64) -> Result<(), Error> {
    *stock -= 1;
    Ok(())
}

#[optimistic_retry(expire = "1h", default = 5, codec = integer, name = "n", using = client, max_attempts = 3)]
async fn neither(client: &tairlock::Client) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a", default = 1)]
async fn never_used(#[value] stock: &mut Option<u64>) -> Result<(), Error> {
    *stock = None;
    Ok(())
}

#[optimistic_retry(key = "stock:{stock}:{order.stock}")]
async fn about_itself(#[value] stock: &mut u64, order: &Order) -> Result<(), Error> {
    *stock -= order.stock;
    Ok(())
}

struct Order {
    stock: u64,
}

#[optimistic_retry]
#[optimistic_retry(key = "a")]
async fn twice(#[value] stock: &mut u64) -> Result<(), Error> {
    *stock -= 1;
    Ok(())
}

fn main() {
    let _ = (no_key("a"), never_used(), twice());
}
