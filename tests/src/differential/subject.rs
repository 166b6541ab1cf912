//! The servers, the ways that each knows, and so the dialects that there are.

use std::fmt;

use tairlock::dialect::{Question, Speech};

use crate::{Server, server::Builder, subject::tair};

/// A server, and what it is known to understand.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What it is called.
    pub name: &'static str,
    /// Whether it has the TairString module.
    pub has_tairstring: bool,
    pub(super) server: fn() -> Builder,
    /// For each question the ways that it knows, best first.
    pub(super) knows: &'static [(Question, &'static [&'static str])],
}

const ACQUIRE: (Question, &[&str]) = (Question::Acquire, &["SET NX GET", "SET NX"]);

const FENCED: (Question, &[&str]) = (Question::AcquireFenced, &["EVALSHA"]);
const FENCED_VALUE: (Question, &[&str]) = (Question::Fenced, &["EVALSHA"]);
const REPLICAS: (Question, &[&str]) = (Question::Replicas, &["WAIT"]);
const FILES: (Question, &[&str]) = (Question::Files, &["WAITAOF"]);
/// Redis 6 and 7.0 have none.
const NO_FILES: (Question, &[&str]) = (Question::Files, &[]);
const INSPECT: (Question, &[&str]) = (Question::Inspect, &["GET and PTTL"]);
const FORCE_RELEASE: (Question, &[&str]) =
    (Question::ForceRelease, &["PTTL and GETDEL", "EVALSHA"]);
const REMAINING: (Question, &[&str]) = (Question::Remaining, &["PTTL"]);
const HASH: (Question, &[&str]) = (Question::Value, &["EVALSHA"]);
const TAIRSTRING: (Question, &[&str]) = (Question::Value, &["EXCAS", "EVALSHA"]);

/// All servers.
pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "redis 6.2",
        has_tairstring: false,
        server: Server::redis62,
        knows: &[
            (Question::Acquire, &["SET NX"]),
            FENCED,
            (Question::Renew, &["EVALSHA"]),
            (Question::Release, &["EVALSHA"]),
            INSPECT,
            FORCE_RELEASE,
            REMAINING,
            HASH,
            FENCED_VALUE,
            REPLICAS,
            NO_FILES,
        ],
    },
    Subject {
        name: "redis 7.0",
        has_tairstring: false,
        server: Server::redis7,
        knows: &[
            ACQUIRE,
            FENCED,
            (Question::Renew, &["EVALSHA"]),
            (Question::Release, &["EVALSHA"]),
            INSPECT,
            FORCE_RELEASE,
            REMAINING,
            HASH,
            FENCED_VALUE,
            REPLICAS,
            NO_FILES,
        ],
    },
    Subject {
        name: "redis 8.6",
        has_tairstring: false,
        server: Server::redis8,
        knows: &[
            ACQUIRE,
            FENCED,
            (Question::Renew, &["SET IFEQ GET", "EVALSHA"]),
            (Question::Release, &["DELEX IFEQ", "EVALSHA"]),
            INSPECT,
            FORCE_RELEASE,
            REMAINING,
            HASH,
            FENCED_VALUE,
            REPLICAS,
            FILES,
        ],
    },
    Subject {
        name: "valkey 9.1",
        has_tairstring: false,
        server: Server::valkey9,
        knows: &[
            ACQUIRE,
            FENCED,
            (Question::Renew, &["SET IFEQ GET", "EVALSHA"]),
            (Question::Release, &["DELIFEQ", "EVALSHA"]),
            INSPECT,
            FORCE_RELEASE,
            REMAINING,
            HASH,
            FENCED_VALUE,
            REPLICAS,
            FILES,
        ],
    },
    Subject {
        name: "redis 7.0 tairstring",
        has_tairstring: true,
        server: || tair(Server::redis7()),
        knows: &[
            ACQUIRE,
            FENCED,
            (Question::Renew, &["CAS", "EVALSHA"]),
            (Question::Release, &["CAD", "EVALSHA"]),
            INSPECT,
            FORCE_RELEASE,
            REMAINING,
            TAIRSTRING,
            FENCED_VALUE,
            REPLICAS,
            NO_FILES,
        ],
    },
    Subject {
        name: "valkey 9.1 tairstring",
        has_tairstring: true,
        server: || tair(Server::valkey9()),
        knows: &[
            ACQUIRE,
            FENCED,
            (Question::Renew, &["SET IFEQ GET", "CAS", "EVALSHA"]),
            (Question::Release, &["DELIFEQ", "CAD", "EVALSHA"]),
            INSPECT,
            FORCE_RELEASE,
            REMAINING,
            TAIRSTRING,
            FENCED_VALUE,
            REPLICAS,
            FILES,
        ],
    },
];

impl Subject {
    /// The server, on a unix socket.
    ///
    /// # Panics
    /// If it is not installed, or does not come up: a server that cannot be had is a failure.
    #[must_use]
    pub fn start(&self) -> Server {
        (self.server)().unix_socket().start().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Whether detection finds no way for a question where there is one, or one where there is none.
    #[must_use]
    pub fn misjudged(&self, speech: &Speech) -> Option<Question> {
        let misjudged =
            |(question, ways): &&(Question, &[&str])| speech.lacks(*question) != ways.is_empty();
        self.knows.iter().find(misjudged).map(|(question, _)| *question)
    }

    /// Its dialects: one of the best ways, one of the second best, and so on; and one that begins
    /// without knowing anything, and has to find out on the way.
    #[must_use]
    pub fn dialects(&self) -> Vec<Dialect> {
        let most = self.knows.iter().map(|(_, ways)| ways.len()).max().unwrap_or_default();
        let rank = |rank: usize| {
            let way = |ways: &'static [&'static str]| ways.get(rank).or(ways.last()).copied();
            let said = |&(question, ways)| way(ways).map(|way| (question, way));
            Dialect(self.knows.iter().filter_map(said).collect())
        };
        (0..most).map(rank).chain([Dialect(Vec::new())]).collect()
    }
}

/// A way for each question; none, for who has not found out yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect(Vec<(Question, &'static str)>);

impl Dialect {
    /// Whether detection must find this one.
    #[must_use]
    pub fn is_spoken_by(&self, speech: &Speech) -> bool {
        self.0.iter().all(|(question, way)| speech.way(*question).name() == *way)
    }

    /// Whether who began with this dialect still speaks it, or has found a way that the server knows.
    pub(super) fn is_kept_by(&self, speech: &Speech, subject: &Subject) -> bool {
        let untold = Speech::default();
        let found = |(question, ways): &(Question, &[&str])| {
            let way = speech.way(*question).name();
            ways.contains(&way) || way == untold.way(*question).name()
        };
        self.is_spoken_by(speech) && subject.knows.iter().all(found)
    }

    pub(super) fn speech(&self) -> Speech {
        let speech = Speech::default();
        for (question, way) in &self.0 {
            assert!(speech.insist(*question, way), "{question:?} has no way called {way}");
        }
        speech
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ways: Vec<_> = self.0.iter().map(|(_, way)| *way).collect();
        f.write_str(if ways.is_empty() { "found on the way" } else { "" })?;
        f.write_str(&ways.join(", "))
    }
}
