//! Native compare-and-set and compare-and-delete of Redis (from 8.4) and Valkey (from 8.1 and 9.0).

use super::{Ask, Command, Heard, Known, Probe, Reply, Way, script};
use crate::{Key, fault::FaultKind, proto::Verdict};

/// `SET k tok IFEQ tok GET PX ms`: the reply is what stood there, so nil is gone, and another value is
/// another holder.
#[derive(Debug)]
pub(super) struct SetIfEq;

impl Way for SetIfEq {
    fn name(&self) -> &'static str {
        "SET IFEQ GET"
    }

    fn say(&self, ask: &Ask) -> Command {
        let token = || ask.token.shared();
        let command = Command::new("SET").bytes(ask.key.shared()).bytes(token());
        command.word("IFEQ").bytes(token()).word("GET").word("PX").number(ask.ttl.as_millis())
    }

    fn hear(&self, ask: &Ask, reply: Reply) -> Heard {
        match reply {
            Reply::Bytes(held) if held == ask.token.as_bytes() => Heard::Verdict(Verdict::Renewed),
            Reply::Bytes(_) | Reply::Okay => Heard::Verdict(Verdict::Taken),
            Reply::Nil => Heard::Verdict(Verdict::Gone),
            // SET needs memory even to write the same value; the script's PEXPIRE does not.
            Reply::Error(fault) if fault.kind() == FaultKind::OutOfMemory => {
                Heard::Then(&script::RENEW)
            }
            other => Heard::unexpected(other),
        }
    }

    fn probe(&self) -> Option<Probe> {
        fn attempt(key: &Key) -> Command {
            let command = Command::new("SET").bytes(key.shared()).word("probe");
            command.word("IFEQ").word("nothing").word("GET")
        }
        fn shows(reply: &Reply) -> Known {
            match reply {
                Reply::Nil => Known::Yes,
                other => without(other),
            }
        }
        Some(Probe { command: None, attempt, shows })
    }
}

/// `DELIFEQ k tok` (Valkey).
#[derive(Debug)]
pub(super) struct DelIfEq;

impl Way for DelIfEq {
    fn name(&self) -> &'static str {
        "DELIFEQ"
    }

    fn say(&self, ask: &Ask) -> Command {
        Command::new("DELIFEQ").bytes(ask.key.shared()).bytes(ask.token.shared())
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        deleted(reply)
    }

    fn probe(&self) -> Option<Probe> {
        fn attempt(key: &Key) -> Command {
            Command::new("DELIFEQ").bytes(key.shared()).word("probe")
        }
        Some(Probe { command: Some("delifeq"), attempt, shows: counts })
    }
}

/// `DELEX k IFEQ tok` (Redis). Never without its condition: then it would delete whatever is there.
#[derive(Debug)]
pub(super) struct DelEx;

impl Way for DelEx {
    fn name(&self) -> &'static str {
        "DELEX IFEQ"
    }

    fn say(&self, ask: &Ask) -> Command {
        Command::new("DELEX").bytes(ask.key.shared()).word("IFEQ").bytes(ask.token.shared())
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        deleted(reply)
    }

    fn probe(&self) -> Option<Probe> {
        fn attempt(key: &Key) -> Command {
            Command::new("DELEX").bytes(key.shared()).word("IFEQ").word("probe")
        }
        Some(Probe { command: Some("delex"), attempt, shows: counts })
    }
}

fn deleted(reply: Reply) -> Heard {
    match reply {
        Reply::Int(1) => Heard::Verdict(Verdict::Released),
        // Both answer 0 for "gone" and for "another's".
        Reply::Int(0) => Heard::Then(&Exists),
        other => Heard::unexpected(other),
    }
}

/// `EXISTS k` after a 0: is anybody there?
#[derive(Debug)]
struct Exists;

impl Way for Exists {
    fn name(&self) -> &'static str {
        "EXISTS"
    }

    fn say(&self, ask: &Ask) -> Command {
        Command::new("EXISTS").bytes(ask.key.shared())
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        match reply {
            Reply::Int(0) => Heard::Verdict(Verdict::Gone),
            Reply::Int(_) => Heard::Verdict(Verdict::Taken),
            other => Heard::unexpected(other),
        }
    }
}

/// A count in reply to a probe shows the command; what an error shows, see [`without`].
pub(super) fn counts(reply: &Reply) -> Known {
    match reply {
        Reply::Int(_) => Known::Yes,
        other => without(other),
    }
}

/// Only "unknown command" and "syntax error" say that a server lacks something.
pub(super) fn without(reply: &Reply) -> Known {
    match reply {
        Reply::Error(fault) if fault.kind() == FaultKind::Unsupported => Known::No,
        _ => Known::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Confirm, Token, Ttl,
        value::{Action, FencedAction},
    };

    #[test]
    fn a_status_in_place_of_a_value_is_another_holder() {
        let (key, token) = (Key::new("k").unwrap(), Token::from_bytes("t"));
        let (action, fenced) = (Action::default(), FencedAction::default());
        let ask = Ask { key, token, ttl: Ttl::DEFAULT, action, fenced, confirm: Confirm::none() };
        let heard = SetIfEq.hear(&ask, Reply::Okay);
        assert!(matches!(heard, Heard::Verdict(Verdict::Taken)));
    }
}
