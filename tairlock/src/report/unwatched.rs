//! How long something takes, where nobody wants to know.

use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stopwatch;

impl Stopwatch {
    pub(super) const fn start() -> Self {
        Self
    }

    pub(super) const fn elapsed(self) -> Duration {
        Duration::ZERO
    }
}
