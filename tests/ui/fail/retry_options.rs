//! Options that do not exist, and values out of range.

use tairlock::{Error, optimistic_retry};

#[optimistic_retry(key = "a", max_atempts = 5)]
async fn misspelt(#[value] n: &mut u64) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a", ttl = 5, retries = 3)]
async fn synonyms(#[value] n: &mut u64) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry("a", colour = "red")]
async fn foreign(#[value] n: &mut u64) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a", max_attempts = 0, within = 0, expire = "0s", codec = "json", default)]
async fn out_of_range(#[value] n: &mut u64) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(max_attempts = -1, within = "1 parsec")]
fn negative() -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a", expire = "101000 years", max_attempts = "3", key = "b", name = "a:{n}")]
fn others(#[value] n: &mut u64) -> Result<(), Error> {
    Ok(())
}

fn main() {
    let _ = (misspelt(), synonyms(), negative());
}
