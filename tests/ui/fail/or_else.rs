use tairlock::distributed_lock;

#[distributed_lock(key = "a", or_else = None)]
async fn value() -> Option<u8> {
    Some(1)
}

#[distributed_lock(key = "a", or_else = 5)]
async fn literal() -> u8 {
    1
}

#[distributed_lock(key = "a", or_else = |_error| "none")]
async fn wrong_type() -> u8 {
    1
}

fn main() {}
