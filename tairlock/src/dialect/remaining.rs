//! Asking how long a key has yet to live, which on a tracked connection also asks for news of it.

use std::time::Duration;

use super::{Ask, Batch, Command, Heard, Reply, Way};
use crate::{Fault, FaultKind, proto::Verdict};

/// `PTTL k`: any type, and the server remembers who asked.
#[derive(Debug)]
pub(super) struct Pttl;

impl Way for Pttl {
    fn name(&self) -> &'static str {
        "PTTL"
    }

    fn say(&self, ask: &Ask) -> Command {
        Command::new("PTTL").bytes(ask.key.shared())
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        match reply {
            Reply::Int(-2) => Heard::Verdict(Verdict::Gone),
            Reply::Int(-1) => Heard::Verdict(Verdict::Remaining(None)),
            Reply::Int(ms) if ms >= 0 => {
                let left = Duration::from_millis(ms.unsigned_abs());
                Heard::Verdict(Verdict::Remaining(Some(left)))
            }
            other => Heard::unexpected(other),
        }
    }
}

/// What makes a connection a listener: its server tells of every change of a key that was asked about on
/// it, here or, in the older protocol, to the connection called `elsewhere`.
#[must_use]
pub fn track(elsewhere: Option<u64>) -> Batch {
    let command = Command::new("CLIENT").word("TRACKING").word("ON");
    vec![match elsewhere {
        Some(id) => command.word("REDIRECT").number(id),
        None => command,
    }]
}

/// What makes a connection of the older protocol the one that is told: what it is called, for [`track`],
/// and that it hears where changes are told.
#[must_use]
pub fn overhear() -> Batch {
    let subscribe = Command::new("SUBSCRIBE").word("__redis__:invalidate");
    vec![Command::new("CLIENT").word("ID"), subscribe]
}

/// Whether the reply to [`track`] says that it is one now.
///
/// # Errors
/// [`FaultKind::Permission`] or [`FaultKind::Unsupported`] where the server does not do that.
pub fn tracks(reply: Option<&Reply>) -> Result<(), Fault> {
    match reply {
        Some(Reply::Okay) => Ok(()),
        Some(Reply::Error(fault)) if fault.kind() == FaultKind::Server => {
            Err(Fault::new(FaultKind::Unsupported, fault.to_string()))
        }
        Some(Reply::Error(fault)) => Err(fault.clone()),
        _ => Err(Fault::new(FaultKind::Unsupported, "the server does not track keys")),
    }
}
