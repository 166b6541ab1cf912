//! What a server prints, kept as it comes, so that what it says can be awaited.

use std::io::{BufRead as _, BufReader};
use std::process::ChildStdout;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What became of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Ready,
    PortTaken,
    Ended,
    TooSlow,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Journal(Arc<Mutex<String>>);

impl Journal {
    pub(super) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps all that comes out of `output`, and waits for the line that decides the start.
    ///
    /// A log is of one process, a port may be answered by another one: only the log tells for
    /// sure that *this* server has the port.
    pub(super) fn follow(&self, output: ChildStdout, bound: Duration) -> Start {
        let (decide, decided) = channel();
        let text = Arc::clone(&self.0);
        thread::spawn(move || {
            let mut lines = BufReader::new(output);
            let mut line = Vec::new();
            while matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
                let said = String::from_utf8_lossy(&line);
                text.lock().unwrap_or_else(PoisonError::into_inner).push_str(&said);
                if let Some(start) = verdict(&said) {
                    let _ = decide.send(start);
                }
                line.clear();
            }
        });
        match decided.recv_timeout(bound) {
            Ok(start) => start,
            Err(RecvTimeoutError::Disconnected) => Start::Ended,
            Err(RecvTimeoutError::Timeout) => Start::TooSlow,
        }
    }
}

fn verdict(line: &str) -> Option<Start> {
    if line.contains("Address already in use") {
        Some(Start::PortTaken)
    } else if line.contains("Ready to accept connections") || line.contains("Sentinel ID is") {
        Some(Start::Ready)
    } else {
        None
    }
}
