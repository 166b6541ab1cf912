//! A body that does not parse: rustc's own message, and nothing about the attribute.

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "order:{id}")]
async fn half_typed(id: u64) -> Result<u64, Error> {
    let next = id.
    Ok(next)
}

fn main() {
    let _ = half_typed(1);
}
