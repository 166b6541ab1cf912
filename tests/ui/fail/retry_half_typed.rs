//! A body that does not parse: rustc's own message, and nothing about the attribute.

use tairlock::{Error, optimistic_retry};

#[optimistic_retry(key = "stock:{id}")]
async fn half_typed(#[value] stock: &mut u64, id: u64) -> Result<u64, Error> {
    let next = stock.
    Ok(next)
}

fn main() {
    let _ = half_typed(1);
}
