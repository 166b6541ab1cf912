//! The attribute: one caller at a time runs the function, wherever it is called.
#![allow(clippy::print_stdout, reason = "a program that talks to a person")]

use std::time::Duration;

use tairlock::{Client, distributed_lock};

#[distributed_lock(key = "order:{order_id}", ttl = 5)]
async fn settle(order_id: u64, clerk: &str) -> Result<(), tairlock::Error> {
    println!("{clerk} begins with order {order_id}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    println!("{clerk} is done with order {order_id}");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), tairlock::Error> {
    tairlock::set_default(Client::in_memory())?; // or Client::connect("redis://127.0.0.1/").await?

    // Ann and Bob come for the same order: one waits for the other. Cleo's is another.
    tokio::try_join!(settle(42, "Ann"), settle(42, "Bob"), settle(7, "Cleo"))?;
    Ok(())
}
