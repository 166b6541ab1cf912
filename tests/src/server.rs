//! A real server process, with a port and a folder of its own, that ends with its fixture.

mod builder;
mod certificates;
mod folder;
mod journal;

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use redis::{ConnectionAddr, IntoConnectionInfo as _, RedisConnectionInfo};
use rustix::process::Signal;
use tempfile::TempDir;

pub use self::builder::Builder;
pub use self::certificates::Certificates;
use self::journal::{Journal, Start};
use crate::binaries::{Binary, Missing};
use crate::process;

/// How long a server may take to come up, to go, or to answer an assertion.
const BOUND: Duration = Duration::from_secs(10);

/// A server that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such server here.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The system would not let it run.
    #[error("starting a server: {0}")]
    Io(#[from] io::Error),
    /// It ended, or was not ready in time.
    #[error("the server did not come up; its log:\n{log}")]
    NotReady {
        /// What it had to say.
        log: String,
    },
}

/// Where it listens.
#[derive(Clone, Copy, Debug)]
struct Ports {
    plain: u16,
    tls: Option<u16>,
}

/// A running (or stopped, paused, killed) server.
#[derive(Debug)]
pub struct Server {
    config: Builder,
    binary: PathBuf,
    child: Child,
    ports: Ports,
    dir: TempDir,
    journal: Journal,
}

impl Server {
    /// Redis 6.2.
    pub fn redis62() -> Builder {
        Builder::new(Binary::Redis62)
    }

    /// Redis 7.
    pub fn redis7() -> Builder {
        Builder::new(Binary::Redis7)
    }

    /// Redis 8.4 or later.
    pub fn redis8() -> Builder {
        Builder::new(Binary::Redis8)
    }

    /// Valkey 9.
    pub fn valkey9() -> Builder {
        Builder::new(Binary::Valkey9)
    }

    /// The URL for clients, with the default user's password if there is one.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.config.password {
            Some(password) => format!("redis://:{password}@127.0.0.1:{}/", self.port()),
            None => format!("redis://127.0.0.1:{}/", self.port()),
        }
    }

    /// The URL of its unix socket.
    ///
    /// # Panics
    ///
    /// If it was started without [`Builder::unix_socket`].
    #[must_use]
    pub fn unix_url(&self) -> String {
        assert!(self.config.unix_socket, "started without a unix socket");
        let path = self.dir.path().join("socket");
        match &self.config.password {
            Some(password) => format!("redis+unix://{}?pass={password}", path.display()),
            None => format!("redis+unix://{}", path.display()),
        }
    }

    /// The URL for clients that speak TLS.
    ///
    /// # Panics
    ///
    /// If it was started without [`Builder::tls`].
    #[must_use]
    pub fn tls_url(&self) -> String {
        let port = self.ports.tls.expect("started without TLS");
        match &self.config.password {
            Some(password) => format!("rediss://:{password}@127.0.0.1:{port}/"),
            None => format!("rediss://127.0.0.1:{port}/"),
        }
    }

    /// The port by which the nodes of a cluster know it: that for TLS, if they speak it among themselves.
    #[must_use]
    pub fn cluster_port(&self) -> u16 {
        self.ports.tls.filter(|_| self.config.tls_cluster).unwrap_or(self.ports.plain)
    }

    /// The TCP port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.ports.plain
    }

    /// The address that it listens on.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port()).into()
    }

    /// The process, which [`restart`](Self::restart) replaces.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All that it printed, over all restarts.
    #[must_use]
    pub fn log(&self) -> String {
        self.journal.text()
    }

    /// A plain blocking RESP2 connection of the default user, for assertions.
    ///
    /// # Panics
    ///
    /// If the server can't be reached within 10 s.
    #[must_use]
    pub fn cli(&self) -> redis::Connection {
        let mut settings = RedisConnectionInfo::default().set_skip_set_lib_name();
        if let Some(password) = &self.config.password {
            settings = settings.set_password(password);
        }
        let open = || {
            let info = ConnectionAddr::Tcp("127.0.0.1".into(), self.port())
                .into_connection_info()?
                .set_redis_settings(settings);
            let connection = redis::Client::open(info)?.get_connection_with_timeout(BOUND)?;
            // A paused server must fail the test, not hang it.
            connection.set_read_timeout(Some(BOUND))?;
            Ok::<_, redis::RedisError>(connection)
        };
        open().unwrap_or_else(|error| panic!("connecting to the server: {error}"))
    }

    /// Empties all its databases.
    ///
    /// # Panics
    ///
    /// If the server can't be reached or refuses.
    pub fn flush(&self) {
        redis::cmd("FLUSHALL").exec(&mut self.cli()).expect("FLUSHALL");
    }

    /// Lets it end in its own way (SIGTERM), and waits until it has.
    ///
    /// # Panics
    ///
    /// If it takes more than 10 s.
    pub fn stop(&mut self) {
        self.end_by(Signal::TERM);
    }

    /// Ends it as a crash does (SIGKILL), and waits until it is gone.
    ///
    /// # Panics
    ///
    /// If it takes more than 10 s.
    pub fn kill(&mut self) {
        self.end_by(Signal::KILL);
    }

    /// Stops the process in its tracks (SIGSTOP): connections stay open, nothing answers.
    ///
    /// # Panics
    ///
    /// If the process is gone.
    pub fn pause(&self) {
        process::signal(self.pid(), Signal::STOP).expect("pausing the server");
    }

    /// Lets a paused process go on (SIGCONT).
    ///
    /// # Panics
    ///
    /// If the process is gone.
    pub fn resume(&self) {
        process::signal(self.pid(), Signal::CONT).expect("resuming the server");
    }

    /// Starts it again on the same port and folder, stopping it first if it still runs.
    ///
    /// # Errors
    ///
    /// [`Error`] if it does not come up.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.stop();
        let child = start(&self.config, &self.binary, self.ports, &self.dir, &self.journal)?;
        self.child = child.ok_or_else(|| Error::NotReady { log: self.log() })?;
        Ok(())
    }

    fn end_by(&mut self, signal: Signal) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let ended = process::signal(self.pid(), signal)
            .and_then(|()| process::wait(&mut self.child, BOUND))
            .expect("ending the server");
        assert!(ended, "the server is still there after {BOUND:?}");
    }
}

impl Drop for Server {
    #[expect(clippy::print_stderr, reason = "a failed test's reader needs the server's side")]
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let log = self.log();
            let skip = log.lines().count().saturating_sub(40);
            let tail: Vec<&str> = log.lines().skip(skip).collect();
            eprintln!("--- log of the server on port {}\n{}\n---", self.port(), tail.join("\n"));
        }
    }
}

/// The process, once it answers, or `None` if someone else has the port.
fn start(
    config: &Builder,
    binary: &Path,
    ports: Ports,
    dir: &TempDir,
    journal: &Journal,
) -> Result<Option<Child>, Error> {
    let file = dir.path().join("server.conf");
    // Kept over a restart: the server may have rewritten it.
    if !file.exists() {
        std::fs::write(&file, config.text(dir.path()))?;
    }
    let mut command = process::command(binary);
    // The ports go last: they are the settings that another attempt changes.
    command.arg(&file).args(config.arguments()).args(["--port", &ports.plain.to_string()]);
    if let Some(port) = ports.tls {
        command.args(["--tls-port", &port.to_string()]);
    }
    command.current_dir(dir.path()).stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(Stdio::piped());
    let mut child = process::spawn(command)?;
    let output = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let started = journal.follow(output, BOUND);
    let answers = match started {
        Start::Ready => ping(ports.plain)?,
        Start::PortTaken => false,
        Start::Ended | Start::TooSlow => {
            child.kill()?;
            child.wait()?;
            return Err(Error::NotReady { log: journal.text() });
        }
    };
    if !answers {
        child.kill()?;
        child.wait()?;
        return Ok(None);
    }
    Ok(Some(child))
}

/// Whether the port answers PING; being asked for a password is an answer as well.
fn ping(port: u16) -> io::Result<bool> {
    let mut socket = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), BOUND)?;
    socket.set_read_timeout(Some(BOUND))?;
    socket.write_all(b"*1\r\n$4\r\nPING\r\n")?;
    let mut first = [0];
    socket.read_exact(&mut first)?;
    Ok(matches!(first, [b'+' | b'-']))
}
