//! How a server is to be started.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::certificates::Certificates;
use super::journal::Journal;
use super::{Error, Ports, Server, folder, start};
use crate::binaries::Binary;

/// The settings of a [`Server`] to be. Without any: no persistence, no password, TCP only.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is started"]
pub struct Builder {
    binary: Binary,
    settings: Vec<Vec<String>>,
    modules: Vec<PathBuf>,
    sentinel: bool,
    pub(crate) password: Option<String>,
    pub(super) unix_socket: bool,
    tls: Option<Certificates>,
    pub(super) tls_cluster: bool,
}

impl Builder {
    pub(super) fn new(binary: Binary) -> Self {
        Self {
            binary,
            settings: Vec::new(),
            modules: Vec::new(),
            sentinel: false,
            password: None,
            unix_socket: false,
            tls: None,
            tls_cluster: false,
        }
    }

    /// One line of the configuration file, word by word: `["replicaof", "127.0.0.1", "6379"]`.
    pub fn config<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.settings.push(words.into_iter().map(Into::into).collect());
        self
    }

    /// The default user's password. It goes into URLs as it is, so letters and digits.
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.into());
        self.config(["requirepass", password])
    }

    /// An ACL user, in words as `ACL SETUSER` takes them: `"alice on >secret ~a:* +@all"`.
    pub fn user(self, rules: &str) -> Self {
        self.config(["user"].into_iter().chain(rules.split_whitespace()))
    }

    /// A unix socket beside the TCP port: [`Server::unix_url`].
    pub fn unix_socket(mut self) -> Self {
        self.unix_socket = true;
        self
    }

    /// TLS on a port of its own, beside the plain one: [`Server::tls_url`]. Of the servers here,
    /// Debian's Redis 7 alone is built with it.
    pub fn tls(mut self, certificates: &Certificates) -> Self {
        self.tls = Some(certificates.clone());
        self
    }

    /// TLS among the nodes of a cluster too, which then tell clients of their ports for TLS.
    pub fn tls_cluster(mut self, certificates: &Certificates) -> Self {
        self.tls_cluster = true;
        self.tls(certificates).config(["tls-cluster", "yes"]).config(["tls-replication", "yes"])
    }

    /// A module to load.
    pub fn module(mut self, path: impl Into<PathBuf>) -> Self {
        self.modules.push(path.into());
        self
    }

    /// The memory limit (`"1mb"`), past which writes are refused.
    pub fn maxmemory(self, limit: &str) -> Self {
        self.config(["maxmemory", limit]).config(["maxmemory-policy", "noeviction"])
    }

    /// A replica of `primary`.
    pub fn replica_of(self, primary: &Server) -> Self {
        self.config(["replicaof", "127.0.0.1", &primary.port().to_string()])
    }

    /// A node of a cluster that is still to be formed.
    pub fn cluster(self) -> Self {
        self.config(["cluster-enabled", "yes"])
    }

    /// A sentinel, whose lines are said with [`config`](Self::config).
    pub fn sentinel(mut self) -> Self {
        self.sentinel = true;
        self
    }

    /// Starts it on a free port, and returns when it answers.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no such server here, or it does not come up in 10 s.
    pub fn start(self) -> Result<Server, Error> {
        let binary = self.binary.find()?;
        let dir = folder::create()?;
        let journal = Journal::default();
        let mut free = ports();
        for _ in 0..50 {
            let (port, tls) = (free.next(), self.tls.as_ref().and_then(|_| free.next()));
            let ports = Ports { plain: port.unwrap_or_default(), tls };
            let child = start(&self, &binary, ports, &dir, &journal)?;
            if let Some(child) = child {
                return Ok(Server { config: self, binary, child, ports, dir, journal });
            }
        }
        Err(Error::NotReady { log: journal.text() })
    }

    pub(super) fn arguments(&self) -> &'static [&'static str] {
        if self.sentinel { &["--sentinel"] } else { &[] }
    }

    pub(super) fn text(&self, dir: &Path) -> String {
        let mut lines: Vec<Vec<String>> = vec![vec!["bind".into(), "127.0.0.1".into()]];
        if !self.sentinel {
            lines.push(vec!["save".into(), String::new()]);
            lines.push(vec!["appendonly".into(), "no".into()]);
            // A replica that comes is served at once, not after a pause for others to come.
            lines.push(vec!["repl-diskless-sync-delay".into(), "0".into()]);
        }
        if self.unix_socket {
            lines.push(vec!["unixsocket".into(), dir.join("socket").display().to_string()]);
        }
        if let Some(tls) = &self.tls {
            // Clients need no certificate of their own, unless a test says so later.
            lines.push(vec!["tls-auth-clients".into(), "no".into()]);
            for (setting, file) in tls.settings() {
                lines.push(vec![setting.into(), file.display().to_string()]);
            }
        }
        for module in &self.modules {
            lines.push(vec!["loadmodule".into(), module.display().to_string()]);
        }
        // Last, so that what a test says goes before the defaults.
        lines.extend(self.settings.iter().cloned());
        let mut text = String::new();
        for words in lines {
            let mut words = words.iter();
            // The name of a setting is never quoted, any value may be.
            text.push_str(words.next().map_or("", String::as_str));
            for word in words {
                let _ = write!(text, " \"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""));
            }
            text.push('\n');
        }
        text
    }
}

/// Ports that look free. They lie below those that the kernel gives to outgoing connections: while
/// a server is down for a restart, nothing else may get its port. A cluster's bus (port + 10,000)
/// stays in range as well. Whether a port *is* free shows when the server binds it.
fn ports() -> impl Iterator<Item = u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 11_000;
    const COUNT: u32 = 21_000;
    // Test processes that run side by side begin far from each other.
    let begin = process::id().wrapping_mul(1_021);
    std::iter::repeat_with(move || begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)))
        .filter_map(|number| u16::try_from(FIRST + number % COUNT).ok())
        .filter(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_quoted_and_come_after_the_defaults() {
        let builder = Server::redis7().config(["save", "1 \"2\""]).user("al on >p\\w ~*");
        let text = builder.text(Path::new("/dir"));
        assert!(text.contains("appendonly \"no\"\n"), "{text}");
        assert!(
            text.ends_with("save \"1 \\\"2\\\"\"\nuser \"al\" \"on\" \">p\\\\w\" \"~*\"\n"),
            "{text}"
        );
    }

    #[test]
    fn ports_stay_below_the_ephemeral_ones() {
        for port in ports().take(100) {
            assert!((11_000..32_000).contains(&port), "{port}");
        }
    }
}
