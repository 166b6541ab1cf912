use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", crate = somewhere::tairlock)]
async fn nowhere() -> Result<(), Error> {
    Ok(())
}

fn main() {}
