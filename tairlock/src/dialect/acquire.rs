//! Taking a lock by `SET … NX PX`: where NX and GET combine, the reply also tells whose it is.

use super::{Ask, Command, Heard, Known, Probe, Reply, Way};
use crate::{Key, proto::Verdict};

/// `SET k tok NX GET PX ms`: nil is granted, our token is ours already, anything else is the holder's.
#[derive(Debug)]
pub(super) struct SetNxGet;

impl Way for SetNxGet {
    fn name(&self) -> &'static str {
        "SET NX GET"
    }

    fn say(&self, ask: &Ask) -> Command {
        set(ask).word("NX").word("GET").word("PX").number(ask.ttl.as_millis())
    }

    fn hear(&self, ask: &Ask, reply: Reply) -> Heard {
        match reply {
            Reply::Nil => Heard::Verdict(Verdict::Granted),
            Reply::Bytes(holder) if holder == ask.token.as_bytes() => Heard::Verdict(Verdict::Ours),
            Reply::Bytes(_) => Heard::Verdict(Verdict::Busy),
            // `OK` may be somebody's value, and the wire does not always tell it from a status.
            Reply::Okay => Heard::Verdict(Verdict::Busy),
            other => Heard::unexpected(other),
        }
    }

    fn probe(&self) -> Option<Probe> {
        Some(Probe { command: None, attempt, shows })
    }
}

/// A TTL that is no number: the options are read first, and nothing is written whatever they are.
fn attempt(key: &Key) -> Command {
    let command = Command::new("SET").bytes(key.shared()).word("probe");
    command.word("NX").word("GET").word("PX").word("none")
}

fn shows(reply: &Reply) -> Known {
    match reply {
        Reply::Error(fault) if fault.to_string().contains("not an integer") => Known::Yes,
        Reply::Error(fault) if fault.to_string().contains("syntax error") => Known::No,
        _ => Known::Unclear,
    }
}

/// `SET k tok NX PX ms`, and on nil one look at who is there.
#[derive(Debug)]
pub(super) struct SetNx;

impl Way for SetNx {
    fn name(&self) -> &'static str {
        "SET NX"
    }

    fn say(&self, ask: &Ask) -> Command {
        set(ask).word("NX").word("PX").number(ask.ttl.as_millis())
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        match reply {
            Reply::Okay => Heard::Verdict(Verdict::Granted),
            Reply::Nil => Heard::Then(&Holder),
            other => Heard::unexpected(other),
        }
    }
}

/// `GET k` after a refusal: our own token means that an earlier command, whose reply was lost, won.
#[derive(Debug)]
struct Holder;

impl Way for Holder {
    fn name(&self) -> &'static str {
        "GET"
    }

    fn say(&self, ask: &Ask) -> Command {
        Command::new("GET").bytes(ask.key.shared())
    }

    fn hear(&self, ask: &Ask, reply: Reply) -> Heard {
        match reply {
            Reply::Bytes(holder) if holder == ask.token.as_bytes() => Heard::Verdict(Verdict::Ours),
            // Nil: given back between the two commands. It was busy when it was asked for.
            Reply::Bytes(_) | Reply::Okay | Reply::Nil => Heard::Verdict(Verdict::Busy),
            other => Heard::unexpected(other),
        }
    }
}

fn set(ask: &Ask) -> Command {
    Command::new("SET").bytes(ask.key.shared()).bytes(ask.token.shared())
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
        for way in [&SetNxGet as &dyn Way, &Holder] {
            assert!(matches!(way.hear(&ask, Reply::Okay), Heard::Verdict(Verdict::Busy)));
        }
    }
}
