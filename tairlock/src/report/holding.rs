//! One lease, from the grant to its end.

use std::time::Duration;

use super::{
    counted::{self, Level},
    told::{Entered, Trace},
    watch::Stopwatch,
    words,
};
use crate::{Fault, Key, LeaseState, LossReason, Release, Token, release::loss};

/// A lease that was granted. The default is one of which nothing is told.
#[derive(Debug, Default)]
pub struct Holding {
    name: Option<&'static str>,
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
        let called = name.unwrap_or(words::UNNAMED);
        let trace = Trace::hold(called, key, token, fence);
        Self { name, trace, level: counted::held(called), watch: Stopwatch::start() }
    }

    fn name(&self) -> &'static str {
        self.name.unwrap_or(words::UNNAMED)
    }

    /// The thread works under it from here on; apart, as [`Holding::doubt`].
    pub(crate) fn enter(&self) -> impl FnOnce() -> Entered + use<> {
        let trace = self.trace.clone();
        move || trace.enter()
    }

    /// A renewal was confirmed while the lease had `margin` to go.
    pub(crate) fn renewed(&self, margin: Duration) {
        counted::renewed(self.name(), words::CONFIRMED);
        counted::margin(self.name(), margin);
    }

    /// A renewal was not confirmed.
    pub(crate) fn unconfirmed(&self) {
        counted::renewed(self.name(), words::UNCONFIRMED);
    }

    /// What is told when the lease has become uncertain; apart, as nobody is called with a lease locked.
    pub(crate) fn doubt(&self) -> impl FnOnce(&Key, Option<&Fault>) + use<> {
        let (trace, name) = (self.trace.clone(), self.name());
        move |key, fault| trace.uncertain(name, key, fault)
    }

    /// It is about to be given back: nobody works under it any more.
    pub(crate) fn let_go(&mut self) {
        self.ends(words::RELEASED);
    }

    /// What the release did; `None` if the server refuses it.
    pub(crate) fn given_back(self, key: &Key, release: Option<Release>) {
        let word = words::release(release);
        counted::returned(self.name(), word);
        // What its holder was sure of until then.
        if let Some(reason) = loss(LeaseState::Released, release) {
            self.tell_loss(key, reason);
        }
        self.trace.outcome(word);
    }

    /// It ended before its guard did.
    pub(crate) fn lost(mut self, key: &Key, reason: LossReason) {
        self.ends(words::LOST);
        self.tell_loss(key, reason);
        self.trace.outcome(words::LOST);
    }

    fn tell_loss(&self, key: &Key, reason: LossReason) {
        counted::lost(self.name(), words::loss(reason));
        self.trace.lost(self.name(), key, words::loss(reason), reason);
    }

    fn ends(&mut self, how: &'static str) {
        self.level.lower();
        counted::ended(self.name(), how, self.watch.elapsed());
    }
}
