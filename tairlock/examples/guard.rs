//! A guard: the lock is held while it lives.
#![allow(clippy::print_stdout, reason = "a program that talks to a person")]

use std::time::Duration;

use tairlock::Client;

#[tokio::main]
async fn main() -> Result<(), tairlock::Error> {
    let client = Client::in_memory(); // or Client::connect("redis://127.0.0.1/").await?
    let lock = client.lock("invoice:7").ttl(Duration::from_secs(5)).wait(Duration::from_secs(2));

    let guard = lock.acquire().await?;
    println!("held: {}, surely for another {:?}", guard.key(), guard.remaining());
    println!("somebody else: {:?}", lock.try_acquire().await?); // busy is not an error
    println!("given back: {:?}", guard.release().await?); // dropping it does that too

    let guard = lock.acquire().await?;
    drop(guard);
    client.close().await; // waits for what was dropped: a program must not end before that
    Ok(())
}
