//! An update under way, and single questions: the machines of values, driven.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use event_listener::{Event, EventListener};
use tairlock::{
    Codec, Error, Fault,
    bell::Turn,
    proto::{Deed, Errand, Event as Told, Machine, Op, Outcome, Update, Verdict},
    time,
    value::{Change, Known, Recall, Stored, ValueOp, ValueRequest, Working},
};

use crate::{
    client::Inner,
    drive::{self, Port},
};

/// Asks one question about the value of `request`.
pub(super) fn ask(
    inner: &Inner,
    request: &ValueRequest,
    deed: Deed,
) -> Result<(ValueOp, Outcome), Error> {
    let (within, seed) = (inner.limits.response, inner.next_seed());
    let errand = Mutex::new(Errand::of(request, deed, within, seed, time::now()));
    let asking = Asking { inner };
    let outcome = drive::drive(&errand, &asking, asking.listen());
    let errand = errand.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((errand.op().clone(), outcome))
}

/// Where questions about values go.
struct Asking<'a> {
    inner: &'a Inner,
}

impl Port<()> for Asking<'_> {
    fn call(&self, (): (), op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.inner.commands.call(op, within)
    }

    fn listen(&self) -> EventListener {
        Event::new().listen()
    }

    fn rung(&self) -> Option<Told> {
        None
    }
}

/// An update whose computation is somewhere else: ask for a copy, compute on it, and say what is left
/// of it, until that is settled.
#[derive(Debug)]
pub(crate) struct Updating<'a, T> {
    pub(crate) request: &'a ValueRequest,
    recall: &'a Recall,
    working: Working<T>,
    turning: Turning<'a>,
    /// What is to be computed on next, if that is known already.
    next: Option<Option<Stored>>,
}

struct Turning<'a> {
    machine: Mutex<Update>,
    recall: &'a Recall,
    asking: Asking<'a>,
    turn: Turn,
}

impl<'a, T> Updating<'a, T> {
    pub(super) fn begin(
        inner: &'a Inner,
        request: &'a ValueRequest,
        recall: &'a Recall,
        codec: Codec<T>,
    ) -> Self {
        let asking = Asking { inner };
        let (within, seed) = (inner.limits.response, inner.next_seed());
        let machine = Update::new(request, Known::Nothing, within, seed, time::now());
        let turn = inner.values.lines.enter(&request.key);
        let turning = Turning { machine: Mutex::new(machine), recall, asking, turn };
        let working = Working::new(request, codec);
        drive::lock(&turning.machine).stand_in_line();
        Self { request, recall, working, turning, next: None }
    }

    /// A copy to compute on: of what is known, at first, and of what is there, after a conflict. `None`
    /// where there is no value.
    ///
    /// # Errors
    /// As [`Versioned::update`](super::Versioned::update).
    pub(crate) fn attempt(&mut self) -> Result<Option<T>, Error> {
        loop {
            if self.next.is_none() {
                self.next = self.progress()?;
            }
            let stored = self.next.take().flatten();
            match self.working.copy(stored.as_ref()) {
                Ok(copy) => return Ok(copy),
                Err(error) => {
                    if self.settle(Change::Nothing)? {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// What has become of the last copy.
    ///
    /// # Errors
    /// [`Error::Encode`].
    pub(crate) fn change(&self, left: Option<&T>) -> Result<Change, Error> {
        self.working.change(left)
    }

    /// Commits `change`; if that is nothing, sees to it that what was computed on was there. `false`:
    /// it was not, and there is to be computed again.
    ///
    /// # Errors
    /// As [`Versioned::update`](super::Versioned::update).
    pub(crate) fn settle(&mut self, change: Change) -> Result<bool, Error> {
        drive::lock(&self.turning.machine).computed(change, time::now());
        self.next = self.progress()?;
        Ok(self.next.is_none())
    }

    fn progress(&mut self) -> Result<Option<Option<Stored>>, Error> {
        let machine = &self.turning.machine;
        let bell = self.turning.listen();
        // Whoever was in front may have left before there was somebody to hear it.
        if let Some(told) = self.turning.rung() {
            drive::lock(machine).handle(told, time::now());
        }
        let updated = drive::drive(machine, &self.turning, bell);
        if self.turning.turn.has_come() {
            self.recall.set(drive::lock(machine).known().clone());
        }
        updated.progress(self.request)
    }
}

impl Port<()> for Turning<'_> {
    fn call(&self, (): (), op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.asking.call((), op, within)
    }

    fn listen(&self) -> EventListener {
        self.turn.listen()
    }

    fn rung(&self) -> Option<Told> {
        let come = self.turn.has_come();
        come.then(|| {
            drive::lock(&self.machine).remember(self.recall.get());
            Told::Rung
        })
    }
}

impl std::fmt::Debug for Turning<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turning").field("turn", &self.turn).finish_non_exhaustive()
    }
}
