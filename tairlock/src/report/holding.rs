//! One lease, from the grant to its end.

use std::time::Duration;

use super::{
    counted::{Level, Name},
    told::{Entered, Trace},
    watch::Stopwatch,
    words,
};
use crate::{Fault, Key, LeaseState, LossReason, Release, Token, release::loss};

/// A lease that was granted. The default is one that has no span.
#[derive(Debug, Default)]
pub struct Holding {
    name: Name,
    trace: Trace,
    level: Level,
    watch: Stopwatch,
}

impl Holding {
    pub(crate) fn begin(
        name: Option<&'static str>,
        key: &Key,
        token: &Token,
        fence: Option<u64>,
    ) -> Self {
        let name = Name::new(name);
        let trace = Trace::hold(name.text(), key, token, fence);
        Self { name, trace, level: name.held(), watch: Stopwatch::start() }
    }

    /// The thread works under it from here on; apart, as [`Holding::doubt`].
    pub(crate) fn enter(&self) -> impl FnOnce() -> Entered + use<> {
        let trace = self.trace.clone();
        move || trace.enter()
    }

    /// A renewal was confirmed while the lease had `margin` to go.
    pub(crate) fn renewed(&self, margin: Duration) {
        self.name.renewed(words::CONFIRMED);
        self.name.margin(margin);
    }

    /// A renewal was not confirmed.
    pub(crate) fn unconfirmed(&self) {
        self.name.renewed(words::UNCONFIRMED);
    }

    /// What is told when the lease has become uncertain; apart, as nobody is called with a lease locked.
    pub(crate) fn doubt(&self) -> impl FnOnce(&Key, Option<&Fault>) + use<> {
        let (trace, name) = (self.trace.clone(), self.name.text());
        move |key, fault| trace.uncertain(name, key, fault)
    }

    /// It is about to be given back: nobody works under it any more.
    pub(crate) fn let_go(&mut self) {
        self.level.lower();
        self.name.let_go(self.watch.elapsed());
    }

    /// What the release did; `None` if the server refuses it.
    pub(crate) fn given_back(self, key: &Key, release: Option<Release>) {
        let word = words::release(release);
        self.name.returned(word);
        // What its holder was sure of until then.
        if let Some(reason) = loss(LeaseState::Released, release) {
            self.tell_loss(key, reason, None);
        }
        self.trace.outcome(word);
    }

    /// It ended before its guard did.
    pub(crate) fn lost(mut self, key: &Key, reason: LossReason) {
        self.level.lower();
        self.tell_loss(key, reason, Some(self.watch.elapsed()));
        self.trace.outcome(words::LOST);
    }

    fn tell_loss(&self, key: &Key, reason: LossReason, held: Option<Duration>) {
        let word = words::loss(reason);
        self.name.lost(word, held);
        self.trace.lost(self.name.text(), key, word, reason);
    }
}
