//! What a user notices on real servers, beyond the laws: what is sent, and what faults look like.

mod cancelling;
mod confirming;
mod connecting;
mod detection;
mod faults;
mod fences;
mod keeping;
mod looping;
mod lost_replies;
mod meanwhile;
#[cfg(feature = "tokio")]
mod stopped;
mod versioned;
mod waiting;
mod waking;
mod wire;

use std::time::Duration;

use tairlock::Error;
use tairlock_tests::{
    for_each_world as for_each_driver,
    place::Place,
    world::{Ask, Config, Held, Locks, World},
};

/// Far more than anything here takes.
const BOUND: Duration = Duration::from_secs(10);

/// A client of the server at `url`.
fn client_at(world: &dyn World, url: impl Into<String>) -> Box<dyn Locks> {
    try_client_at(world, url).unwrap_or_else(|error| panic!("connecting: {error}"))
}

fn try_client_at(world: &dyn World, url: impl Into<String>) -> Result<Box<dyn Locks>, Error> {
    let config = Config { url: Some(url.into()), ..Config::default() };
    world.client(&Place::memory(), &config)
}

/// Takes a lock that is free.
#[track_caller]
fn take(client: &dyn Locks, ask: &Ask) -> Box<dyn Held> {
    client.acquire(ask).unwrap_or_else(|error| panic!("a free lock: {error}"))
}

/// The error of a lock that cannot be had, which is not that it is busy.
#[track_caller]
fn refusal(client: &dyn Locks, ask: &Ask) -> Error {
    match client.try_acquire(ask) {
        Err(error) => {
            assert!(!error.is_busy(), "a fault is never busy: {error}");
            error
        }
        Ok(Some(_)) => panic!("granted"),
        Ok(None) => panic!("a fault was reported as busy"),
    }
}
