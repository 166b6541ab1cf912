//! Without a default client the body does not run, and the error says what to call.

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a")]
async fn run() -> Result<(), Error> {
    unreachable!()
}

#[distributed_lock(key = "a")]
fn run_blocking() -> Result<(), Error> {
    unreachable!()
}

#[distributed_lock(key = "a:{n}")]
async fn with_default(n: u8) -> Result<u8, Error> {
    Ok(n)
}

#[tokio::main]
async fn main() {
    let error = run().await.unwrap_err();
    assert!(matches!(error, Error::NoDefaultClient));
    assert!(error.to_string().contains("set_default"));
    assert!(matches!(run_blocking(), Err(Error::NoDefaultClient)));
    tairlock::set_default(tairlock::Client::in_memory()).unwrap();
    assert_eq!(with_default(1).await.unwrap(), 1);
}
