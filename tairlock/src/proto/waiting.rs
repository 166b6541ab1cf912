//! How a waiter waits once the lock was busy: for a push, for the end of the holder's time, or by polling.

use std::time::Duration;

use super::{Backoff, SendId, Verdict, backoff::SplitMix64, crowd::Crowd};
use crate::{Fault, FaultKind, time::Timestamp};

/// An expiry is no promise to the millisecond.
const EXPIRED_AFTER: Duration = Duration::from_millis(2);
/// Pushes can be lost without a sign, so nobody waits for one longer than this.
const LONGEST: Duration = Duration::from_secs(2);
/// A lock that changed again so soon after it was looked at was taken by somebody faster; renewals are
/// further apart.
const HOT: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Waiting {
    random: SplitMix64,
    polls: Backoff,
    /// Whether the listener is worth asking.
    push: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The listener is to be asked how long the holder has left, which makes it listen.
    Inquire { hot: bool },
    Inquiring { id: SendId, hot: bool, changed: bool },
    Listening { since: Timestamp, until: Timestamp, expires: bool },
    /// It may be free; some who know that go first.
    Slot { until: Timestamp },
    /// Nobody listens for us.
    Pausing { until: Timestamp },
}

/// What a waiter wants next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Want {
    Ask,
    Inquire,
    Wait(Timestamp),
}

impl Waiting {
    pub(super) fn new(seed: u64) -> Self {
        let state = State::Inquire { hot: false };
        Self { random: SplitMix64(!seed).fork(), polls: Backoff::polling(seed), push: true, state }
    }

    pub(super) const fn random(&mut self) -> &mut SplitMix64 {
        &mut self.random
    }

    /// How long to wait where there is nothing to listen for.
    pub(super) fn pause(&mut self) -> Duration {
        self.polls.next().unwrap_or_default()
    }

    /// It is busy.
    pub(super) fn begin(&mut self, now: Timestamp, crowd: &mut Crowd) {
        if self.was_hunting() {
            crowd.lost(now);
        }
        crowd.met(now);
        self.state = if self.push {
            State::Inquire { hot: false }
        } else {
            State::Pausing { until: now + self.pause() }
        };
    }

    /// It is ours.
    pub(super) fn end(&self, now: Timestamp, crowd: &mut Crowd) {
        if self.was_hunting() {
            crowd.won(now);
        }
    }

    /// The lock was asked for because it seemed to be free.
    const fn was_hunting(&self) -> bool {
        matches!(self.state, State::Slot { .. })
    }

    pub(super) fn poll(&mut self, now: Timestamp) -> Want {
        match self.state {
            State::Inquire { .. } => Want::Inquire,
            State::Inquiring { .. } => Want::Wait(Timestamp::NEVER),
            State::Slot { until } | State::Pausing { until } => Self::ask_at(until, now),
            State::Listening { until, expires: true, .. } => Self::ask_at(until, now),
            State::Listening { until, .. } if now < until => Want::Wait(until),
            State::Listening { .. } => {
                self.state = State::Inquire { hot: false };
                Want::Inquire
            }
        }
    }

    pub(super) fn inquiring(&mut self, id: SendId) {
        if let State::Inquire { hot } = self.state {
            self.state = State::Inquiring { id, hot, changed: false };
        }
    }

    /// The key has changed, or may have: nothing that was listened for is certain any more.
    pub(super) fn changed(&mut self, now: Timestamp, crowd: &Crowd) {
        match &mut self.state {
            State::Inquiring { changed, .. } => *changed = true,
            State::Listening { .. } if crowd.is_dense(now) => {
                self.state = State::Slot { until: now + crowd.slot(&mut self.random, now) };
            }
            &mut State::Listening { since, .. } => {
                self.state = State::Inquire { hot: now.since(since) < HOT };
            }
            State::Pausing { .. } if self.push => self.state = State::Inquire { hot: false },
            State::Inquire { .. } | State::Slot { .. } | State::Pausing { .. } => {}
        }
    }

    /// What the listener says.
    pub(super) fn heard(
        &mut self,
        id: SendId,
        reply: Result<Verdict, Fault>,
        now: Timestamp,
        crowd: &mut Crowd,
    ) {
        let State::Inquiring { id: asked, hot, changed } = self.state else { return };
        if id != asked {
            return;
        }
        self.state = match reply {
            Ok(Verdict::Gone) => State::Slot { until: now + crowd.slot(&mut self.random, now) },
            Ok(Verdict::Remaining(left)) => {
                if hot {
                    crowd.lost(now);
                }
                let end = left.map(|left| left + EXPIRED_AFTER);
                let expires = end.is_some_and(|end| end <= LONGEST);
                let until = now + end.unwrap_or(LONGEST).min(LONGEST);
                if changed {
                    State::Inquire { hot: false }
                } else {
                    State::Listening { since: now, until, expires }
                }
            }
            Ok(_) => State::Pausing { until: now + self.pause() },
            Err(fault) => {
                let never = [FaultKind::Unsupported, FaultKind::Permission, FaultKind::Config];
                self.push &= !never.contains(&fault.kind());
                State::Pausing { until: now + self.pause() }
            }
        };
    }

    fn ask_at(until: Timestamp, now: Timestamp) -> Want {
        if now < until { Want::Wait(until) } else { Want::Ask }
    }
}
