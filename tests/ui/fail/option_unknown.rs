use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", tll = 5)]
async fn misspelt() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", timeout = 5)]
async fn synonym() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", colour = "red")]
async fn foreign() -> Result<(), Error> {
    Ok(())
}

fn main() {}
