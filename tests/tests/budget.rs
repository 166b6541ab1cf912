//! What an attribute may cost over the same thing written by hand: memory of its future, allocations.

use std::hint::black_box;

use tairlock::{Error, distributed_lock, optimistic_retry};
use tokio::runtime::{Builder, Runtime};

type Answer<T> = Result<T, Error>;

/// As much as an argument may be.
type Large = [u8; 1000];

/// What an async fn may add to its future and its arguments: room for what the lock needs.
const FUTURE: usize = 512;

async fn plain() -> Answer<u8> {
    tokio::task::yield_now().await;
    Ok(1)
}

#[distributed_lock(key = "budget")]
async fn locked() -> Answer<u8> {
    tokio::task::yield_now().await;
    Ok(1)
}

async fn plain_large(large: Large, id: u64) -> Answer<u64> {
    tokio::task::yield_now().await;
    Ok(u64::from(large[0]) + id)
}

#[distributed_lock(key = "budget:{id}")]
async fn locked_large(large: Large, id: u64) -> Answer<u64> {
    tokio::task::yield_now().await;
    Ok(u64::from(large[0]) + id)
}

#[distributed_lock(key = "budget:{id}", or_else = |error| panic!("{error}"), lease = lease)]
async fn with_options(large: Large, id: u64) -> u64 {
    tokio::task::yield_now().await;
    u64::from(large[0]) + id + u64::from(lease.is_held())
}

#[distributed_lock(key = "budget")]
#[distributed_lock(key = "budget:{id}")]
async fn locked_twice(large: Large, id: u64) -> Answer<u64> {
    tokio::task::yield_now().await;
    Ok(u64::from(large[0]) + id)
}

/// What a body that runs again may add to its future: room for the update, and for the copy of the value.
const UPDATE: usize = 800;

#[optimistic_retry(key = "budget", default = 0)]
async fn retried(#[value] n: &mut u64) -> Answer<u8> {
    *n += 1;
    tokio::task::yield_now().await;
    Ok(1)
}

#[optimistic_retry(key = "budget:{id}", default = 0)]
async fn retried_large(#[value] n: &mut u64, large: Large, id: u64) -> Answer<u64> {
    *n += 1;
    tokio::task::yield_now().await;
    Ok(u64::from(large[0]) + id)
}

#[optimistic_retry]
async fn repeated() -> Answer<u8> {
    tokio::task::yield_now().await;
    Ok(1)
}

#[test]
fn m30_a_body_that_runs_again_has_its_arguments_twice_more() {
    let (large, arguments) = ([1; 1000], size_of::<Large>() + size_of::<u64>());
    let plain_large = size_of_val(&plain_large(large, 1));
    for (what, size, budget) in [
        ("retried", size_of_val(&retried()), size_of_val(&plain()) + UPDATE),
        (
            "retried_large",
            size_of_val(&retried_large(large, 1)),
            // The attempt's own, and those on their way into it: nothing is shared that may not be.
            plain_large + 2 * arguments + UPDATE,
        ),
        ("repeated", size_of_val(&repeated()), size_of_val(&plain()) + FUTURE),
    ] {
        assert!(size <= budget, "{what}: {size} bytes, {budget} are the most");
    }
}

#[test]
fn m30_a_future_is_the_plain_one_its_arguments_and_a_little() {
    let (large, arguments) = ([1; 1000], size_of::<Large>() + size_of::<u64>());
    let plain_large = size_of_val(&plain_large(large, 1));
    for (what, size, budget) in [
        ("locked", size_of_val(&locked()), size_of_val(&plain()) + FUTURE),
        ("locked_large", size_of_val(&locked_large(large, 1)), plain_large + arguments + FUTURE),
        ("with_options", size_of_val(&with_options(large, 1)), plain_large + arguments + FUTURE),
        (
            "locked_twice",
            size_of_val(&locked_twice(large, 1)),
            plain_large + 2 * (arguments + FUTURE),
        ),
    ] {
        assert!(size <= budget, "{what}: {size} bytes, {budget} are the most");
    }
}

mod asynchronous {
    use super::*;

    #[distributed_lock(key = "order:{id}", using = client)]
    pub(super) async fn attribute(client: &tairlock::Client, id: u64) -> Answer<u64> {
        tokio::task::yield_now().await;
        Ok(id)
    }

    pub(super) async fn by_hand(client: &tairlock::Client, id: u64) -> Answer<u64> {
        let guard = client.lock(format!("order:{id}")).acquire().await?;
        tokio::task::yield_now().await;
        let _released = guard.release().await?;
        Ok(id)
    }

    #[optimistic_retry(key = "stock:{id}", default = 0, using = client)]
    pub(super) async fn retried(
        client: &tairlock::Client,
        #[value] n: &mut u64,
        id: u64,
    ) -> Answer<u64> {
        *n += id;
        Ok(*n)
    }

    pub(super) async fn updated(client: &tairlock::Client, id: u64) -> Answer<u64> {
        let value = client.versioned::<u64>(format!("stock:{id}")).default(0);
        let add = |n: &mut u64| {
            *n += id;
            Ok(*n)
        };
        value.update(add).await
    }
}

mod blocking {
    use super::*;

    #[distributed_lock(key = "order:{id}", using = client)]
    pub(super) fn attribute(client: &tairlock_sync::Client, id: u64) -> Answer<u64> {
        Ok(id)
    }

    pub(super) fn by_hand(client: &tairlock_sync::Client, id: u64) -> Answer<u64> {
        let guard = client.lock(format!("order:{id}")).acquire()?;
        let _released = guard.release()?;
        Ok(id)
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// What one call allocates on its own thread once everything is warm; the least of several, as now and
/// then something grows.
fn allocations(call: impl Fn()) -> u64 {
    call();
    let counts = (0..100).map(|_| allocation_counter::measure(&call).count_total);
    counts.min().unwrap_or_default()
}

#[test]
fn an_annotated_update_is_one_allocation_more_than_by_hand() {
    let client = tairlock::Client::in_memory();
    let runtime = runtime();
    let of = |future: &dyn Fn() -> Answer<u64>| {
        allocations(|| {
            black_box(future()).expect("nobody else is there");
        })
    };
    let attribute = of(&|| runtime.block_on(asynchronous::retried(&client, 7)));
    let by_hand = of(&|| runtime.block_on(asynchronous::updated(&client, 7)));
    assert!(by_hand > 0 && attribute <= by_hand + 1, "{attribute}, {by_hand} by hand");
}

#[test]
fn one_allocation_more_than_by_hand() {
    let client = tairlock::Client::in_memory();
    let runtime = runtime();
    let run = |future: &mut dyn FnMut() -> Answer<u64>| {
        black_box(future()).expect("the lock is free");
    };
    let attribute =
        allocations(|| run(&mut || runtime.block_on(asynchronous::attribute(&client, 7))));
    let by_hand = allocations(|| run(&mut || runtime.block_on(asynchronous::by_hand(&client, 7))));
    assert!(by_hand > 0 && attribute <= by_hand + 1, "{attribute}, {by_hand} by hand");

    let client = tairlock_sync::Client::in_memory();
    let attribute = allocations(|| run(&mut || blocking::attribute(&client, 7)));
    let by_hand = allocations(|| run(&mut || blocking::by_hand(&client, 7)));
    assert!(by_hand > 0 && attribute <= by_hand + 1, "{attribute}, {by_hand} by hand");
}
