use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "order:{}")]
async fn empty(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "order:{0}")]
async fn positional(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "order:{id + 1}")]
async fn computed(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "order:{id:?}:{id:08}")]
async fn formats(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "order:{id")]
async fn not_closed(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "order:}")]
async fn not_opened(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "order:{not an expression}")]
async fn prose(id: u64) -> Result<(), Error> {
    Ok(())
}

fn main() {}
