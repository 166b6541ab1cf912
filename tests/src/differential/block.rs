//! Many sequences at once on one connection, each with keys of its own, so that round trips are few.

use std::sync::LazyLock;

use proptest::strategy::ValueTree as _;
use redis::Value;
use tairlock::{
    dialect::{Batch, Command, Detection, Known, Reply, Speech},
    redis::{pipeline, reply, unused_key},
};

use super::{
    sequence::{Step, draw},
    subject::{Dialect, Subject},
    talk::Scripts,
    trial::Trial,
};
use crate::{Server, place::Protocol};

/// A server that a dialect is tried on. The server is this one's alone: its conditions are for all.
pub(super) struct Bench<'s> {
    subject: &'s Subject,
    dialect: Dialect,
    _server: Server,
    connection: redis::Connection,
    scripts: Scripts,
}

/// Sequences that together need every script.
static WARM: LazyLock<Vec<(u64, Vec<Step>)>> =
    LazyLock::new(|| (0..200).map(|seed| (seed, draw(seed).1.current())).collect());

/// A sequence that failed, and how.
pub(super) struct Failure {
    pub(super) seed: u64,
    pub(super) reason: String,
}

impl<'s> Bench<'s> {
    pub(super) fn new(subject: &'s Subject, dialect: Dialect, protocol: Protocol) -> Self {
        let server = subject.start();
        let url = match protocol {
            Protocol::Resp2 => server.unix_url(),
            Protocol::Resp3 => format!("{}?protocol=resp3", server.unix_url()),
        };
        let client = redis::Client::open(url).expect("an address");
        let connection = client.get_connection().expect("a connection");
        let scripts = Scripts::new();
        Self { subject, dialect, _server: server, connection, scripts }
    }

    /// As [`Bench::new`], and every script is known to the server.
    pub(super) fn warm(subject: &'s Subject, dialect: Dialect, protocol: Protocol) -> Self {
        let mut bench = Self::new(subject, dialect, protocol);
        // So that a sequence is played again as it was. What fails here fails again where it counts.
        let _ = bench.play(&WARM.iter().map(|(seed, steps)| (*seed, &**steps)).collect::<Vec<_>>());
        bench
    }

    /// What detection finds.
    pub(super) fn detect(&mut self) -> Speech {
        let key = unused_key(b"").expect("an empty prefix leaves room");
        let (detection, batch) = Detection::begin(&key);
        detection.finish(&self.send(&batch)).expect("no password is wanted")
    }

    /// Whether each way's probe alone tells clearly what is known of this server.
    pub(super) fn probe(&mut self) -> Result<(), String> {
        for (question, known) in self.subject.knows {
            for way in question.ways() {
                let Some(probe) = way.probe() else { continue };
                let key = unused_key(b"").expect("an empty prefix leaves room");
                let replies = self.send(&vec![(probe.attempt)(&key)]);
                let shown = replies.first().map(probe.shows);
                let expected = if known.contains(&way.name()) { Known::Yes } else { Known::No };
                if shown != Some(expected) {
                    let name = way.name();
                    return Err(format!("the probe for {name} shows {shown:?}: {replies:?}"));
                }
            }
        }
        Ok(())
    }

    /// Plays sequences side by side; the first that fails ends them all.
    pub(super) fn play(&mut self, sequences: &[(u64, &[Step])]) -> Result<(), Failure> {
        self.send(&vec![Command::new("FLUSHALL")]);
        let speeches: Vec<Speech> = sequences.iter().map(|_| self.dialect.speech()).collect();
        let trial =
            |(&(seed, steps), speech)| Trial::new(seed, steps, speech, self.subject.has_tairstring);
        let mut trials: Vec<_> = sequences.iter().zip(&speeches).map(trial).collect();
        let mut open: Vec<&mut Trial<'_>> = trials.iter_mut().collect();
        while !open.is_empty() {
            let scripts = self.scripts.clone();
            let mut batch = Vec::new();
            let mut lengths = Vec::new();
            let mut takes_time = false;
            open.retain_mut(|trial| match trial.say(&scripts) {
                None => false,
                Some(said) => {
                    lengths.push(said.commands.len());
                    takes_time |= said.takes_time;
                    batch.extend(said.commands);
                    true
                }
            });
            let mut replies = self.send(&batch).into_iter();
            if takes_time {
                self.let_time_pass();
            }
            for (trial, length) in open.iter_mut().zip(lengths) {
                let heard = trial.hear(replies.by_ref().take(length).collect());
                heard.map_err(|reason| Failure {
                    seed: trial.seed,
                    reason: format!("{}: {reason}", trial.place()),
                })?;
            }
        }
        for ((seed, _), speech) in sequences.iter().zip(&speeches) {
            if !self.dialect.is_kept_by(speech, self.subject) {
                let reason = format!("the server knows better ways than {speech:?}");
                return Err(Failure { seed: *seed, reason });
            }
        }
        Ok(())
    }

    /// Returns when what was to expire in a millisecond has.
    fn let_time_pass(&mut self) {
        let begin = self.micros();
        while self.micros() < begin + 2_000 {}
    }

    /// The server's clock.
    fn micros(&mut self) -> u64 {
        let replies = self.send(&vec![Command::new("TIME")]);
        let Some(Reply::Array(parts)) = replies.first() else { panic!("TIME: {replies:?}") };
        let number = |part: &Reply| match part {
            Reply::Bytes(digits) => str::from_utf8(digits).ok().and_then(|text| text.parse().ok()),
            _ => None,
        };
        let parts: Option<Vec<u64>> = parts.iter().map(number).collect();
        parts.map(|parts| parts[0] * 1_000_000 + parts[1]).expect("seconds and microseconds")
    }

    fn send(&mut self, batch: &Batch) -> Vec<Reply> {
        if batch.is_empty() {
            return Vec::new();
        }
        let whole = batch.iter().filter(|command| command.name() == "EVAL");
        let sources = whole.filter_map(|command| command.args().nth(1).map(<[u8]>::to_vec));
        self.scripts.extend(sources);
        let packed = pipeline(batch).get_packed_pipeline();
        self.connection.send_packed_command(&packed).expect("the server is there");
        let mut next = || match self.connection.recv_response() {
            Err(error) => panic!("the server is there: {error}"),
            Ok(Value::Push { .. }) => panic!("nothing is pushed to who tracks nothing"),
            Ok(value) => reply(value),
        };
        batch.iter().map(|_| next()).collect()
    }
}
