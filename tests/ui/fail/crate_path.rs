use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", crate = "tairlock")]
async fn text() -> Result<(), Error> {
    Ok(())
}

fn main() {}
