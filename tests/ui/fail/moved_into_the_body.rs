//! `or_else` is made before the body takes the arguments: what it needs of them it gets as a copy.

use tairlock::distributed_lock;

#[distributed_lock(key = "a:{name}", or_else = |_error| name.clone())]
async fn moved(name: String) -> String {
    name
}

fn main() {}
