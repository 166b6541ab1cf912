//! A table of cases: command lines and the exact replies to them.
//!
//! ```text
//! # title of a case; (RESP2) or (RESP3) at its end limits it
//! EXSET k a NX        => +OK          lines of the reply, with ` | ` for CR LF
//! EXSET k b NX        => nil          $-1 in RESP2, _ in RESP3; nil-array is *-1
//! PTTL k              => :5..9        any integer of that range
//! CAS                 => -ERR wr…     any line that starts so
//! GET k               => $2 | "\r\n"  quotes for odd bytes
//! ~ EXISTS k          => :0           asked until it is so
//! B: GET k            => $1 | a       on a second connection
//! B: <-               => >2 | …       what comes in unasked
//! ```

mod expect;

use crate::support::resp::{Connection, Protocol};
use crate::support::server::Server;
use crate::support::{until, words};

use expect::Expected;

pub(crate) struct Case {
    only: Option<Protocol>,
    title: String,
    rows: Vec<Row>,
}

struct Row {
    place: String,
    line: String,
    second: bool,
    action: Action,
    expected: Expected,
}

enum Action {
    Ask(Vec<Vec<u8>>),
    AskUntil(Vec<Vec<u8>>),
    Listen,
}

pub(crate) fn parse(file: &str, text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", index + 1);
        if let Some(title) = line.strip_prefix("# ") {
            let only = match title {
                _ if title.ends_with("(RESP2)") => Some(Protocol::Resp2),
                _ if title.ends_with("(RESP3)") => Some(Protocol::Resp3),
                _ => None,
            };
            cases.push(Case { only, title: title.into(), rows: Vec::new() });
        } else if !line.trim().is_empty() {
            let case = cases.last_mut().expect("a title first");
            case.rows.push(row(place, line));
        }
    }
    cases
}

fn row(place: String, line: &str) -> Row {
    let (command, expected) =
        line.split_once(" => ").unwrap_or_else(|| panic!("{place}: no ` => `"));
    let (second, command) = match command.strip_prefix("B: ") {
        Some(command) => (true, command.trim()),
        None => (false, command.trim()),
    };
    let action = match command.strip_prefix("~ ") {
        Some(command) => Action::AskUntil(words::split(command)),
        None if command == "<-" => Action::Listen,
        None => Action::Ask(words::split(command)),
    };
    Row { place, line: line.into(), second, action, expected: Expected::parse(expected) }
}

impl Case {
    /// Runs the case on an emptied server; returns how many rows it has.
    pub(crate) fn run(
        &self,
        server: &Server,
        protocol: Protocol,
        failures: &mut Vec<String>,
    ) -> Result<usize, String> {
        if self.only.is_some_and(|only| only != protocol) {
            return Ok(0);
        }
        for reset in [
            "CONFIG SET maxmemory 0",
            "CONFIG SET notify-keyspace-events \"\"",
            "CONFIG SET min-replicas-to-write 0",
            "FLUSHALL",
        ] {
            server.must(reset, "+OK\r\n")?;
        }
        let mut first = server.connect(protocol)?;
        let mut second = server.connect(protocol)?;
        for row in &self.rows {
            let connection = if row.second { &mut second } else { &mut first };
            if let Err(got) = row.run(connection, protocol) {
                failures.push(format!(
                    "{} ({})\n    {}\n    got {got}",
                    row.place, self.title, row.line
                ));
            }
        }
        Ok(self.rows.len())
    }
}

impl Row {
    fn run(&self, connection: &mut Connection, protocol: Protocol) -> Result<(), String> {
        let mut check = |words: &[Vec<u8>]| self.check(connection.call_words(words), protocol);
        match &self.action {
            Action::Ask(words) => check(words),
            Action::AskUntil(words) => until(|| check(words)),
            Action::Listen => self.check(connection.receive(), protocol),
        }
    }

    fn check(&self, reply: std::io::Result<Vec<u8>>, protocol: Protocol) -> Result<(), String> {
        let reply = reply.map_err(|error| error.to_string())?;
        if self.expected.matches(&reply, protocol) { Ok(()) } else { Err(words::show(&reply)) }
    }
}
