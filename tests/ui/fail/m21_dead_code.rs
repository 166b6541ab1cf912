//! M21: a function that nobody calls is found under the attribute too.

#![deny(dead_code)]

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a")]
async fn never_called() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a")]
fn never_called_either() -> Result<(), Error> {
    Ok(())
}

fn main() {}
