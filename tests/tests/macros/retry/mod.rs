//! `#[optimistic_retry]` expanded and run, on the embedded server.

mod arguments;
mod asynchronous;
mod blocking;
mod hygiene;
mod locked;
mod neighbours;
mod repeated;
mod shapes;

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{blocking_client, client};

/// Puts `number` under `key`; inside of a body: somebody else was faster.
async fn put(key: &str, number: u64) {
    client().versioned::<u64>(key).overwrite(&number).await.expect("the embedded server answers");
}

/// The number under `key`.
async fn number(key: &str) -> u64 {
    let there = client().versioned::<u64>(key).read().await;
    there.expect("the embedded server answers").expect("a number").value
}

/// As [`put`], in blocking code.
fn put_blocking(key: &str, number: u64) {
    blocking_client()
        .versioned::<u64>(key)
        .overwrite(&number)
        .expect("the embedded server answers");
}

/// As [`number`], in blocking code.
fn number_blocking(key: &str) -> u64 {
    let there = blocking_client().versioned::<u64>(key).read();
    there.expect("the embedded server answers").expect("a number").value
}

/// Changes the number under `key` behind the back of an odd run.
async fn disturb(key: &str, runs: &AtomicU32) {
    if runs.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
        put(key, number(key).await + 10).await;
    }
}
