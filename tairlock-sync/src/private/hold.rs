//! A body under a lock: ask, run the body, give back.

use tairlock::core_private::{Answers, Scope, enter, loss};

use crate::{Error, Lease, Leases, Lock, LockAll, LockGuard, LockGuards};

/// Runs `body` under `lock`; `answers` says what to answer if the lock is not had or is lost.
///
/// A body that blocks cannot be cut off: it runs to its end, and then the caller is told of a loss.
pub fn hold<L, T, O, F>(lock: L, answers: Answers<T, O>, body: F) -> T
where
    L: Asked,
    O: FnOnce(Error) -> T,
    F: FnOnce(L::View) -> T,
{
    let held = match lock.ask() {
        Ok(held) => held,
        Err(error) => return answers.denied(error),
    };
    let scope = held.enter();
    let output = body(held.view());
    drop(scope);
    match held.settle() {
        Some(lost) => answers.tainted(output, lost),
        None => output,
    }
}

/// Something to ask for before a body runs: one lock, several, or none where a condition says so.
pub trait Asked {
    /// What the body is held under.
    type Held: Held<View = Self::View>;
    /// What the body sees of it.
    type View;

    /// Asks for it.
    ///
    /// # Errors
    /// As `Lock::acquire`.
    fn ask(self) -> Result<Self::Held, Error>;
}

/// What a body is held under. Dropping it gives it back.
pub trait Held {
    /// What the body sees of it.
    type View;

    /// What the body sees of it.
    fn view(&self) -> Self::View;

    /// A body under it runs from here on.
    fn enter(&self) -> Scope;

    /// Gives it back; answers the loss if it was not ours to the end.
    fn settle(self) -> Option<Error>;
}

impl Asked for Lock {
    type Held = LockGuard;
    type View = Lease;

    fn ask(self) -> Result<LockGuard, Error> {
        self.acquire()
    }
}

impl Held for LockGuard {
    type View = Lease;

    fn view(&self) -> Lease {
        self.lease().clone()
    }

    fn enter(&self) -> Scope {
        enter([self.held()])
    }

    fn settle(self) -> Option<Error> {
        let (key, state) = (self.key().clone(), self.state());
        let reason = loss(state, self.release().ok())?;
        Some(Error::Lost { key, reason })
    }
}

/// With a condition: `None` runs the body without.
impl<L: Asked> Asked for Option<L> {
    type Held = Option<L::Held>;
    type View = Option<L::View>;

    fn ask(self) -> Result<Self::Held, Error> {
        self.map(L::ask).transpose()
    }
}

impl<H: Held> Held for Option<H> {
    type View = Option<H::View>;

    fn view(&self) -> Self::View {
        self.as_ref().map(H::view)
    }

    fn enter(&self) -> Scope {
        self.as_ref().map_or_else(|| enter([]), H::enter)
    }

    fn settle(self) -> Option<Error> {
        self.and_then(H::settle)
    }
}

impl Asked for LockAll {
    type Held = LockGuards;
    type View = Leases;

    fn ask(self) -> Result<LockGuards, Error> {
        self.acquire()
    }
}

impl Held for LockGuards {
    type View = Leases;

    fn view(&self) -> Leases {
        self.leases().clone()
    }

    fn enter(&self) -> Scope {
        enter(self.guards().iter().map(LockGuard::held))
    }

    fn settle(self) -> Option<Error> {
        let each = self.into_guards().into_iter().rev();
        each.fold(None, |lost, guard| guard.settle().or(lost))
    }
}
