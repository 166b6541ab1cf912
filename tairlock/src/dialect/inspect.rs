//! Who holds a lock, for the person who looks; and taking it away from them.

use std::time::Duration;

use super::{
    Ask, Batch, Command, Heard, Reply, Way,
    program::{Program, program},
};
use crate::{
    Token,
    proto::{Seen, Verdict},
};

static FORCE_RELEASE: Program = program!("force_release.lua");

/// `GET k` and `PTTL k`, in one batch.
#[derive(Debug)]
pub(super) struct GetPttl;

impl Way for GetPttl {
    fn name(&self) -> &'static str {
        "GET and PTTL"
    }

    fn say(&self, ask: &Ask) -> Command {
        Command::new("GET").bytes(ask.key.shared())
    }

    fn say_behind(&self, ask: &Ask) -> Batch {
        vec![pttl(ask)]
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        Heard::unexpected(reply)
    }

    fn hear_all(&self, _ask: &Ask, reply: Reply, behind: Vec<Reply>) -> Heard {
        seen(reply, behind.into_iter().next(), Verdict::Seen)
    }
}

/// `PTTL k` and `GETDEL k`, in one batch: only a string is deleted.
#[derive(Debug)]
pub(super) struct GetDel;

impl Way for GetDel {
    fn name(&self) -> &'static str {
        "PTTL and GETDEL"
    }

    fn say(&self, ask: &Ask) -> Command {
        pttl(ask)
    }

    fn say_behind(&self, ask: &Ask) -> Batch {
        vec![Command::new("GETDEL").bytes(ask.key.shared())]
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        Heard::unexpected(reply)
    }

    fn hear_all(&self, _ask: &Ask, reply: Reply, behind: Vec<Reply>) -> Heard {
        match behind.into_iter().next() {
            // What it had to live may be unknown, if PTTL is not permitted; that it is gone is not.
            Some(held) => evicted(held, reply),
            None => Heard::unexpected(reply),
        }
    }
}

/// The same as a script, for servers without `GETDEL`.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) whole: bool,
}

impl Way for Script {
    fn name(&self) -> &'static str {
        if self.whole { "EVAL" } else { "EVALSHA" }
    }

    fn say(&self, ask: &Ask) -> Command {
        FORCE_RELEASE.run(self.whole, &ask.key)
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        if !self.whole && Program::is_new(&reply) {
            return Heard::Then(&Self { whole: true });
        }
        match reply {
            Reply::Array(parts) => {
                let mut parts = parts.into_iter();
                let (held, left) = (parts.next(), parts.next());
                evicted(held.unwrap_or(Reply::Nil), left.unwrap_or(Reply::Nil))
            }
            other => Heard::unexpected(other),
        }
    }
}

fn pttl(ask: &Ask) -> Command {
    Command::new("PTTL").bytes(ask.key.shared())
}

fn seen(held: Reply, left: Option<Reply>, verdict: fn(Seen) -> Verdict) -> Heard {
    let token = match held {
        Reply::Bytes(held) => Token::from_bytes(held),
        // The wire does not always tell this value from a status.
        Reply::Okay => Token::from_bytes("OK"),
        Reply::Nil => return Heard::Verdict(Verdict::Gone),
        other => return Heard::unexpected(other),
    };
    let left = match left {
        // Gone between the two commands.
        Some(Reply::Int(-2)) => return Heard::Verdict(Verdict::Gone),
        Some(Reply::Int(left)) => u64::try_from(left).ok().map(Duration::from_millis),
        Some(other) => return Heard::unexpected(other),
        None => None,
    };
    Heard::Verdict(verdict(Seen { token, left }))
}

fn evicted(held: Reply, left: Reply) -> Heard {
    let left = matches!(left, Reply::Int(0..)).then_some(left);
    seen(held, left, Verdict::Evicted)
}
