//! A Lua program: sent by its digest, and whole where a server has not seen it.

use std::sync::LazyLock;

use super::{Command, Reply};

/// A Lua program about one key, or some in one slot.
#[derive(Debug)]
pub(super) struct Program {
    source: &'static str,
    digest: LazyLock<String>,
}

impl Program {
    pub(super) const fn new(source: &'static str, digest: fn() -> String) -> Self {
        Self { source, digest: LazyLock::new(digest) }
    }

    /// Runs it, `whole` or by its digest, on `key`; arguments are to follow.
    pub(super) fn run(&'static self, whole: bool, key: &crate::Key) -> Command {
        self.run_on(whole, &[key])
    }

    /// As [`Program::run`], on several keys.
    pub(super) fn run_on(&'static self, whole: bool, keys: &[&crate::Key]) -> Command {
        let command = if whole {
            Command::new("EVAL").word(self.source)
        } else {
            Command::new("EVALSHA").word(&self.digest)
        };
        let command = command.number(keys.len() as u64);
        keys.iter().fold(command, |command, key| command.bytes(key.shared()))
    }

    /// Whether `reply` says that the server has not seen it.
    pub(super) fn is_new(reply: &Reply) -> bool {
        matches!(reply, Reply::Error(fault) if fault.to_string().starts_with("NOSCRIPT"))
    }
}

/// A static [`Program`] from a file under `lua/`.
macro_rules! program {
    ($file:literal) => {
        Program::new(include_str!(concat!("lua/", $file)), || {
            sha1_smol::Sha1::from(include_str!(concat!("lua/", $file))).digest().to_string()
        })
    };
}
pub(super) use program;
