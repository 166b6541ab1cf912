use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", confirm = 1)]
async fn a_number() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", confirm = true)]
async fn a_flag() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", replicas = 1)]
async fn another_word() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", confirm = replicas)]
async fn another_type(replicas: u32) -> Result<u32, Error> {
    Ok(replicas)
}

fn main() {}
