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
    /// How many races were lost so far.
    lost: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The listener is to be asked how long the holder has left, which makes it listen.
    Inquire(Why),
    Inquiring {
        id: SendId,
        why: Why,
        changed: bool,
    },
    Listening {
        since: Timestamp,
        until: Timestamp,
        expires: bool,
    },
    /// It may be free; some who know that go first.
    Slot {
        until: Timestamp,
    },
    /// It is free, and others are to go first.
    GivingWay {
        until: Timestamp,
    },
    /// Nobody listens for us.
    Pausing {
        until: Timestamp,
    },
}

/// Why the listener is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It was busy, or nothing was heard for long.
    Busy,
    /// It has changed again very soon.
    Hot,
    /// To see whether others go first, who have until then.
    GiveWay(Timestamp),
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
        let state = State::Inquire(Why::Busy);
        let (random, polls) = (SplitMix64(!seed).fork(), Backoff::polling(seed));
        Self { random, polls, push: true, lost: 0, state }
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
            self.lost += 1;
            crowd.lost(now);
        }
        crowd.met(now);
        self.state = if self.push {
            State::Inquire(Why::Busy)
        } else {
            State::Pausing { until: now + self.pause() }
        };
    }

    /// It may be free, and others go first until then.
    pub(super) const fn give_way(&mut self, until: Timestamp) {
        self.state = State::Inquire(Why::GiveWay(until));
    }

    /// It is ours.
    pub(super) fn end(&self, now: Timestamp, crowd: &mut Crowd) {
        match self.state {
            State::Slot { .. } => crowd.won(now),
            State::GivingWay { .. } => crowd.overtook(now),
            _ => {}
        }
    }

    /// The lock was asked for because it seemed to be free.
    const fn was_hunting(&self) -> bool {
        matches!(self.state, State::Slot { .. })
    }

    pub(super) fn poll(&mut self, now: Timestamp) -> Want {
        match self.state {
            State::Inquire(_) => Want::Inquire,
            State::Inquiring { .. } => Want::Wait(Timestamp::NEVER),
            State::Slot { until } | State::GivingWay { until } | State::Pausing { until } => {
                Self::ask_at(until, now)
            }
            State::Listening { until, expires: true, .. } => Self::ask_at(until, now),
            State::Listening { until, .. } if now < until => Want::Wait(until),
            State::Listening { .. } => {
                self.state = State::Inquire(Why::Busy);
                Want::Inquire
            }
        }
    }

    pub(super) fn inquiring(&mut self, id: SendId) {
        if let State::Inquire(why) = self.state {
            self.state = State::Inquiring { id, why, changed: false };
        }
    }

    /// The key has changed, or may have: nothing that was listened for is certain any more.
    pub(super) fn changed(&mut self, now: Timestamp, crowd: &mut Crowd) {
        if let State::GivingWay { .. } = self.state {
            crowd.met(now);
        }
        match &mut self.state {
            State::Inquiring { changed, .. } => *changed = true,
            State::Listening { .. } | State::GivingWay { .. } if crowd.is_dense(now) => {
                self.state =
                    State::Slot { until: now + crowd.slot(&mut self.random, self.lost, now) };
            }
            &mut State::Listening { since, .. } if now.since(since) < HOT => {
                self.state = State::Inquire(Why::Hot);
            }
            State::Listening { .. } | State::GivingWay { .. } => {
                self.state = State::Inquire(Why::Busy);
            }
            State::Pausing { .. } if self.push => self.state = State::Inquire(Why::Busy),
            State::Inquire(_) | State::Slot { .. } | State::Pausing { .. } => {}
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
        let State::Inquiring { id: asked, why, changed } = self.state else { return };
        if id != asked {
            return;
        }
        self.state = match (reply, why) {
            (Ok(Verdict::Gone), Why::GiveWay(until)) if !changed => State::GivingWay { until },
            (Ok(Verdict::Gone), _) => {
                State::Slot { until: now + crowd.slot(&mut self.random, self.lost, now) }
            }
            (Ok(Verdict::Remaining(left)), _) => {
                crowd.met(now);
                if why == Why::Hot {
                    self.lost += 1;
                    crowd.lost(now);
                }
                let end = left.map(|left| left + EXPIRED_AFTER);
                let expires = end.is_some_and(|end| end <= LONGEST);
                let until = now + end.unwrap_or(LONGEST).min(LONGEST);
                if changed {
                    State::Inquire(Why::Busy)
                } else {
                    State::Listening { since: now, until, expires }
                }
            }
            (reply, why) => {
                let never = [FaultKind::Unsupported, FaultKind::Permission, FaultKind::Config];
                if reply.is_err_and(|fault| never.contains(&fault.kind())) {
                    self.push = false;
                }
                let until = match why {
                    Why::GiveWay(until) => until,
                    Why::Busy | Why::Hot => now + self.pause(),
                };
                State::Pausing { until }
            }
        };
    }

    fn ask_at(until: Timestamp, now: Timestamp) -> Want {
        if now < until { Want::Wait(until) } else { Want::Ask }
    }
}
