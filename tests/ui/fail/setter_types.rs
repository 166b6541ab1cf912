//! What is no literal is checked by rustc, at the expression.

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", ttl = seconds)]
async fn ttl(seconds: u64) -> Result<u64, Error> {
    Ok(seconds)
}

#[distributed_lock(key = "a", wait = f64::NAN)]
async fn wait() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", renew = "no")]
async fn renew() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", using = url)]
async fn using(url: &str) -> Result<&str, Error> {
    Ok(url)
}

fn main() {}
