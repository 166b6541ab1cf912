//! M22: the attribute hides no lint of the user's code, and adds none.

#![deny(unused_variables, unused_mut, unused_must_use, unreachable_code)]

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a:{in_key}", ttl = core::time::Duration::from_secs(in_ttl))]
async fn called(in_key: u8, in_ttl: u64, unused: u8, _: u8, _fine: u8) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a")]
async fn not_changed(mut x: u8, (mut y, _): (u8, u8)) -> Result<u8, Error> {
    "text".to_owned().is_empty();
    Ok(x + y)
}

#[distributed_lock(key = "a")]
fn blocking(mut unused: u8) -> Result<u8, Error> {
    Err::<u8, &str>("not looked at");
    return Ok(1);
    Ok(2)
}

fn main() {
    let _ = (called(1, 1, 1, 1, 1), not_changed(1, (1, 1)), blocking(1));
}
