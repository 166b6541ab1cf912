//! A process that takes the lock `k` and says what it sees, so that tests can stop and kill it.
//!
//! `holder URL (async|blocking) (take|guard|attribute)`, with a TTL of a second.

mod asynchronous;
mod blocking;

use std::{
    fmt::Debug,
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

use tairlock::{Lease, LeaseState, time};

const TTL: Duration = Duration::from_secs(1);

/// What the process does once it is connected.
#[derive(Clone, Copy)]
enum Deed {
    /// Asks for the lock once.
    Take,
    /// Holds it by a guard through a pause, and releases it.
    Guard,
    /// Holds it by the attribute through a pause.
    Attribute,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, driver, deed] = &words[..] else { return ExitCode::from(2) };
    let deed = match &deed[..] {
        "take" => Deed::Take,
        "guard" => Deed::Guard,
        "attribute" => Deed::Attribute,
        _ => return ExitCode::from(2),
    };
    match &driver[..] {
        "async" => asynchronous::run(url, deed),
        "blocking" => blocking::run(url, deed),
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

/// Says a line to whoever started this.
#[expect(clippy::print_stdout, reason = "that is how it is heard")]
fn say(what: impl Debug) {
    println!("{what:?}");
    io::stdout().flush().expect("somebody listens");
}

/// Says that it holds the lock, and works without an await until the process was stopped for longer than the TTL; what was known of the
/// lease right after, before any I/O.
fn work_through_a_pause(lease: &Lease) -> LeaseState {
    let mut last = time::now();
    say("holds");
    loop {
        let state = lease.state();
        let now = time::now();
        if now.since(last) > TTL {
            return lease.state();
        }
        let held = matches!(state, LeaseState::Held | LeaseState::Uncertain);
        assert!(held, "{state:?} after {:?} without a pause", now.since(last));
        last = now;
    }
}
