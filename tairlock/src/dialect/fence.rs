//! Taking a lock with a fence: a script about the lock and about the number that it was given last.

use super::{
    Ask, Command, Heard, Reply, Way,
    program::{Program, program},
};
use crate::{Fault, fault::FaultKind, fence, proto::Verdict, slot::fence_key};

static FENCE: Program = program!("fence.lua");

/// The script: whole, or by its digest.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) whole: bool,
}

impl Way for Script {
    fn name(&self) -> &'static str {
        if self.whole { "EVAL" } else { "EVALSHA" }
    }

    fn say(&self, ask: &Ask) -> Command {
        let command = FENCE.run_on(self.whole, &[&ask.key, &fence_key(&ask.key)]);
        let command = command.bytes(ask.token.shared()).number(ask.ttl.as_millis());
        command
            .number(u64::try_from(fence::kept_for(ask.ttl).as_millis()).unwrap_or(u64::MAX >> 11))
    }

    fn hear(&self, ask: &Ask, reply: Reply) -> Heard {
        if !self.whole && Program::is_new(&reply) {
            return Heard::Then(&Self { whole: true });
        }
        let parts = match reply {
            Reply::Array(parts) => parts,
            other => return Heard::unexpected(other),
        };
        let mut parts = parts.into_iter().map(|part| match part {
            Reply::Bytes(bytes) => bytes,
            _ => Vec::new(),
        });
        let word = parts.next().unwrap_or_default();
        let fence = parts.next().and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok());
        match (word.as_slice(), fence) {
            (b"busy", _) => Heard::Verdict(Verdict::Busy),
            (b"granted", Some(fence)) => Heard::Verdict(Verdict::Issued { fence, again: false }),
            (b"ours", Some(fence)) => Heard::Verdict(Verdict::Issued { fence, again: true }),
            (b"mark", _) => Heard::Fault(fence::not_a_mark(&ask.key)),
            (b"end", _) => Heard::Fault(fence::at_its_end(&ask.key)),
            _ => {
                let text = "the script that issues a fence gave no answer that there is";
                Heard::Fault(Fault::ambiguous(FaultKind::Protocol, text))
            }
        }
    }
}
