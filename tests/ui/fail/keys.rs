use tairlock::{Error, distributed_lock};

#[distributed_lock(keys = [])]
async fn none() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(keys = "a")]
async fn one() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(keys = ["{a}{b}", ""])]
async fn templates(a: u8, b: u8) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", keys = ["b", "c"])]
async fn both() -> Result<(), Error> {
    Ok(())
}

fn main() {}
