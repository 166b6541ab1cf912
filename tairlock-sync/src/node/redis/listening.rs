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
    connector::{Connector, Manner, Seat},
};

impl Listen for Connector {
    fn listen(self: Arc<Self>, hear: Hear) -> Result<SharedLine, Fault> {
        Ok(Arc::new(Asking::open(&self, hear)?))
    }
}

/// The connection that asks. It is never opened again: news of what was asked on it would be missed.
pub(super) struct Asking {
    seat: Mutex<Seat>,
    _ear: Ear,
}

impl Asking {
    pub(super) fn open(connector: &Connector, hear: Hear) -> Result<Self, Fault> {
        let client = connector.client()?;
        let ear = Ear::open(&client, connector.within(), hear)?;
        let id = ear.wait_id()?;
        let mut seat = Seat::default();
        connector.open_at(&mut seat, &client)?;
        let replies = connector.say(&mut seat, &dialect::track(Some(id)), connector.within())?;
        dialect::tracks(replies.first())?;
        Ok(Self { seat: Mutex::new(seat), _ear: ear })
    }

    /// As [`Line::call`], in this manner.
    pub(super) fn ask(&self, op: &Op, manner: Manner, within: Duration) -> Result<Verdict, Fault> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner).ask(op, manner, within)
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asking")
    }
}

impl Line for Asking {
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.ask(op, Manner::default(), within)
    }

    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>> {
        Some(self.seat.try_lock().ok()?.ask(op, Manner::default(), within))
    }

    fn ready(&self) -> Result<(), Fault> {
        Err(Fault::new(FaultKind::Unreachable, "a listener is not opened again"))
    }
}
