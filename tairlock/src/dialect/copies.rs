//! How many copies have what was last written on a connection: by `WAIT` and `WAITAOF`.

use super::{
    Ask, Command, Heard, Known, Probe, Reply, Way,
    ifeq::{counts, without},
};
use crate::{Confirm, Fault, FaultKind, Key, proto::Verdict};

/// `WAIT n ms`: so many replicas, which may be more or fewer than were asked for.
#[derive(Debug)]
pub(super) struct Wait;

impl Way for Wait {
    fn name(&self) -> &'static str {
        "WAIT"
    }

    fn say(&self, ask: &Ask) -> Command {
        let command = Command::new("WAIT").number(ask.confirm.of_replicas().into());
        command.number(millis(ask.confirm))
    }

    fn hear(&self, ask: &Ask, reply: Reply) -> Heard {
        match reply {
            Reply::Int(acked) => copies(ask, 0, acked),
            other => unexpected(other),
        }
    }

    fn probe(&self) -> Option<Probe> {
        // None are waited for, so it answers at once.
        fn attempt(_: &Key) -> Command {
            Command::new("WAIT").number(0).number(1)
        }
        Some(Probe { command: Some("wait"), attempt, shows: counts })
    }
}

/// `WAITAOF 1 n ms`: the server's own file, and so many of replicas.
#[derive(Debug)]
pub(super) struct WaitAof;

impl Way for WaitAof {
    fn name(&self) -> &'static str {
        "WAITAOF"
    }

    fn say(&self, ask: &Ask) -> Command {
        let command = Command::new("WAITAOF").number(1).number(ask.confirm.of_replicas().into());
        command.number(millis(ask.confirm))
    }

    fn hear(&self, ask: &Ask, reply: Reply) -> Heard {
        match reply {
            Reply::Array(counts) => match counts.as_slice() {
                [Reply::Int(local), Reply::Int(acked)] => copies(ask, *local, *acked),
                _ => unexpected(Reply::Array(counts)),
            },
            Reply::Error(fault) if fault.to_string().contains("appendonly is disabled") => {
                let hint = "switch on `appendonly` at the server, or ask for replicas alone";
                Heard::Fault(Fault::new(FaultKind::Config, fault.to_string()).hint(hint))
            }
            other => unexpected(other),
        }
    }

    fn probe(&self) -> Option<Probe> {
        fn attempt(_: &Key) -> Command {
            Command::new("WAITAOF").number(0).number(0).number(1)
        }
        fn shows(reply: &Reply) -> Known {
            match reply {
                Reply::Array(_) => Known::Yes,
                other => without(other),
            }
        }
        Some(Probe { command: Some("waitaof"), attempt, shows })
    }
}

/// For 0 ms it would wait for ever.
fn millis(confirm: Confirm) -> u64 {
    u64::try_from(confirm.limit().as_millis()).unwrap_or(u64::MAX).max(1)
}

/// Those that were asked for: a replica too many does not stand in for the server's own file.
fn copies(ask: &Ask, local: i64, acked: i64) -> Heard {
    let acked = u32::try_from(acked.max(0)).unwrap_or(u32::MAX).min(ask.confirm.of_replicas());
    Heard::Verdict(Verdict::Copies(acked.saturating_add(u32::from(local > 0))))
}

fn unexpected(reply: Reply) -> Heard {
    match reply {
        // It has become one since the connection was opened.
        Reply::Error(fault) if fault.to_string().contains("cannot be used with replica") => {
            let text = "the server is a replica, which waits for no others";
            Heard::Fault(Fault::new(FaultKind::ReadOnly, text))
        }
        other => Heard::unexpected(other),
    }
}
