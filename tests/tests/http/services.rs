//! One service twice: the same routes on axum and on actix.

mod on_actix;
mod on_axum;

use std::{net::SocketAddr, sync::Arc};

use crate::stage::Stage;

/// A framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Axum,
    Actix,
}

pub(crate) const BOTH: [Kind; 2] = [Kind::Axum, Kind::Actix];

impl Kind {
    /// Where a lock is taken in each of the ways that there are, and is free before the answer is sent.
    pub(crate) const fn ways(self) -> &'static [&'static str] {
        match self {
            Self::Axum => &["/attribute/1", "/run/1", "/layered/1"],
            Self::Actix => &["/attribute/1", "/run/1"],
        }
    }

    /// Serves `stage` until the answer is dropped.
    pub(crate) async fn serve(self, stage: &Arc<Stage>) -> Service {
        let stage = Arc::clone(stage);
        match self {
            Self::Axum => on_axum::serve(stage).await,
            Self::Actix => on_actix::serve(stage),
        }
    }
}

/// A service that runs in this process.
pub(crate) struct Service {
    pub(crate) addr: SocketAddr,
    stop: Option<Box<dyn FnOnce() + Send>>,
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop();
        }
    }
}

/// What an idempotent request asks for, and what it is answered.
mod thing {
    /// A body that is longer than what is kept.
    pub(crate) const LONG: usize = 3000;

    /// The pieces of a long answer.
    pub(crate) fn pieces() -> [&'static str; LONG / 10] {
        ["0123456789"; LONG / 10]
    }
}
