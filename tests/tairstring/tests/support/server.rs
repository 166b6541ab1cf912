//! A server of one's own, with the module, on a free port; stopped when dropped.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use tempfile::TempDir;

use super::resp::{Connection, Protocol};
use super::{find, until, words};

pub(crate) struct Server {
    binary: PathBuf,
    args: Vec<String>,
    dir: TempDir,
    running: Running,
}

struct Running {
    child: Child,
    port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        // By the child's own id; what fails here has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn start(binary: &Path, args: &[&str]) -> Result<Self, String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let running = launch(binary, &args, dir.path())?;
        Ok(Self { binary: binary.into(), args, dir, running })
    }

    /// Kills the server without warning and starts it anew on the same files.
    pub(crate) fn crash_and_restart(&mut self) -> Result<(), String> {
        let _ = self.running.child.kill();
        let _ = self.running.child.wait();
        self.running = launch(&self.binary, &self.args, self.dir.path())?;
        Ok(())
    }

    pub(crate) fn port(&self) -> u16 {
        self.running.port
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn connect(&self, protocol: Protocol) -> Result<Connection, String> {
        Connection::open(self.port(), protocol).map_err(|error| error.to_string())
    }

    /// One command on a connection of its own.
    pub(crate) fn call(&self, line: &str) -> Result<Vec<u8>, String> {
        self.connect(Protocol::Resp2)?.call(line).map_err(|error| format!("{line}: {error}"))
    }

    /// One command that must answer so.
    pub(crate) fn must(&self, line: &str, reply: &str) -> Result<(), String> {
        let got = self.call(line)?;
        if got == reply.as_bytes() {
            Ok(())
        } else {
            Err(format!("{line}: {}, not {reply:?}", words::show(&got)))
        }
    }

    /// A field of INFO.
    pub(crate) fn info(&self, field: &str) -> Result<String, String> {
        let info = String::from_utf8_lossy(&self.call("INFO")?).into_owned();
        info.lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .map(ToString::to_string)
            .ok_or_else(|| format!("INFO without {field}"))
    }
}

fn launch(binary: &Path, args: &[String], dir: &Path) -> Result<Running, String> {
    let mut failure = String::new();
    // Someone else may take the port between finding it free and binding it.
    for _ in 0..5 {
        match launch_once(binary, args, dir) {
            Err(log) if log.contains("Address already in use") => failure = log,
            result => return result,
        }
    }
    Err(failure)
}

fn launch_once(binary: &Path, args: &[String], dir: &Path) -> Result<Running, String> {
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map_err(|error| error.to_string())?
        .port();
    let log = dir.join("log");
    let child = Command::new(binary)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--enable-debug-command", "yes"])
        // A primary would wait for more replicas before it sends its RDB.
        .args(["--repl-diskless-sync-delay", "0", "--dir"])
        .arg(dir)
        .arg("--loadmodule")
        .arg(find::module()?)
        .args(args)
        .stdout(File::create(&log).map_err(|error| error.to_string())?)
        .spawn()
        .map_err(|error| format!("{}: {error}", binary.display()))?;
    let mut running = Running { child, port };
    let log = || fs::read_to_string(&log).unwrap_or_default();
    let mut ended = None;
    until(|| {
        if let Ok(Some(status)) = running.child.try_wait() {
            ended = Some(status);
            return Ok(());
        }
        // The port can be another's by now; only the process id tells.
        let info = Connection::open(port, Protocol::Resp2).and_then(|mut c| c.call("INFO"));
        let info = String::from_utf8_lossy(&info.unwrap_or_default()).into_owned();
        let pid = format!("process_id:{}\r", running.child.id());
        if info.contains(&pid) && info.contains("\nloading:0\r") {
            Ok(())
        } else {
            Err(format!("not ready\n{}", log()))
        }
    })?;
    match ended {
        Some(status) => Err(format!("{} ended: {status}\n{}", binary.display(), log())),
        None => Ok(running),
    }
}
