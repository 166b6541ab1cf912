//! Waiting for what servers announce to nobody: they are asked until it is so.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::Error;

/// How long a deployment may take to come to terms with itself.
pub(super) const BOUND: Duration = Duration::from_secs(30);

/// Asks until the answer is `Ok`; an `Err` says what was seen instead.
pub(super) fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> Result<T, Error> {
    let end = Instant::now() + BOUND;
    loop {
        match ask() {
            Ok(answer) => return Ok(answer),
            Err(seen) if Instant::now() >= end => {
                return Err(Error::NotReady { what: what.into(), bound: BOUND, seen });
            }
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// The value of `field` in an answer of `name:value` lines.
pub(super) fn field<'a>(text: &'a str, field: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_default().trim()
}
