//! Spans and events, through the crate `tracing`.

use std::time::Duration;

use tracing::{Span, dispatcher, field::Empty, span::EnteredSpan};

use crate::{Error, Fault, Key, LossReason, Token};

/// A key that may have to be shown.
#[derive(Debug)]
pub(super) struct Shown(Key);

impl Shown {
    pub(super) fn of(key: &Key) -> Self {
        Self(key.clone())
    }
}

/// A span, of which the default is none.
#[derive(Clone, Debug)]
pub(super) struct Trace(Span);

impl Default for Trace {
    fn default() -> Self {
        Self(Span::none())
    }
}

/// A span that the thread is in, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Entered(
    #[expect(dead_code, reason = "it is there to be dropped")] Option<EnteredSpan>,
);

impl Trace {
    /// From the question to the answer.
    pub(super) fn wait(name: &'static str, key: &Key, owner: Option<&str>) -> Self {
        Self(tracing::info_span!(
            target: "tairlock",
            "tairlock.wait",
            name,
            %key,
            owner,
            outcome = Empty
        ))
    }

    /// From the grant to the end.
    pub(super) fn hold(name: &'static str, key: &Key, token: &Token, fence: Option<u64>) -> Self {
        Self(tracing::info_span!(
            target: "tairlock",
            "tairlock.hold",
            name,
            %key,
            owner = token.label(),
            fence,
            outcome = Empty
        ))
    }

    /// The thread is in the span from here on.
    pub(super) fn enter(self) -> Entered {
        Entered((!self.0.is_disabled()).then(|| self.0.entered()))
    }

    pub(super) fn outcome(&self, outcome: &'static str) {
        self.0.record("outcome", outcome);
    }

    pub(super) fn slow_wait(
        &self,
        name: &'static str,
        Shown(key): &Shown,
        waited: Duration,
        outcome: &'static str,
    ) {
        self.tell(|| {
            let waited = waited.as_secs_f64();
            tracing::warn!(target: "tairlock", parent: &self.0, name, %key, waited, outcome, "slow wait");
        });
    }

    pub(super) fn uncertain(&self, name: &'static str, key: &Key, fault: Option<&Fault>) {
        self.tell(|| {
            let fault = fault.map(tracing::field::display);
            tracing::warn!(
                target: "tairlock", parent: &self.0, name, %key, fault, "a renewal was not confirmed"
            );
        });
    }

    pub(super) fn lost(
        &self,
        name: &'static str,
        key: &Key,
        reason: &'static str,
        why: LossReason,
    ) {
        self.tell(|| {
            tracing::warn!(target: "tairlock", parent: &self.0, name, %key, reason, "lease lost: {why}");
        });
    }

    /// To whom the span was told: on the keeper's thread that need not be who else would be told.
    fn tell(&self, event: impl Fn()) {
        let event = &event;
        if self.0.with_subscriber(|(_, told)| dispatcher::with_default(told, event)).is_none() {
            event();
        }
    }
}

/// A function that is to be skipped when its lock is busy was.
pub(crate) fn skipped(error: &Error) {
    let key = error.key().map(tracing::field::display);
    tracing::info!(target: "tairlock", key, "skipped: somebody else holds the lock");
}

/// Tells of an error that nobody is answered with.
pub(crate) fn unsaid(error: &Error) {
    tracing::error!(target: "tairlock", %error, "a function under a lock had no way to return this");
}
