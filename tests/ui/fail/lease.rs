use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", lease = id)]
async fn taken(id: u64) -> Result<u64, Error> {
    Ok(id)
}

#[distributed_lock(key = "a", lease = "lease")]
async fn text() -> Result<(), Error> {
    Ok(())
}

#[deny(unused_variables)]
#[distributed_lock(key = "a", lease = unused)]
async fn unused() -> Result<(), Error> {
    Ok(())
}

fn main() {}
