//! What a server can do, found out once per connection by questions that change nothing.

use super::{Batch, Command, Known, Question, Reply, Speech, Way};
use crate::{Fault, FaultKind, Key};

/// Turns a connection to database `db`, for a driver that must do so itself.
#[must_use]
pub fn select(db: u64) -> Command {
    Command::new("SELECT").number(db)
}

/// Finds the best way for every question on one connection.
///
/// `COMMAND INFO` tells which commands there are; attempts on a key that does not exist tell the
/// rest, and all of it where `COMMAND` is refused. Versions are never asked: several servers report
/// one that is not theirs.
#[derive(Debug)]
pub struct Detection {
    probed: Vec<(Question, usize, &'static dyn Way)>,
}

impl Detection {
    /// What to ask, in one batch, about `key`: a name that nothing stands under.
    #[must_use]
    pub fn begin(key: &Key) -> (Self, Batch) {
        let mut probed = Vec::new();
        let mut info = Command::new("COMMAND").word("INFO");
        let mut batch = Vec::new();
        for question in Question::ALL {
            for (index, way) in question.ways().iter().enumerate() {
                let Some(probe) = way.probe() else { continue };
                probed.push((question, index, *way));
                batch.push((probe.attempt)(key));
                if let Some(command) = probe.command {
                    info = info.word(command);
                }
            }
        }
        batch.insert(0, info);
        (Self { probed }, batch)
    }

    /// What the replies show. What they leave open is tried when it is needed.
    ///
    /// # Errors
    /// [`FaultKind::Auth`], where the server wants a password that was not given.
    pub fn finish(&self, replies: &[Reply]) -> Result<Speech, Fault> {
        for reply in replies {
            if let Reply::Error(fault) = reply
                && fault.kind() == FaultKind::Auth
            {
                return Err(fault.clone());
            }
        }
        let speech = Speech::default();
        let (info, attempts) = replies.split_first().map_or((None, replies), |(a, b)| (Some(a), b));
        let mut listed = self.listed(info).into_iter();
        for ((question, index, way), attempt) in self.probed.iter().zip(attempts) {
            let Some(probe) = way.probe() else { continue };
            let by_list = if probe.command.is_some() { listed.next().flatten() } else { None };
            let known = match (by_list, (probe.shows)(attempt)) {
                (_, clear @ (Known::Yes | Known::No)) => clear,
                (Some(true), Known::Unclear) => Known::Yes,
                (Some(false), Known::Unclear) => Known::No,
                (None, Known::Unclear) => Known::Unclear,
            };
            // The lists are in order, so the first way that is not ruled out stays.
            if known == Known::No && speech.index(*question) == *index {
                speech.demote(*question, *index);
            }
        }
        Ok(speech)
    }

    /// For each command asked about, whether `COMMAND INFO` lists it; nothing where it was refused.
    fn listed(&self, info: Option<&Reply>) -> Vec<Option<bool>> {
        let asked = self
            .probed
            .iter()
            .filter(|(.., way)| way.probe().is_some_and(|probe| probe.command.is_some()));
        match info {
            Some(Reply::Array(entries)) if entries.len() == asked.clone().count() => entries
                .iter()
                .map(|entry| Some(matches!(entry, Reply::Array(fields) if !fields.is_empty())))
                .collect(),
            _ => asked.map(|_| None).collect(),
        }
    }
}
