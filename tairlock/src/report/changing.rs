//! One update of a value, from the first attempt to the last.

use super::counted::Name;

/// How an update ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Changed {
    Committed,
    Unchanged,
    Exhausted,
    Failed,
    Unknown,
}

/// An update under way. Dropped without an end, it was given up: by its body's error, or with its future.
#[derive(Debug)]
pub(crate) struct Changing {
    name: Name,
    attempts: u32,
    conflicts: u32,
    over: bool,
}

impl Changing {
    pub(crate) fn begin(name: Option<&'static str>) -> Self {
        Self { name: Name::new(name), attempts: 0, conflicts: 0, over: false }
    }

    /// A change is sent.
    pub(crate) const fn attempt(&mut self) {
        self.attempts += 1;
    }

    /// Somebody else was faster.
    pub(crate) const fn conflict(&mut self) {
        self.conflicts += 1;
    }

    pub(crate) fn over(&mut self, how: Changed) {
        self.end(match how {
            Changed::Committed => "committed",
            Changed::Unchanged => "unchanged",
            Changed::Exhausted => "exhausted",
            Changed::Failed => "backend",
            Changed::Unknown => "maybe_committed",
        });
    }

    fn end(&mut self, outcome: &'static str) {
        if !std::mem::replace(&mut self.over, true) {
            self.name.updated(outcome, self.attempts, self.conflicts);
        }
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        self.end("given_up");
    }
}
