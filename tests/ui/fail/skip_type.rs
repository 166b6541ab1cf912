//! What a skipped call can answer with.

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", on_busy = skip)]
async fn number() -> Result<u64, Error> {
    Ok(1)
}

#[distributed_lock(key = "a", on_busy = skip)]
fn plain_number() -> u64 {
    1
}

#[distributed_lock(key = "a", on_busy = skip, or_else = |_| 0)]
async fn with_or_else() -> u64 {
    1
}

#[distributed_lock(key = "a", on_busy = skip)]
async fn foreign_error() -> Result<Option<u64>, std::num::ParseIntError> {
    Ok(None)
}

fn main() {}
