//! What a server says of itself. Whatever it does not say is unknown, and the rest goes on.

use std::time::Duration;

use crate::Confirm;

/// What is known of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// What could not be asked, and what was answered instead.
    pub refused: Vec<(&'static str, String)>,
    /// `maxmemory-policy`.
    pub policy: Option<String>,
    /// `maxmemory`, in bytes; 0 is no limit.
    pub max_memory: Option<u64>,
    /// Whether the append-only file is on.
    pub append_only: Option<bool>,
    /// `appendfsync`.
    pub fsync: Option<String>,
    /// Whether a rewrite of the append-only file begins with a snapshot.
    pub preamble: Option<bool>,
    /// The save points: after so many seconds, if so many changes.
    pub save: Option<Vec<(u64, u64)>>,
    /// Whether the last write to the append-only file, and the last snapshot, went well.
    pub writes_well: Option<bool>,
    /// What it is to others.
    pub role: Option<Role>,
    /// Those that follow it.
    pub replicas: Vec<Replica>,
    /// `min-replicas-to-write`.
    pub min_replicas: Option<u64>,
    /// How many replicas the client asks to confirm a grant; `None` if it does not ask.
    pub confirmation: Option<u64>,
    /// Whether it knows the command for that, and the one that waits for files.
    pub waits: Option<bool>,
    /// See [`Facts::waits`].
    pub waits_for_files: Option<bool>,
    /// Whether it is part of a cluster, and whether that is well.
    pub cluster: Option<Option<bool>>,
    /// How far its clock is ahead of ours, or behind, in microseconds; and how sure that is.
    pub clock: Option<(i64, Duration)>,
    /// What the user may not do, of what locks and values need.
    pub denied: Vec<&'static str>,
    /// Whether it tells of changes, so that waiters need not ask.
    pub tracks: Option<bool>,
    /// Operations that are said by a script, for lack of a command.
    pub by_script: Vec<&'static str>,
}

impl Facts {
    /// With what the client asks to confirm a grant.
    #[must_use]
    pub fn confirmed_by(self, confirm: Option<Confirm>) -> Self {
        Self { confirmation: confirm.map(|confirm| confirm.of_replicas().into()), ..self }
    }
}

/// What a server is to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Takes writes.
    Primary,
    /// Follows another one.
    Replica,
}

/// A server that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Where it is.
    pub place: String,
    /// Whether it is connected and up to date.
    pub online: bool,
    /// How many seconds ago it was last heard.
    pub lag: Option<u64>,
}
