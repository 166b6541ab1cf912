//! Values of the wrong type are told of where they stand.

use tairlock::{Error, optimistic_retry};

#[optimistic_retry(key = "a", max_attempts = "many".len())]
async fn attempts(#[value] _n: &mut u64) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a", expire = "many".len())]
async fn expire(#[value] _n: &mut u64) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a", default = "none")]
async fn default(#[value] _n: &mut u64) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a", codec = text)]
async fn codec(#[value] _n: &mut u64) -> Result<(), Error> {
    Ok(())
}

struct NotWritten(u64);

#[optimistic_retry(key = "a")]
async fn not_json(#[value] n: &mut NotWritten) -> Result<(), Error> {
    n.0 += 1;
    Ok(())
}

#[optimistic_retry(key = "a", using = client)]
async fn client(#[value] _n: &mut u64, client: &str) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a", or_else = |_error| "x")]
async fn or_else(#[value] _n: &mut u64) -> Option<u64> {
    None
}

fn callers_do_not_pass_the_value() {
    _ = not_json(&mut NotWritten(5));
}

fn main() {
}
