//! What came of taking a lock, and what its caller is told.

use std::time::Duration;

use crate::{
    Error, Fault, Operation, Token, fault::FaultKind, options::Request, proto::Grant,
    report::Holding, time::Timestamp,
};

/// What came of it.
#[derive(Debug)]
pub enum Acquired {
    /// The lock is ours.
    Granted {
        /// What stands on the server.
        token: Token,
        /// When the command that won was sent: what the lease is measured from.
        sent: Timestamp,
        /// Until when it is surely ours.
        until: Timestamp,
        /// The fence, if one was asked for.
        fence: Option<u64>,
        /// Whether some of several servers have not answered yet.
        late: bool,
    },
    /// Somebody else holds it, and there was no time to wait.
    Busy,
    /// Somebody else held it for as long as there was time.
    TimedOut {
        /// How long that was.
        waited: Duration,
    },
    /// It was granted and given back, as too few copies had it in time.
    NotReplicated {
        /// How many had it.
        acked: u32,
        /// How many were to have it.
        wanted: u32,
    },
    /// A fault that waiting does not cure, or that lasted.
    Failed(Fault),
}

impl Acquired {
    /// What `request` was granted, or what the caller is told.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::TimedOut`], [`Error::NotReplicated`], [`Error::Backend`].
    pub fn granted(self, request: &Request) -> Result<Grant, Error> {
        let Request { key, ttl, renew, hold, confirm, .. } = request.clone();
        match self {
            Self::Granted { token, sent, until, fence, late } => {
                let holding = Holding::begin(request.name, &key, &token, fence);
                Ok(Grant {
                    key,
                    token,
                    ttl,
                    renew,
                    hold,
                    confirm,
                    fence,
                    sent,
                    until,
                    late,
                    holding,
                })
            }
            Self::Busy => Err(Error::Busy { key }),
            Self::TimedOut { waited } => Err(Error::TimedOut { key, waited }),
            Self::NotReplicated { acked, wanted } => {
                Err(Error::NotReplicated { key, acked, wanted })
            }
            Self::Failed(fault) if fault.kind() == FaultKind::NoQuorum => {
                Err(Error::NoQuorum { key, fault })
            }
            Self::Failed(fault) => {
                Err(Error::Backend { key: Some(key), operation: Operation::Acquire, fault })
            }
        }
    }
}
