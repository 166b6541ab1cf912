use tairlock::distributed_lock;

#[distributed_lock(key = "a")]
struct Service;

#[distributed_lock(key = "a")]
impl Service {
    async fn run(&self) {}
}

#[distributed_lock(key = "a")]
mod inner {}

#[distributed_lock(key = "a")]
const ONE: u8 = 1;

fn main() {
    let _ = (Service.run(), ONE);
}
