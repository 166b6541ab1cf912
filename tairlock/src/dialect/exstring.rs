//! Versioned values on Tair: `EXGET`, `EXCAS`, `EXSET` and `EXCAD` about a TairString.

use super::{
    Ask, Batch, Command, Heard, Probe, Reply, Way,
    hash::{another_kind, begin, expiry, millis},
    ifeq::counts,
    program::{Program, program},
};
use crate::{
    Fault, Key,
    fault::FaultKind,
    proto::Verdict,
    value::{Action, Expiry, LAST_VERSION, Stored, version_at_its_end},
};

static SWAP: Program = program!("exstring_swap.lua");
static PUT: Program = program!("exstring_put.lua");
static REMOVE: Program = program!("exstring_remove.lua");

/// TairString's own commands; scripts of them where one command does not do.
///
/// Never `KEEPTTL` with `EXCAS`, which loses the TTL on replicas; never `VER` without `XX`, which makes
/// a lost key again; never `VER 0`, which is no condition.
#[derive(Debug)]
pub(super) struct ExString {
    /// How scripts are sent.
    pub(super) whole: bool,
}

/// How one question is asked.
enum Said {
    Get,
    Swap,
    /// `EXSET XX VER PX`, and `EXGET` behind it, whose reply tells what stands there after a refusal.
    SwapAndGet,
    Script,
    Remove,
}

impl ExString {
    const fn said(action: &Action) -> Said {
        match action {
            Action::Read => Said::Get,
            // Past the last version, Tair's versions turn negative.
            Action::Swap { expected, .. } if *expected >= LAST_VERSION => Said::Get,
            Action::Swap { expected, draft } => match (draft.expiry, *expected) {
                (Expiry::Persist, _) => Said::Swap,
                (Expiry::After(_), 1..) => Said::SwapAndGet,
                (Expiry::After(_) | Expiry::Keep, _) => Said::Script,
            },
            Action::Create { .. } | Action::Overwrite { .. } => Said::Script,
            Action::Remove { .. } => Said::Remove,
        }
    }

    fn script(&self, ask: &Ask) -> Command {
        let run = |program: &'static Program| program.run(self.whole, &ask.key);
        match &ask.action {
            Action::Swap { expected, draft } => {
                let command = run(&SWAP).bytes(draft.value.clone()).number(*expected);
                expiry(command, draft.expiry)
            }
            Action::Create { draft, first } => {
                let command = begin(run(&PUT).word("create"), *first);
                expiry(command.bytes(draft.value.clone()), draft.expiry)
            }
            Action::Overwrite { draft, first } => {
                let command = begin(run(&PUT).word("overwrite"), *first);
                expiry(command.bytes(draft.value.clone()), draft.expiry)
            }
            Action::Read | Action::Remove { .. } => {
                run(&REMOVE).number(ask.action.expected().unwrap_or_default())
            }
        }
    }

    fn hear_script(&self, ask: &Ask, reply: Reply) -> Heard {
        if !self.whole && Program::is_new(&reply) {
            return Heard::Then(&Self { whole: true });
        }
        let word = match &reply {
            Reply::Array(parts) => match parts.first() {
                Some(Reply::Bytes(word)) => word.as_slice(),
                _ => b"",
            },
            _ => return unexpected(reply),
        };
        match (word, &ask.action) {
            (b"done", Action::Swap { expected, .. }) => {
                Heard::Verdict(Verdict::Written(expected + 1))
            }
            (b"done", _) => match &reply {
                Reply::Array(parts) => match parts.get(1) {
                    Some(Reply::Bytes(text)) => super::hash::version_in(text).map_or_else(
                        || Heard::unexpected(Reply::Nil),
                        |version| Heard::Verdict(Verdict::Written(version)),
                    ),
                    _ => Heard::unexpected(Reply::Nil),
                },
                _ => Heard::unexpected(Reply::Nil),
            },
            (b"none", _) => Heard::Verdict(Verdict::Gone),
            (b"moved", _) => Heard::Then(&Get),
            (b"end", _) => Heard::Fault(version_at_its_end()),
            (b"far", _) => Heard::Then(&FarOverwrite),
            _ => Heard::unexpected(reply),
        }
    }
}

impl Way for ExString {
    fn name(&self) -> &'static str {
        "EXCAS"
    }

    fn say(&self, ask: &Ask) -> Command {
        match (Self::said(&ask.action), &ask.action) {
            (Said::Swap, Action::Swap { expected, draft }) => {
                keyed("EXCAS", ask).bytes(draft.value.clone()).number(*expected)
            }
            (Said::SwapAndGet, Action::Swap { expected, draft }) => {
                let command = keyed("EXSET", ask).bytes(draft.value.clone()).word("XX");
                with_px(command.word("VER").number(*expected), draft.expiry).word("WITHVERSION")
            }
            (Said::Remove, Action::Remove { expected }) => keyed("EXCAD", ask).number(*expected),
            (Said::Script, _) => self.script(ask),
            _ => keyed("EXGET", ask),
        }
    }

    fn say_behind(&self, ask: &Ask) -> Batch {
        match Self::said(&ask.action) {
            Said::SwapAndGet => vec![keyed("EXGET", ask)],
            _ => Batch::new(),
        }
    }

    fn hear(&self, ask: &Ask, reply: Reply) -> Heard {
        match Self::said(&ask.action) {
            Said::Get | Said::SwapAndGet => got(ask, reply),
            Said::Script => self.hear_script(ask, reply),
            Said::Swap => swapped(ask, reply),
            Said::Remove => match reply {
                Reply::Int(1) => Heard::Verdict(Verdict::Removed),
                Reply::Int(0) => Heard::Then(&Get),
                Reply::Int(-1) => Heard::Verdict(Verdict::Gone),
                // A full server refuses even this; a script's deletion needs no memory.
                Reply::Error(fault) if fault.kind() == FaultKind::OutOfMemory => {
                    Heard::Then(&Delete { whole: false })
                }
                other => unexpected(other),
            },
        }
    }

    fn hear_all(&self, ask: &Ask, reply: Reply, behind: Vec<Reply>) -> Heard {
        let (Said::SwapAndGet, Some(stored)) = (Self::said(&ask.action), behind.into_iter().next())
        else {
            return self.hear(ask, reply);
        };
        match reply {
            Reply::Int(version) => written(version),
            Reply::Nil => Heard::Verdict(Verdict::Gone),
            Reply::Error(fault) if fault.to_string().contains("version is stale") => {
                got(ask, stored)
            }
            other => unexpected(other),
        }
    }

    fn probe(&self) -> Option<Probe> {
        fn attempt(key: &Key) -> Command {
            Command::new("EXCAS").bytes(key.shared()).word("probe").number(1)
        }
        Some(Probe { command: Some("excas"), attempt, shows: counts })
    }
}

fn keyed(name: &'static str, ask: &Ask) -> Command {
    Command::new(name).bytes(ask.key.shared())
}

fn with_px(command: Command, expiry: Expiry) -> Command {
    match expiry {
        Expiry::After(lifetime) => command.word("PX").number(millis(lifetime)),
        Expiry::Persist => command,
        Expiry::Keep => command.word("KEEPTTL"),
    }
}

/// `[OK, "", version]`; or anything else in place of `OK`, the value and its version; or −1.
fn swapped(ask: &Ask, reply: Reply) -> Heard {
    let parts = match reply {
        Reply::Array(parts) => parts,
        Reply::Int(-1) | Reply::Nil => return Heard::Verdict(Verdict::Gone),
        other => return unexpected(other),
    };
    match <[Reply; 3]>::try_from(parts) {
        Ok([Reply::Okay, _, Reply::Int(version)]) => written(version),
        Ok([Reply::Bytes(word), _, Reply::Int(version)]) if word == b"OK" => written(version),
        Ok([_, value, version]) => got(ask, Reply::Array(vec![value, version])),
        Err(_) => Heard::unexpected(Reply::Array(Vec::new())),
    }
}

fn written(version: i64) -> Heard {
    match u64::try_from(version) {
        Ok(version) => Heard::Verdict(Verdict::Written(version)),
        Err(_) => Heard::Fault(Fault::ambiguous(
            FaultKind::Protocol,
            "the value's version ran over its end; remove the value and create it again",
        )),
    }
}

/// `[value, version]`, or nil.
fn got(ask: &Ask, reply: Reply) -> Heard {
    let parts = match reply {
        Reply::Array(parts) => parts,
        Reply::Nil => return Heard::Verdict(Verdict::Gone),
        other => return unexpected(other),
    };
    let mut parts = parts.into_iter();
    let value = match parts.next() {
        Some(Reply::Bytes(value)) => value,
        // `OK` may be somebody's value, and the wire does not always tell it from a status.
        Some(Reply::Okay) => b"OK".to_vec(),
        _ => return Heard::unexpected(Reply::Array(Vec::new())),
    };
    match parts.next() {
        Some(Reply::Int(version)) => match u64::try_from(version) {
            Ok(version) => {
                let stored = Stored { value: value.into(), version, mark: None };
                Heard::Verdict(Verdict::Stored(stored)).unless_at_its_end(&ask.action)
            }
            Err(_) => {
                let kind = format!("TairString of version {version}");
                Heard::Fault(another_kind(&kind, "versions are not negative"))
            }
        },
        _ => Heard::unexpected(Reply::Array(Vec::new())),
    }
}

/// Another kind of value is named by its kind.
fn unexpected(reply: Reply) -> Heard {
    match reply {
        Reply::Error(fault) if fault.to_string().contains("WRONGTYPE") => Heard::Then(&Kind),
        // An option that it does not know is no reason to go on in another form.
        Reply::Error(fault) if fault.to_string().contains("syntax error") => Heard::Fault(fault),
        other => Heard::unexpected(other),
    }
}

/// `EXGET k` after a refusal: what stands there?
#[derive(Debug)]
struct Get;

impl Way for Get {
    fn name(&self) -> &'static str {
        "EXGET"
    }

    fn say(&self, ask: &Ask) -> Command {
        keyed("EXGET", ask)
    }

    fn hear(&self, ask: &Ask, reply: Reply) -> Heard {
        got(ask, reply)
    }
}

/// `EXSET k v XX`: an overwrite of a version that a script's numbers cannot tell from its neighbours.
#[derive(Debug)]
struct FarOverwrite;

impl Way for FarOverwrite {
    fn name(&self) -> &'static str {
        "EXSET"
    }

    fn say(&self, ask: &Ask) -> Command {
        let Action::Overwrite { draft, .. } = &ask.action else { return keyed("EXGET", ask) };
        let command = keyed("EXSET", ask).bytes(draft.value.clone()).word("XX");
        with_px(command, draft.expiry).word("WITHVERSION")
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        match reply {
            Reply::Int(version) => written(version),
            // Removed meanwhile: it is to be created.
            Reply::Nil => Heard::Then(&ExString { whole: false }),
            other => unexpected(other),
        }
    }
}

/// A script that deletes, for a full server.
#[derive(Debug)]
struct Delete {
    whole: bool,
}

impl Way for Delete {
    fn name(&self) -> &'static str {
        "EVALSHA"
    }

    fn say(&self, ask: &Ask) -> Command {
        ExString { whole: self.whole }.script(ask)
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        match reply {
            reply if !self.whole && Program::is_new(&reply) => Heard::Then(&Self { whole: true }),
            Reply::Int(1) => Heard::Verdict(Verdict::Removed),
            Reply::Int(0) => Heard::Then(&Get),
            Reply::Int(-1) => Heard::Verdict(Verdict::Gone),
            other => unexpected(other),
        }
    }
}

/// `TYPE k` after a refusal: what is it, if no TairString?
#[derive(Debug)]
struct Kind;

impl Way for Kind {
    fn name(&self) -> &'static str {
        "TYPE"
    }

    fn say(&self, ask: &Ask) -> Command {
        keyed("TYPE", ask)
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        let kind = match &reply {
            Reply::Bytes(kind) => String::from_utf8_lossy(kind).into_owned(),
            _ => "value of another kind".to_owned(),
        };
        Heard::Fault(another_kind(&kind, "here it is a TairString"))
    }
}
