//! How operations are said to a server and its replies understood: a list of ways per question, best first.
//!
//! A [`Way`] is one spelling of one question, without I/O. To add one, write it in a file of its own
//! and put it on its list below; detection, fall-back and the laws pick it up from there.

mod acquire;
mod cluster;
mod copies;
mod detect;
mod doctor;
mod exchange;
mod exstring;
mod fence;
mod fenced;
mod hash;
mod identity;
mod ifeq;
mod inspect;
mod program;
mod remaining;
mod script;
mod sentinel;
mod tair;
mod wire;

use std::{
    fmt::Debug,
    sync::atomic::{AtomicUsize, Ordering},
};

pub use cluster::{asking, read_slots, slots};
pub use detect::{Detection, select};
pub use doctor::{diagnose, symptoms};
pub use exchange::Exchange;
pub use identity::{identify, identity};
pub use remaining::{overhear, track, tracks};
pub use sentinel::{is_primary, primary, read_primary, role};
pub use wire::{Arg, Batch, Command, Reply};

use crate::{
    Confirm, Fault, Key, Token, Ttl,
    fault::FaultKind,
    proto::{Confirmed, Confirming, Verdict},
    value::{Action, FencedAction},
};

/// The ways to take a lock.
pub static ACQUIRE: &[&dyn Way] = &[&acquire::SetNxGet, &acquire::SetNx];
/// The ways to take a lock with a fence.
pub static ACQUIRE_FENCED: &[&dyn Way] = &[&fence::Script { whole: false }];
/// The ways to prolong a lease.
pub static RENEW: &[&dyn Way] = &[&ifeq::SetIfEq, &tair::Cas, &script::RENEW];
/// The ways to give a lock back.
pub static RELEASE: &[&dyn Way] = &[&ifeq::DelIfEq, &ifeq::DelEx, &tair::Cad, &script::RELEASE];
/// The ways to see who holds a lock.
pub static INSPECT: &[&dyn Way] = &[&inspect::GetPttl];
/// The ways to take a lock away from whoever holds it.
pub static FORCE_RELEASE: &[&dyn Way] = &[&inspect::GetDel, &inspect::Script { whole: false }];
/// The ways to ask how long a lock is held.
pub static REMAINING: &[&dyn Way] = &[&remaining::Pttl];
/// The ways to keep versioned values. One way is one form of them, which all questions about values
/// share, so that nothing is written in one form and looked for in another.
pub static VALUE: &[&dyn Way] =
    &[&exstring::ExString { whole: false }, &hash::Hash { whole: false }];

/// The ways to keep fenced values.
pub static FENCED: &[&dyn Way] = &[&fenced::Hash { whole: false }];

/// The ways to wait for replicas to have what was written.
pub static REPLICAS: &[&dyn Way] = &[&copies::Wait];
/// The ways to wait for append-only files to have it.
pub static FILES: &[&dyn Way] = &[&copies::WaitAof];

/// What is asked about one key.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The lock, or the value.
    pub key: Key,
    /// Our token; no meaning for a value.
    pub token: Token,
    /// For how long; no meaning for a release or a value.
    pub ttl: Ttl,
    /// About a value; no meaning for a lock.
    pub action: Action,
    /// About a fenced value; no meaning for anything else.
    pub fenced: FencedAction,
    /// Which copies; no meaning but for the question of them.
    pub confirm: Confirm,
}

/// One spelling of one question.
pub trait Way: Debug + Sync {
    /// The commands it uses, for the person who reads logs and the doctor's report.
    fn name(&self) -> &'static str;

    /// The question as a command.
    fn say(&self, ask: &Ask) -> Command;

    /// The reply's meaning.
    fn hear(&self, ask: &Ask, reply: Reply) -> Heard;

    /// Commands that travel right behind it, for what its own reply does not tell.
    fn say_behind(&self, _ask: &Ask) -> Batch {
        Batch::new()
    }

    /// The meaning of the reply and of those to [`Way::say_behind`].
    fn hear_all(&self, ask: &Ask, reply: Reply, _behind: Vec<Reply>) -> Heard {
        self.hear(ask, reply)
    }

    /// How to find out whether a server knows this way; `None` if every server does.
    fn probe(&self) -> Option<Probe> {
        None
    }
}

/// How to find out whether a server knows a way.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The command whose presence tells it, for `COMMAND INFO`; `None` where only trying tells.
    pub command: Option<&'static str>,
    /// A command that changes nothing, for a key that does not exist.
    pub attempt: fn(&Key) -> Command,
    /// Whether this reply to the attempt shows that the server knows the way.
    pub shows: fn(&Reply) -> Known,
}

/// Whether a server knows a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The reply says nothing about it: no permission, not now, not here.
    Unclear,
}

/// What a reply means.
#[derive(Debug)]
pub enum Heard {
    /// The answer.
    Verdict(Verdict),
    /// One more command is needed.
    Then(&'static dyn Way),
    /// The server does not know this way.
    Unknown(Fault),
    /// It failed.
    Fault(Fault),
}

impl Heard {
    /// Reads an error reply, and whatever else no way has a reading for.
    fn unexpected(reply: Reply) -> Self {
        match reply {
            Reply::Error(fault) if fault.kind() == FaultKind::Unsupported => Self::Unknown(fault),
            Reply::Error(fault) => Self::Fault(fault),
            other => Self::Fault(Fault::ambiguous(
                FaultKind::Protocol,
                format!("the server answered {}", other.shape()),
            )),
        }
    }
}

/// Which way is used for which question on one connection: the best that is not known to be missing.
#[derive(Debug, Default)]
pub struct Speech {
    acquire: AtomicUsize,
    acquire_fenced: AtomicUsize,
    renew: AtomicUsize,
    release: AtomicUsize,
    inspect: AtomicUsize,
    force_release: AtomicUsize,
    remaining: AtomicUsize,
    value: AtomicUsize,
    fenced: AtomicUsize,
    replicas: AtomicUsize,
    files: AtomicUsize,
    /// Questions that the server knows no way for, as bits.
    lacking: AtomicUsize,
}

/// A question, as a place in [`Speech`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// See [`ACQUIRE`].
    Acquire,
    /// See [`ACQUIRE_FENCED`].
    AcquireFenced,
    /// See [`RENEW`].
    Renew,
    /// See [`RELEASE`].
    Release,
    /// See [`INSPECT`].
    Inspect,
    /// See [`FORCE_RELEASE`].
    ForceRelease,
    /// See [`REMAINING`].
    Remaining,
    /// See [`VALUE`].
    Value,
    /// See [`FENCED`].
    Fenced,
    /// See [`REPLICAS`].
    Replicas,
    /// See [`FILES`].
    Files,
}

impl Question {
    /// Every question.
    pub const ALL: [Self; 11] = [
        Self::Acquire,
        Self::AcquireFenced,
        Self::Renew,
        Self::Release,
        Self::Inspect,
        Self::ForceRelease,
        Self::Remaining,
        Self::Value,
        Self::Fenced,
        Self::Replicas,
        Self::Files,
    ];

    /// The one that asks for these copies.
    #[must_use]
    pub(crate) const fn of_copies(confirm: Confirm) -> Self {
        if confirm.on_disk() { Self::Files } else { Self::Replicas }
    }

    /// The ways to ask it, best first.
    #[must_use]
    pub fn ways(self) -> &'static [&'static dyn Way] {
        match self {
            Self::Acquire => ACQUIRE,
            Self::AcquireFenced => ACQUIRE_FENCED,
            Self::Renew => RENEW,
            Self::Release => RELEASE,
            Self::Inspect => INSPECT,
            Self::ForceRelease => FORCE_RELEASE,
            Self::Remaining => REMAINING,
            Self::Value => VALUE,
            Self::Fenced => FENCED,
            Self::Replicas => REPLICAS,
            Self::Files => FILES,
        }
    }
}

impl Speech {
    /// The way in use for `question`.
    #[must_use]
    pub fn way(&self, question: Question) -> &'static dyn Way {
        question.ways()[self.place(question).load(Ordering::Relaxed)]
    }

    /// Uses the way called `name` from here on, or says that there is none of that name. For tests
    /// and comparisons: detection finds the best by itself.
    pub fn insist(&self, question: Question, name: &str) -> bool {
        let found = question.ways().iter().position(|way| way.name() == name);
        if let Some(index) = found {
            self.place(question).store(index, Ordering::Relaxed);
        }
        found.is_some()
    }

    /// Whether the server is known to know no way at all.
    #[must_use]
    pub fn lacks(&self, question: Question) -> bool {
        self.lacking.load(Ordering::Relaxed) & (1 << question as usize) != 0
    }

    /// Begins to ask for something that copies must have.
    ///
    /// # Errors
    /// [`FaultKind::Unsupported`], where the server is known not to tell: nothing is asked for then.
    pub fn confirming(&self, confirmed: &Confirmed) -> Result<Confirming, Fault> {
        let question = Question::of_copies(confirmed.confirm);
        if self.lacks(question) {
            let name = question.ways()[0].name();
            let text = format!("the server has no {name}, so a lock cannot be confirmed");
            return Err(Fault::new(FaultKind::Unsupported, text).hint("ask for it without"));
        }
        Ok(Confirming::new(confirmed))
    }

    /// The server does not know the way at `index`: a later one is used from here on.
    fn demote(&self, question: Question, index: usize) {
        let last = question.ways().len() - 1;
        if index == last {
            self.lacking.fetch_or(1 << question as usize, Ordering::Relaxed);
        }
        let next = (index + 1).min(last);
        self.place(question).fetch_max(next, Ordering::Relaxed);
    }

    fn index(&self, question: Question) -> usize {
        self.place(question).load(Ordering::Relaxed)
    }

    const fn place(&self, question: Question) -> &AtomicUsize {
        match question {
            Question::Acquire => &self.acquire,
            Question::AcquireFenced => &self.acquire_fenced,
            Question::Renew => &self.renew,
            Question::Release => &self.release,
            Question::Inspect => &self.inspect,
            Question::ForceRelease => &self.force_release,
            Question::Remaining => &self.remaining,
            Question::Value => &self.value,
            Question::Fenced => &self.fenced,
            Question::Replicas => &self.replicas,
            Question::Files => &self.files,
        }
    }
}
