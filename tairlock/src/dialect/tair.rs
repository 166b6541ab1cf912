//! Compare-and-set and compare-and-delete of Tair (and of Apache Kvrocks): 1 done, 0 another's, −1 gone.

use super::{Ask, Command, Heard, Probe, Reply, Way, ifeq::counts, script};
use crate::{Key, fault::FaultKind, proto::Verdict};

/// `CAS k tok tok PX ms`. Never with KEEPTTL, which loses the TTL on replicas, and never without PX,
/// which would make the lock immortal.
#[derive(Debug)]
pub(super) struct Cas;

impl Way for Cas {
    fn name(&self) -> &'static str {
        "CAS"
    }

    fn say(&self, ask: &Ask) -> Command {
        let token = || ask.token.shared();
        let command = Command::new("CAS").bytes(ask.key.shared()).bytes(token()).bytes(token());
        command.word("PX").number(ask.ttl.as_millis())
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        compared(reply, Verdict::Renewed, &script::RENEW)
    }

    fn probe(&self) -> Option<Probe> {
        fn attempt(key: &Key) -> Command {
            Command::new("CAS").bytes(key.shared()).word("probe").word("probe")
        }
        Some(Probe { command: Some("cas"), attempt, shows: counts })
    }
}

/// `CAD k tok`.
#[derive(Debug)]
pub(super) struct Cad;

impl Way for Cad {
    fn name(&self) -> &'static str {
        "CAD"
    }

    fn say(&self, ask: &Ask) -> Command {
        Command::new("CAD").bytes(ask.key.shared()).bytes(ask.token.shared())
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        compared(reply, Verdict::Released, &script::RELEASE)
    }

    fn probe(&self) -> Option<Probe> {
        fn attempt(key: &Key) -> Command {
            Command::new("CAD").bytes(key.shared()).word("probe")
        }
        Some(Probe { command: Some("cad"), attempt, shows: counts })
    }
}

/// Reads the three answers. A full server refuses even CAD; `script` needs no memory.
fn compared(reply: Reply, done: Verdict, script: &'static dyn Way) -> Heard {
    match reply {
        Reply::Int(1) => Heard::Verdict(done),
        Reply::Int(0) => Heard::Verdict(Verdict::Taken),
        Reply::Int(-1) => Heard::Verdict(Verdict::Gone),
        Reply::Error(fault) if fault.kind() == FaultKind::OutOfMemory => Heard::Then(script),
        other => Heard::unexpected(other),
    }
}
