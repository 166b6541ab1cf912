//! What is put into a keeper's hands: a grant to keep, or a token to undo.

use crate::{Confirm, Key, Token, Ttl, options::Hold, report::Holding, time::Timestamp};

/// Names a lease that the keeper keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tenancy {
    pub(super) id: u64,
    pub(super) ttl: Ttl,
    /// Until when the key is to stay at least.
    pub(super) keep: Option<Timestamp>,
    /// A question that asked for it may be under way still, and arrive after its release.
    pub(super) late: bool,
}

impl Tenancy {
    /// How long the lease lasts at a time.
    #[must_use]
    pub const fn ttl(self) -> Ttl {
        self.ttl
    }
}

/// What an acquire was granted.
#[derive(Debug)]
pub struct Grant {
    /// The lock.
    pub key: Key,
    /// What stands there.
    pub token: Token,
    /// For how long at a time.
    pub ttl: Ttl,
    /// Whether to prolong it.
    pub renew: bool,
    /// For how long to hold it at least and at most.
    pub hold: Hold,
    /// Which copies have it, and must have every renewal.
    pub confirm: Option<Confirm>,
    /// The fence that was issued with it.
    pub fence: Option<u64>,
    /// When the command that won was sent.
    pub sent: Timestamp,
    /// Until when it is surely ours.
    pub until: Timestamp,
    /// Whether some of several servers have not answered yet: what was asked of them may arrive after the
    /// lock's release, which is sent once more therefore.
    pub late: bool,
    /// What is told of it; the default is nothing.
    pub holding: Holding,
}

/// A token that may stand on the server and must not.
#[derive(Clone, Debug)]
pub struct Undo<R> {
    /// The lock.
    pub key: Key,
    /// What may stand there.
    pub token: Token,
    /// By then it is gone of itself.
    pub until: Timestamp,
    /// The connection that carried the acquire: asked first, as nothing overtakes anything on it.
    /// Where it is gone, the release is sent at once on another, and once more a response deadline
    /// later: the acquire may still be under way.
    pub route: Option<R>,
    /// Whether to send it once more in any case, as several connections carried an acquire.
    pub again: bool,
}
