use tairlock::{Error, distributed_lock};

#[distributed_lock]
async fn nothing() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(ttl = 5)]
async fn only_others() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a")]
#[distributed_lock()]
async fn second() -> Result<(), Error> {
    Ok(())
}

fn main() {
    let _ = (nothing(), only_others(), second());
}
