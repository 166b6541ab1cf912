use tairlock::{Error, distributed_lock};

#[distributed_lock(key = 5)]
async fn number() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = id)]
async fn no_bytes(id: u64) -> Result<u64, Error> {
    Ok(id)
}

fn main() {}
