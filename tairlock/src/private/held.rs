//! What a body can be held under: one lock, several, or none at all where a condition says so.

use std::{
    future::Future,
    task::{Context, Poll},
};

use event_listener::EventListener;

use crate::{
    Error, Lease, Leases, Lock, LockAll, LockGuard, LockGuards,
    core_private::{Scope, enter, loss},
};

/// Something to ask for before a body runs.
pub trait Asked {
    /// What the body is held under.
    type Held: Held<View = Self::View>;
    /// What the body sees of it.
    type View;

    /// Asks for it.
    fn ask(self) -> impl Future<Output = Result<Self::Held, Error>> + Send;
}

/// What a body is held under. Dropping it gives it back in the background.
pub trait Held: Send {
    /// What the body sees of it.
    type View;
    /// What is kept between polls to be woken by a loss.
    type Bell: Default;

    /// What the body sees of it.
    fn view(&self) -> Self::View;

    /// Ready when it is lost, with what the caller is told.
    fn poll_lost(&self, bell: &mut Self::Bell, cx: &mut Context<'_>) -> Poll<Error>;

    /// A body under it is polled from here on.
    fn enter(&self) -> Scope;

    /// Gives it back; answers the loss if it was not ours to the end.
    fn settle(self) -> impl Future<Output = Option<Error>> + Send;
}

impl Asked for Lock {
    type Held = LockGuard;
    type View = Lease;

    async fn ask(self) -> Result<LockGuard, Error> {
        self.acquire().await
    }
}

impl Held for LockGuard {
    type View = Lease;
    /// Only a share needs one: what it is a share in watches as well.
    type Bell = Option<EventListener>;

    fn view(&self) -> Lease {
        self.lease().clone()
    }

    fn poll_lost(&self, bell: &mut Self::Bell, cx: &mut Context<'_>) -> Poll<Error> {
        let lease = self.lease();
        let lost = if self.is_lent() { lease.poll_lost(bell, cx) } else { lease.watch(cx) };
        lost.map(|reason| Error::Lost { key: self.key().clone(), reason })
    }

    fn enter(&self) -> Scope {
        enter([self.held()])
    }

    async fn settle(self) -> Option<Error> {
        let (key, state) = (self.key().clone(), self.state());
        let reason = loss(state, self.release().await.ok())?;
        Some(Error::Lost { key, reason })
    }
}

/// With a condition: `None` runs the body without.
impl<L: Asked + Send> Asked for Option<L> {
    type Held = Option<L::Held>;
    type View = Option<L::View>;

    async fn ask(self) -> Result<Self::Held, Error> {
        match self {
            Some(lock) => lock.ask().await.map(Some),
            None => Ok(None),
        }
    }
}

impl<H: Held> Held for Option<H> {
    type View = Option<H::View>;
    type Bell = H::Bell;

    fn view(&self) -> Self::View {
        self.as_ref().map(H::view)
    }

    fn poll_lost(&self, bell: &mut Self::Bell, cx: &mut Context<'_>) -> Poll<Error> {
        self.as_ref().map_or(Poll::Pending, |held| held.poll_lost(bell, cx))
    }

    fn enter(&self) -> Scope {
        self.as_ref().map_or_else(|| enter([]), H::enter)
    }

    async fn settle(self) -> Option<Error> {
        match self {
            Some(held) => held.settle().await,
            None => None,
        }
    }
}

impl Asked for LockAll {
    type Held = LockGuards;
    type View = Leases;

    async fn ask(self) -> Result<LockGuards, Error> {
        self.acquire().await
    }
}

impl Held for LockGuards {
    type View = Leases;
    type Bell = Vec<Option<EventListener>>;

    fn view(&self) -> Leases {
        self.leases().clone()
    }

    fn poll_lost(&self, bells: &mut Self::Bell, cx: &mut Context<'_>) -> Poll<Error> {
        bells.resize_with(self.guards().len(), || None);
        let mut each = self.guards().iter().zip(bells);
        let lost = each.find_map(|(guard, bell)| match guard.poll_lost(bell, cx) {
            Poll::Ready(error) => Some(error),
            Poll::Pending => None,
        });
        lost.map_or(Poll::Pending, Poll::Ready)
    }

    fn enter(&self) -> Scope {
        enter(self.guards().iter().map(LockGuard::held))
    }

    async fn settle(self) -> Option<Error> {
        let mut lost = None;
        for guard in self.into_guards().into_iter().rev() {
            lost = guard.settle().await.or(lost);
        }
        lost
    }
}
