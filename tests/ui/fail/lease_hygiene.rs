//! The body sees a lease only under the name that `lease` gives it.

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a")]
async fn not_asked_for() -> Result<bool, Error> {
    Ok(lease.is_held())
}

#[distributed_lock(key = "a")]
fn nothing_of_ours() -> Result<(), Error> {
    let _ = (lock, output);
    Ok(())
}

fn main() {}
