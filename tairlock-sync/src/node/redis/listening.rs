//! The listener's connections: one that asks, and one that is told.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tairlock::{
    Fault, FaultKind, dialect,
    proto::{Hear, Op, Verdict},
    redis::Ear,
};

use super::{
    super::{Line, Listen, SharedLine},
    connector::{Connector, Seat},
};

impl Listen for Connector {
    fn listen(&self, hear: Hear) -> Result<SharedLine, Fault> {
        let ear = Ear::open(self.client(), self.within(), hear)?;
        let id = ear.wait_id()?;
        let mut seat = Seat::default();
        let replies = self.say(&mut seat, &dialect::track(Some(id)))?;
        dialect::tracks(replies.first())?;
        Ok(Arc::new(Asking { seat: Mutex::new(seat), _ear: ear }))
    }
}

/// The connection that asks. It is never opened again: news of what was asked on it would be missed.
struct Asking {
    seat: Mutex<Seat>,
    _ear: Ear,
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asking")
    }
}

impl Line for Asking {
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner).call(op, within)
    }

    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>> {
        Some(self.seat.try_lock().ok()?.call(op, within))
    }

    fn ready(&self) -> Result<(), Fault> {
        Err(Fault::new(FaultKind::Unreachable, "a listener is not opened again"))
    }
}
