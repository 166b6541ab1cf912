//! The attribute and a guard under async-std: in memory, or on the server whose URL is the first argument.
#![allow(clippy::print_stdout, reason = "a program that talks to a person")]

use std::time::Duration;

use async_std::task;
use tairlock::{Client, Error, distributed_lock};

#[distributed_lock(key = "order:{order_id}", ttl = 5)]
async fn settle(order_id: u64, clerk: &str) -> Result<(), Error> {
    println!("{clerk} begins with order {order_id}");
    task::sleep(Duration::from_millis(100)).await;
    println!("{clerk} is done with order {order_id}");
    Ok(())
}

#[async_std::main]
async fn main() -> Result<(), Error> {
    let client = match std::env::args().nth(1) {
        Some(url) => Client::connect(url).await?,
        None => Client::in_memory(),
    };
    tairlock::set_default(client.clone())?;

    // Ann and Bob come for the same order: one waits for the other.
    let bob = task::spawn(settle(42, "Bob"));
    settle(42, "Ann").await?;
    bob.await?;

    let guard = client.lock("invoice:7").ttl(Duration::from_secs(5)).acquire().await?;
    println!("held: {}, surely for another {:?}", guard.key(), guard.remaining());
    drop(guard); // in the background
    client.close().await; // waits for what was dropped: a program must not end before that
    Ok(())
}
