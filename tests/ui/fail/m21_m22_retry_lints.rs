//! M21, M22: the attribute hides no lint of the user's code, and adds none.

#![deny(dead_code, unused_variables, unused_mut, unused_must_use, unreachable_code)]

use tairlock::{Error, optimistic_retry};

#[optimistic_retry(key = "a:{in_key}", default = in_default, within = core::time::Duration::from_secs(in_within))]
async fn called(
    in_key: u8,
    in_default: u64,
    in_within: u64,
    unused: u8,
    _: u8,
    _fine: u8,
    #[value] not_looked_at: &mut u64,
) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a")]
async fn not_changed(#[value] n: &mut u8, mut x: u8, (mut y, _): (u8, u8)) -> Result<u8, Error> {
    "text".to_owned().is_empty();
    Ok(x + y + *n)
}

#[optimistic_retry]
fn blocking(mut unused: u8) -> Result<u8, Error> {
    Err::<u8, &str>("not looked at");
    return Ok(1);
    Ok(2)
}

#[optimistic_retry(key = "a")]
async fn never_called(#[value] n: &mut u8) -> Result<(), Error> {
    *n += 1;
    Ok(())
}

#[optimistic_retry]
fn never_called_either() -> Result<(), Error> {
    Ok(())
}

fn main() {
    let _ = (called(1, 1, 1, 1, 1, 1), not_changed(1, (1, 1)), blocking(1));
}
