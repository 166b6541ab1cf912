//! Renew and release as Lua scripts, which every server understands: by digest, and whole where it is new.

use std::sync::LazyLock;

use super::{Ask, Command, Heard, Reply, Way};
use crate::proto::Verdict;

/// Prolongs the lease if our token stands there.
pub(super) static RENEW: Script = Script { kind: Kind::Renew, whole: &RENEW_WHOLE };
/// Deletes the key if our token stands there.
pub(super) static RELEASE: Script = Script { kind: Kind::Release, whole: &RELEASE_WHOLE };

static RENEW_WHOLE: Whole = Whole(Kind::Renew);
static RELEASE_WHOLE: Whole = Whole(Kind::Release);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Renew,
    Release,
}

/// `EVALSHA`: the server has seen the script before.
#[derive(Debug)]
pub(super) struct Script {
    kind: Kind,
    whole: &'static Whole,
}

/// `EVAL`: the server has not, and remembers it from now on.
#[derive(Debug)]
pub(super) struct Whole(Kind);

impl Kind {
    const fn source(self) -> &'static str {
        match self {
            Self::Renew => include_str!("lua/renew.lua"),
            Self::Release => include_str!("lua/release.lua"),
        }
    }

    fn digest(self) -> &'static str {
        static RENEW: LazyLock<String> = LazyLock::new(|| digest(Kind::Renew.source()));
        static RELEASE: LazyLock<String> = LazyLock::new(|| digest(Kind::Release.source()));
        match self {
            Self::Renew => &RENEW,
            Self::Release => &RELEASE,
        }
    }

    fn with_args(self, command: Command, ask: &Ask) -> Command {
        let command = command.number(1).bytes(ask.key.shared()).bytes(ask.token.shared());
        match self {
            Self::Renew => command.number(ask.ttl.as_millis()),
            Self::Release => command,
        }
    }

    fn hear(self, reply: Reply) -> Heard {
        match (reply, self) {
            (Reply::Int(1), Self::Renew) => Heard::Verdict(Verdict::Renewed),
            (Reply::Int(1), Self::Release) => Heard::Verdict(Verdict::Released),
            (Reply::Int(0), _) => Heard::Verdict(Verdict::Taken),
            (Reply::Int(-1), _) => Heard::Verdict(Verdict::Gone),
            (other, _) => Heard::unexpected(other),
        }
    }
}

impl Way for Script {
    fn name(&self) -> &'static str {
        "EVALSHA"
    }

    fn say(&self, ask: &Ask) -> Command {
        self.kind.with_args(Command::new("EVALSHA").word(self.kind.digest()), ask)
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        match reply {
            // Restarted, flushed, or never told.
            Reply::Error(fault) if fault.to_string().starts_with("NOSCRIPT") => {
                Heard::Then(self.whole)
            }
            other => self.kind.hear(other),
        }
    }
}

impl Way for Whole {
    fn name(&self) -> &'static str {
        "EVAL"
    }

    fn say(&self, ask: &Ask) -> Command {
        self.0.with_args(Command::new("EVAL").word(self.0.source()), ask)
    }

    fn hear(&self, _ask: &Ask, reply: Reply) -> Heard {
        self.0.hear(reply)
    }
}

fn digest(source: &str) -> String {
    sha1_smol::Sha1::from(source).digest().to_string()
}
