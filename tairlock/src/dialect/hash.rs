//! Versioned values on every server: a hash with `value`, `version` and `mark`, and scripts about it.

use super::{
    Ask, Command, Heard, Reply, Way,
    program::{Program, program},
};
use crate::{
    Fault,
    fault::FaultKind,
    proto::Verdict,
    value::{Action, Draft, Expiry, First, LAST_VERSION, Mark, Stored, version_at_its_end},
};

static READ: Program = program!("value_read.lua");
static SWAP: Program = program!("value_swap.lua");
static PUT: Program = program!("value_put.lua");
static REMOVE: Program = program!("value_remove.lua");

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
        let run = |program: &'static Program| program.run(self.whole, &ask.key);
        match &ask.action {
            // Nothing follows the last version; what is there is all there is to tell.
            Action::Swap { expected, .. } if *expected >= LAST_VERSION => run(&READ),
            Action::Read => run(&READ),
            Action::Swap { expected, draft } => {
                let command = run(&SWAP).number(*expected).number(expected + 1);
                expiry(written(command, draft), draft.expiry)
            }
            Action::Create { draft, first } => {
                let command = begin(run(&PUT).word("create"), *first);
                expiry(written(command, draft), draft.expiry)
            }
            Action::Overwrite { draft, first } => {
                let command = begin(run(&PUT).word("overwrite"), *first);
                expiry(written(command, draft), draft.expiry)
            }
            Action::Remove { expected } => run(&REMOVE).number(*expected),
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
        match Answer::read(parts) {
            Some(Answer::Held(stored)) => {
                Heard::Verdict(stored.map_or(Verdict::Gone, Verdict::Stored))
                    .unless_at_its_end(&ask.action)
            }
            Some(Answer::Done(version)) => Heard::Verdict(Verdict::Written(version)),
            Some(Answer::Removed) => Heard::Verdict(Verdict::Removed),
            Some(Answer::AtItsEnd) => Heard::Fault(version_at_its_end()),
            Some(Answer::Kind(kind)) => Heard::Fault(another_kind(
                &kind,
                "here it is a hash with the fields `value` and `version`",
            )),
            None => {
                let text = "the script about a versioned value gave no answer that there is";
                Heard::Fault(Fault::ambiguous(FaultKind::Protocol, text))
            }
        }
    }
}

impl Heard {
    /// To a swap of the last version, what stands there is the refusal, whichever it is.
    pub(super) fn unless_at_its_end(self, action: &Action) -> Self {
        match (&self, action) {
            (Self::Verdict(Verdict::Stored(stored)), Action::Swap { expected, .. })
                if stored.version == *expected && *expected >= LAST_VERSION =>
            {
                Self::Fault(version_at_its_end())
            }
            _ => self,
        }
    }
}

/// What the scripts answer.
enum Answer {
    Held(Option<Stored>),
    Done(u64),
    Removed,
    AtItsEnd,
    Kind(String),
}

impl Answer {
    fn read(parts: Vec<Reply>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut next = || match parts.next() {
            Some(Reply::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        match next()?.as_slice() {
            b"none" => Some(Self::Held(None)),
            b"held" => {
                let (version, value) = (next()?, next()?);
                let Some(version) = version_in(&version) else {
                    let shown = version[..version.len().min(40)].escape_ascii();
                    return Some(Self::Kind(format!("hash whose `version` is `{shown}`")));
                };
                let mark = next().and_then(|mark| number(&mark)).map(Mark);
                Some(Self::Held(Some(Stored { value: value.into(), version, mark })))
            }
            b"done" => next().and_then(|version| version_in(&version)).map(Self::Done),
            b"gone" => Some(Self::Removed),
            b"end" => Some(Self::AtItsEnd),
            b"kind" => match next()?.as_slice() {
                b"hash" => Some(Self::Kind("hash without those of a versioned value".to_owned())),
                kind => Some(Self::Kind(String::from_utf8_lossy(kind).into_owned())),
            },
            _ => None,
        }
    }
}

/// A version as it is written, which is in one way only: `7`, never `07` or `+7`.
pub(super) fn version_in(text: &[u8]) -> Option<u64> {
    let version = number(text).filter(|&version| version <= LAST_VERSION)?;
    (version.to_string().as_bytes() == text).then_some(version)
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Something of `kind` stands where a versioned value should, which `here` is.
pub(super) fn another_kind(kind: &str, here: &str) -> Fault {
    let text = format!("the key holds a {kind}, and no versioned value; {here}");
    Fault::new(FaultKind::WrongType, text)
}

fn written(command: Command, draft: &Draft) -> Command {
    command.bytes(draft.value.clone()).number(draft.mark.0)
}

pub(super) fn begin(command: Command, first: First) -> Command {
    match first {
        First::Clock => command.word("clock"),
        First::At(version) => command.number(version),
    }
}

pub(super) fn expiry(command: Command, expiry: Expiry) -> Command {
    match expiry {
        Expiry::Persist => command.word("persist"),
        Expiry::Keep => command.word("keep"),
        Expiry::After(lifetime) => command.number(millis(lifetime)),
    }
}

/// Never 0, which some servers take for "at once" and others refuse.
pub(super) fn millis(lifetime: std::time::Duration) -> u64 {
    u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX >> 11).max(1)
}
