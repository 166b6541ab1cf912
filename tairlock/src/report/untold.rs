//! No spans and events: the feature `tracing` is off.

use std::time::Duration;

use crate::{Error, Fault, Key, LossReason, Token};

#[derive(Debug)]
pub(super) struct Shown;

impl Shown {
    pub(super) const fn of(_key: &Key) -> Self {
        Self
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Trace;

/// A span that nobody is in.
#[derive(Debug, Default)]
pub(crate) struct Entered;

impl Trace {
    pub(super) const fn wait(_name: &'static str, _key: &Key, _owner: Option<&str>) -> Self {
        Self
    }

    pub(super) const fn hold(
        _name: &'static str,
        _key: &Key,
        _token: &Token,
        _fence: Option<u64>,
    ) -> Self {
        Self
    }

    pub(super) const fn enter(self) -> Entered {
        Entered
    }

    pub(super) const fn outcome(&self, _outcome: &'static str) {}

    pub(super) const fn slow_wait(
        &self,
        _name: &'static str,
        _key: &Shown,
        _waited: Duration,
        _outcome: &'static str,
    ) {
    }

    pub(super) const fn uncertain(&self, _name: &'static str, _key: &Key, _fault: Option<&Fault>) {}

    pub(super) const fn lost(
        &self,
        _name: &'static str,
        _key: &Key,
        _reason: &'static str,
        _why: LossReason,
    ) {
    }
}

/// There is no log.
pub(crate) const fn skipped(_error: &Error) {}

/// There is no log.
pub(crate) const fn unsaid(_error: &Error) {}
