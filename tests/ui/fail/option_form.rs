use tairlock::{Error, distributed_lock};

#[distributed_lock("order:{id}")]
async fn bare(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", renew)]
async fn no_value() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = )]
async fn half_typed() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl(5))]
async fn list() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a" ttl = 5)]
async fn no_comma() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = 5, wait = 1, ttl = 6)]
async fn twice() -> Result<(), Error> {
    Ok(())
}

fn main() {}
