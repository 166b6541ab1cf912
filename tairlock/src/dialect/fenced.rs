//! Fenced values: a hash with `value` and `fence`, and scripts about it, on every server.

use super::{
    Ask, Command, Heard, Reply, Way,
    program::{Program, program},
};
use crate::{
    Fault,
    fault::FaultKind,
    proto::Verdict,
    value::{FencedAction, FencedValue},
};

static GET: Program = program!("fenced_get.lua");
static SET: Program = program!("fenced_set.lua");

/// A script about a hash: whole, or by its digest.
#[derive(Debug)]
pub(super) struct Hash {
    pub(super) whole: bool,
}

impl Way for Hash {
    fn name(&self) -> &'static str {
        if self.whole { "EVAL" } else { "EVALSHA" }
    }

    fn say(&self, ask: &Ask) -> Command {
        match &ask.fenced {
            FencedAction::Get => GET.run(self.whole, &ask.key),
            FencedAction::Set(FencedValue { value, fence }) => {
                SET.run(self.whole, &ask.key).bytes(value.clone()).number(*fence)
            }
        }
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
            Reply::Bytes(bytes) => Some(bytes),
            _ => None,
        });
        let mut next = || parts.next().flatten();
        match (next().as_deref(), next(), next(), &ask.fenced) {
            (Some(b"none"), ..) => Heard::Verdict(Verdict::Gone),
            (Some(b"done"), ..) => Heard::Verdict(Verdict::Accepted),
            (Some(b"kind"), Some(kind), ..) => not_fenced(&kind),
            (Some(b"held"), Some(fence), value, action) => match (number(&fence), value, action) {
                (Some(newest), _, FencedAction::Set(_)) => Heard::Verdict(Verdict::Refused(newest)),
                (Some(fence), Some(value), FencedAction::Get) => {
                    Heard::Verdict(Verdict::Fenced(FencedValue { value: value.into(), fence }))
                }
                _ => not_fenced(b"hash"),
            },
            _ => {
                let text = "the script about a fenced value gave no answer that there is";
                Heard::Fault(Fault::ambiguous(FaultKind::Protocol, text))
            }
        }
    }
}

fn not_fenced(kind: &[u8]) -> Heard {
    let kind = String::from_utf8_lossy(kind);
    let text = format!(
        "the key holds a {kind}, and no fenced value, which is a hash with the fields `value` and \
         `fence`"
    );
    Heard::Fault(Fault::new(FaultKind::WrongType, text))
}

fn number(text: &[u8]) -> Option<u64> {
    let number: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == text).then_some(number)
}
