//! A function under a lock must be able to say that it was not had.

use std::error::Error as StdError;

use tairlock::distributed_lock;

#[distributed_lock(key = "a")]
async fn nothing() {}

#[distributed_lock(key = "a")]
async fn number() -> u64 {
    1
}

#[distributed_lock(key = "a")]
async fn foreign_error() -> Result<u64, std::num::ParseIntError> {
    "1".parse()
}

#[distributed_lock(key = "a")]
async fn boxed() -> Result<u64, Box<dyn StdError + Send + Sync>> {
    Ok(1)
}

#[distributed_lock(key = "a")]
fn blocking() -> Option<u64> {
    Some(1)
}

fn main() {}
