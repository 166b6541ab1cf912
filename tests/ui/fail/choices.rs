use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a", on_busy = wait)]
async fn on_busy() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", on_lost = "finish")]
async fn on_lost() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", on_lost = cancel)]
fn blocking() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", name = "order:{id}")]
async fn name_template(id: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", name = id)]
async fn name_expression(id: &str) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock(key = "a", skip)]
async fn synonym() -> Result<(), Error> {
    Ok(())
}

fn main() {}
