//! M1, M2: a lock around a function that returns a future would be gone before the work begins.

use std::{future::Future, pin::Pin};

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a")]
fn hidden() -> impl Future<Output = Result<(), Error>> + Send {
    std::future::ready(Ok(()))
}

#[distributed_lock(key = "a")]
fn boxed(x: u8) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send>> {
    if x == 0 {
        return Box::pin(std::future::ready(Ok(())));
    }
    Box::pin(std::future::pending())
}

#[distributed_lock(key = "a")]
fn later() -> Pin<Box<dyn Future<Output = Result<(), Error>>>> {
    Box::pin(async move { Ok(()) })
}

fn main() {
    let _ = (hidden(), boxed(1), later());
}
