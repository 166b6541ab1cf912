//! A [`Fault`] is what went wrong between us and one server, sorted by what the caller can do about it.

use std::{fmt, sync::Arc};

/// Which kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The server could not be reached, or the connection broke.
    Unreachable,
    /// No reply came within the response deadline.
    NoReply,
    /// User name or password was refused, or is missing.
    Auth,
    /// The user lacks the permission for a command or a key.
    Permission,
    /// The server is a replica, or refuses writes for now.
    ReadOnly,
    /// The server is up but not ready: loading its data, running a long script, waiting for its primary.
    NotReady,
    /// The server is full (`maxmemory`) and takes no write that needs memory.
    OutOfMemory,
    /// Something that is no lock stands under the key.
    WrongType,
    /// The cluster is down, moving slots, or was asked on the wrong node.
    Cluster,
    /// Of several independent servers too few could be asked, or answered.
    NoQuorum,
    /// The server lacks a command that the operation cannot do without.
    Unsupported,
    /// The server is not configured for what was asked, or the connection settings are wrong.
    Config,
    /// The server answered something that the operation has no reading for.
    Protocol,
    /// Any other error of the server; its text says which.
    Server,
}

/// What went wrong between us and one server.
///
/// The text never holds a password, and never a whole token.
#[derive(Clone)]
pub struct Fault {
    kind: FaultKind,
    executed: Executed,
    text: Arc<str>,
}

/// Whether a command that failed may have been executed all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Executed {
    No,
    Perhaps,
}

impl Fault {
    /// A fault that is known to have changed nothing.
    pub fn new(kind: FaultKind, text: impl Into<String>) -> Self {
        Self { kind, executed: Executed::No, text: text.into().into() }
    }

    /// A fault after the command was sent: it may have been executed.
    pub fn ambiguous(kind: FaultKind, text: impl Into<String>) -> Self {
        Self { executed: Executed::Perhaps, ..Self::new(kind, text) }
    }

    /// The kind of thing that went wrong.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        self.kind
    }

    /// Whether the command may have been executed although its reply is missing.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.executed == Executed::Perhaps
    }

    /// Whether the same command may well succeed a little later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            FaultKind::Unreachable
                | FaultKind::NoReply
                | FaultKind::ReadOnly
                | FaultKind::NotReady
                | FaultKind::Cluster
                | FaultKind::NoQuorum
        )
    }

    /// The fault with a sentence on how to get out of it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: &str) -> Self {
        self.text = format!("{}; {hint}", self.text).into();
        self
    }

    /// The fault, with where it happened.
    #[doc(hidden)]
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        if !self.text.starts_with(place) {
            self.text = format!("{place}: {}", self.text).into();
        }
        self
    }

    /// Reads a server's error reply, given as its first word and the rest.
    #[must_use]
    pub fn from_server(code: &str, detail: &str) -> Self {
        let text = if detail.is_empty() { code.to_owned() } else { format!("{code} {detail}") };
        Self::new(kind_of(code, detail), text)
    }
}

fn kind_of(code: &str, detail: &str) -> FaultKind {
    let says = |start: &str| {
        detail.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
    };
    match code {
        "NOAUTH" | "WRONGPASS" => FaultKind::Auth,
        "NOPERM" => FaultKind::Permission,
        // What waits for copies is sent away when its server becomes a replica.
        "READONLY" | "NOREPLICAS" | "NOWRITE" | "MISCONF" | "UNBLOCKED" => FaultKind::ReadOnly,
        "LOADING" | "BUSY" | "MASTERDOWN" => FaultKind::NotReady,
        "OOM" => FaultKind::OutOfMemory,
        "WRONGTYPE" => FaultKind::WrongType,
        "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "CROSSSLOT" => FaultKind::Cluster,
        "NOPROTO" => FaultKind::Unsupported,
        // Tair's proxies put their own words behind a plain ERR.
        _ if says("READONLY") => FaultKind::ReadOnly,
        _ if says("redis temporary failure") => FaultKind::NotReady,
        _ if says("invalid password") || says("Client sent AUTH") || says("AUTH") => {
            FaultKind::Auth
        }
        _ if says("Key should be of string type") => FaultKind::WrongType,
        _ if says("max number of clients") => FaultKind::Unreachable,
        _ if says("unknown command") || says("syntax error") || says("unknown subcommand") => {
            FaultKind::Unsupported
        }
        // From within a script.
        _ if says("Unknown Redis command called") => FaultKind::Unsupported,
        _ if says("command ") && detail.contains("not support") => FaultKind::Unsupported,
        _ if detail.contains("The user executing the script") => FaultKind::Permission,
        _ if says("Error running script") || code == "@user_script:" => inside_script(detail),
        _ => FaultKind::Server,
    }
}

/// Servers before Redis 7 put what went wrong inside a script behind where it went wrong:
/// `Error running script (call to f_…): @user_script:1: WRONGTYPE Operation…`, and without the first
/// part where the script returns the error itself.
fn inside_script(detail: &str) -> FaultKind {
    let inner = detail.rsplit(": ").next().unwrap_or_default().trim_start_matches('-');
    let (code, rest) = inner.split_once(' ').unwrap_or((inner, ""));
    let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_code { kind_of(code, rest) } else { kind_of("ERR", inner) }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fault({:?}: {})", self.kind, self.text)
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_has_its_kind() {
        for (code, detail, kind) in [
            ("NOAUTH", "Authentication required.", FaultKind::Auth),
            ("WRONGPASS", "invalid username-password pair", FaultKind::Auth),
            ("ERR", "invalid password", FaultKind::Auth),
            ("NOPERM", "No permissions to access a key", FaultKind::Permission),
            ("ERR", "The user executing the script can't run this command", FaultKind::Permission),
            ("READONLY", "You can't write against a read only replica.", FaultKind::ReadOnly),
            ("ERR", "READONLY you can't write against a read only instance", FaultKind::ReadOnly),
            ("NOREPLICAS", "Not enough good replicas to write.", FaultKind::ReadOnly),
            ("LOADING", "Redis is loading the dataset in memory", FaultKind::NotReady),
            ("BUSY", "Redis is busy running a script.", FaultKind::NotReady),
            ("MASTERDOWN", "Link with MASTER is down", FaultKind::NotReady),
            ("ERR", "redis temporary failure", FaultKind::NotReady),
            ("OOM", "command not allowed when used memory > 'maxmemory'.", FaultKind::OutOfMemory),
            ("WRONGTYPE", "Operation against a key", FaultKind::WrongType),
            ("ERR", "Key should be of string type if conditions are", FaultKind::WrongType),
            ("CLUSTERDOWN", "Hash slot not served", FaultKind::Cluster),
            ("TRYAGAIN", "Multiple keys request during rehashing", FaultKind::Cluster),
            ("ERR", "unknown command 'CAD', with args", FaultKind::Unsupported),
            ("ERR", "syntax error", FaultKind::Unsupported),
            ("ERR", "command 'cad' not support for your account", FaultKind::Unsupported),
            ("ERR", "max number of clients reached", FaultKind::Unreachable),
            ("ERR", "something new", FaultKind::Server),
            (
                "ERR",
                "Error running script (call to f_4e): @user_script:1: WRONGTYPE Operation against",
                FaultKind::WrongType,
            ),
            (
                "ERR",
                "Error running script (call to f_4e): @user_script:3: @user_script: 3: \
                 -READONLY You can't write against a read only replica.",
                FaultKind::ReadOnly,
            ),
            ("ERR", "Unknown Redis command called from script script: 7b", FaultKind::Unsupported),
            (
                "ERR",
                "Error running script (call to f_7b): @user_script:1: @user_script: 1: \
                 Unknown Redis command called from Lua script",
                FaultKind::Unsupported,
            ),
            ("@user_script:", "11: -OOM command not allowed when", FaultKind::OutOfMemory),
            (
                "ERR",
                "Error running script (call to f_4e): @user_script:3: user_script:3: attempt to",
                FaultKind::Server,
            ),
        ] {
            assert_eq!(Fault::from_server(code, detail).kind(), kind, "{code} {detail}");
        }
    }

    #[test]
    fn text_of_any_length_is_read() {
        assert_eq!(Fault::from_server("ERR", "é").kind(), FaultKind::Server);
        assert_eq!(Fault::from_server("ERR", "").to_string(), "ERR");
    }
}
