use tairlock::{Error, distributed_lock};

#[distributed_lock(keys = ids)]
async fn numbers(ids: Vec<u64>) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(keys = [id])]
async fn number(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", when = amount)]
async fn condition(amount: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", reentrant = 1)]
async fn reentrant() -> Result<(), Error> {
    Ok(())
}

fn main() {}
