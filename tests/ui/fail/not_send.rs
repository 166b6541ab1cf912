//! A body that is not `Send` is told of in the body.

use std::rc::Rc;

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a")]
async fn not_send() -> Result<u8, Error> {
    let x = Rc::new(1);
    std::future::ready(()).await;
    Ok(*x)
}

fn send(_: impl Send) {}

fn main() {
    send(not_send());
}
