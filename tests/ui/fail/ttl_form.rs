use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", ttl = "5")]
async fn no_unit() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = "5 sec")]
async fn unknown_unit() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = 5s)]
async fn no_quotes() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = 5sec)]
async fn no_quotes_and_unknown() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = "NaN")]
async fn no_number() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", wait = true)]
async fn no_time() -> Result<(), Error> {
    Ok(())
}

fn main() {}
