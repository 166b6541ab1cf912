//! All mistakes of an attribute are told together, and there are no others: the function is there.

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "{a}{b}", ttl = 0, wiat = 1, renew, lease = a, crate = "tairlock")]
async fn several(a: u8, b: u8) -> Result<u8, Error> {
    Ok(a + b)
}

#[distributed_lock(ttl = "1y")]
#[distributed_lock(key = "")]
const fn stacked() -> u8 {
    5
}

const FIVE: u8 = stacked();

fn main() {
    let _ = several(1, FIVE);
}
