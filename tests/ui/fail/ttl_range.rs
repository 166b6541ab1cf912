use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", ttl = 0)]
async fn zero() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = 0.009)]
async fn nine_milliseconds() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = "250us")]
async fn microseconds() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = "25d")]
async fn too_long() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", ttl = -1)]
async fn negative() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", wait = "-1s")]
async fn negative_wait() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", wait = 99999999999999999999)]
async fn endless_wait() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", max_hold = "9ms")]
async fn no_time_to_hold() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", min_hold = "25d")]
async fn held_for_too_long() -> Result<(), Error> {
    Ok(())
}

fn main() {}
