//! A program of this workspace as a process that says lines, and ends with its fixture.

use std::{
    io::{self, BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use rustix::process::Signal;

use crate::process;

/// How long a program may take to say something, or to end.
const BOUND: Duration = Duration::from_secs(30);

/// A running (or killed) program.
#[derive(Debug)]
pub struct Program {
    child: Child,
    said: Receiver<String>,
}

impl Program {
    /// Starts the program at `path`.
    ///
    /// # Errors
    /// If the system would not let it run.
    pub fn start(path: &str, arguments: &[&str]) -> io::Result<Self> {
        let mut command = process::command(Path::new(path));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = process::spawn(command)?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (say, said) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // A fixture that is gone does not listen.
                _ = say.send(line);
            }
        });
        Ok(Self { child, said })
    }

    /// The next line that it says.
    ///
    /// # Panics
    /// If it says nothing for 30 s, or has ended.
    #[must_use]
    pub fn line(&self) -> String {
        self.said.recv_timeout(BOUND).unwrap_or_else(|error| panic!("nothing is said: {error}"))
    }

    /// Kills it (SIGKILL), as a crash would.
    ///
    /// # Panics
    /// If it does not end.
    pub fn kill(&mut self) {
        process::signal(self.child.id(), Signal::KILL).expect("SIGKILL");
        assert!(process::wait(&mut self.child, BOUND).expect("waiting"), "it does not end");
    }

    /// Asks it to end (SIGTERM).
    ///
    /// # Panics
    /// If it cannot be asked.
    pub fn ask_to_stop(&self) {
        process::signal(self.child.id(), Signal::TERM).expect("SIGTERM");
    }

    /// Interrupts it (SIGINT), as Ctrl-C would.
    ///
    /// # Panics
    /// If it cannot be interrupted.
    pub fn interrupt(&self) {
        process::signal(self.child.id(), Signal::INT).expect("SIGINT");
    }

    /// Stops it (SIGSTOP) until [`resume`](Self::resume).
    ///
    /// # Panics
    /// If it cannot be stopped.
    pub fn pause(&self) {
        process::signal(self.child.id(), Signal::STOP).expect("SIGSTOP");
    }

    /// Lets it go on.
    ///
    /// # Panics
    /// If it cannot be told.
    pub fn resume(&self) {
        process::signal(self.child.id(), Signal::CONT).expect("SIGCONT");
    }

    /// Waits until it has ended; answers whether it said that all went well.
    ///
    /// # Panics
    /// If it takes more than 30 s.
    pub fn ended_well(&mut self) -> bool {
        assert!(process::wait(&mut self.child, BOUND).expect("waiting"), "it does not end");
        self.child.wait().expect("its status").success()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
