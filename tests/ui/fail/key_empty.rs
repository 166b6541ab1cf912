use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "")]
async fn text() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = b"")]
async fn bytes() -> Result<(), Error> {
    Ok(())
}

fn main() {}
