//! M26.

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a")]
const fn constant() -> Result<u8, Error> {
    Ok(1)
}

const _: Result<u8, Error> = constant();

fn main() {}
