//! Two different inputs must never make the same key: a value has to end somewhere.

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "{tenant}{order}")]
async fn adjacent(tenant: &str, order: &str) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "order:{tenant}-{order}")]
async fn dashed(tenant: &str, order: &str) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "order:{tenant}:{order}-{part:raw}")]
async fn fine(tenant: &str, order: &str, part: u8) -> Result<(), Error> {
    Ok(())
}

fn main() {}
