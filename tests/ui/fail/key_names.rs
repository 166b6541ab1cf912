//! What a key names must exist and be `Display`; rustc says so at the literal.

use tairlock::{Error, distributed_lock};

struct Order {
    id: u64,
}

#[distributed_lock(key = "order:{order_id}")]
async fn unknown(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[distributed_lock(key = "order:{order.number}")]
async fn unknown_field(order: Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[distributed_lock(key = "order:{order}")]
async fn no_display(order: Order) -> Result<u64, Error> {
    Ok(order.id)
}

fn main() {}
