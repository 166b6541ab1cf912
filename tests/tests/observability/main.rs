//! What a production service sees of its locks: spans and events by a subscriber of the tests' own, metrics as
//! Prometheus scrapes them. Every test has a lock name of its own, so that all can share one process.

mod answers;
mod bodies;
mod documented;
mod losses;
mod scrape;
mod told;
mod updates;

use std::time::{Duration, Instant};

use tairlock_tests::{
    Server,
    place::Place,
    world::{Ask, Config, Held, Locks, World},
};

/// Far more than anything here takes.
const BOUND: Duration = Duration::from_secs(20);

/// What a test's lock is called, which is its key too.
fn name(world: &dyn World, test: &str) -> &'static str {
    format!("{}-{test}", world.name()).leak()
}

fn ask(name: &'static str) -> Ask {
    Ask::new(name).named(name)
}

/// A client of the server at `url`, once somebody listens.
fn client_at(world: &dyn World, url: String) -> Box<dyn Locks> {
    told::listen();
    let config = Config { url: Some(url), label: Some("till-7"), ..Config::default() };
    world.client(&Place::memory(), &config).expect("a client")
}

/// A client of `place`, once somebody listens.
fn client(world: &dyn World, place: &Place) -> Box<dyn Locks> {
    told::listen();
    let config = Config { label: Some("till-7"), ..Config::default() };
    world.client(place, &config).expect("a client")
}

fn server() -> Server {
    Server::redis7().start().expect("a server")
}

#[track_caller]
fn take(client: &dyn Locks, ask: &Ask) -> Box<dyn Held> {
    client.acquire(ask).unwrap_or_else(|error| panic!("a free lock: {error}"))
}

/// Waits until it is so: what the keeper does is a moment later.
#[track_caller]
fn soon(what: &str, so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < BOUND, "never: {what}\n{}", scrape::text());
        std::thread::yield_now();
    }
}
