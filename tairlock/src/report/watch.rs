//! How long something takes, by the clock of the leases.

use std::time::Duration;

use crate::time::{self, Timestamp};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stopwatch(Timestamp);

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self(time::now())
    }

    pub(super) fn elapsed(self) -> Duration {
        time::now().since(self.0)
    }
}
