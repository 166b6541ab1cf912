//! How a waiter waits once the lock was busy: for a push, for the end of the holder's time, or by polling.

use std::time::Duration;

use super::{Backoff, SendId, Verdict, backoff::SplitMix64, crowd::Crowd};
use crate::{Fault, FaultKind, time::Timestamp};

/// An expiry is no promise to the millisecond.
const EXPIRED_AFTER: Duration = Duration::from_millis(2);
/// Pushes can be lost without a sign, so nobody waits for one longer than this.
const LONGEST: Duration = Duration::from_secs(2);

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
#[derive(Clone, Copy, Debug)]
enum Why {
    /// It was busy, or nothing was heard for long.
    Busy,
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
            State::Listening { .. } if crowd.is_dense(now) => {
                self.state =
                    State::Slot { until: now + crowd.slot(&mut self.random, self.lost, now) };
            }
            // Where we gave way, somebody has taken it: to ask now would lose a race that nobody ran.
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
                // Taken before we looked is no race that was lost: who gave it back may have taken it again.
                crowd.met(now);
                let end = left.map(|left| left + EXPIRED_AFTER);
                let expires = end.is_some_and(|end| end <= LONGEST);
                let until = now + end.unwrap_or(LONGEST).min(LONGEST);
                if changed {
                    State::Inquire(Why::Busy)
                } else {
                    State::Listening { until, expires }
                }
            }
            (reply, why) => {
                let never = [FaultKind::Unsupported, FaultKind::Permission, FaultKind::Config];
                if reply.is_err_and(|fault| never.contains(&fault.kind())) {
                    self.push = false;
                }
                let until = match why {
                    Why::GiveWay(until) => until,
                    Why::Busy => now + self.pause(),
                };
                State::Pausing { until }
            }
        };
    }

    fn ask_at(until: Timestamp, now: Timestamp) -> Want {
        if now < until { Want::Wait(until) } else { Want::Ask }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: Verdict = Verdict::Remaining(Some(Duration::from_secs(10)));

    /// Asks the listener, which answers.
    fn inquire(waiting: &mut Waiting, id: u64, says: Verdict, now: Timestamp, crowd: &mut Crowd) {
        assert_eq!(waiting.poll(now), Want::Inquire);
        waiting.inquiring(SendId(id));
        waiting.heard(SendId(id), Ok(says), now, crowd);
    }

    #[test]
    fn who_meets_one_other_asks_as_soon_as_it_is_free() {
        let (mut crowd, start) = (Crowd::default(), Timestamp::from_nanos(1 << 40));
        let mut waiting = Waiting::new(1);
        waiting.begin(start, &mut crowd);
        inquire(&mut waiting, 0, HELD, start, &mut crowd);
        // It is given back and taken again by one who has not met us.
        for round in 1..10 {
            let now = start + Duration::from_millis(2) * round;
            waiting.changed(now, &mut crowd);
            inquire(&mut waiting, round.into(), HELD, now, &mut crowd);
        }
        let now = start + Duration::from_millis(20);
        waiting.changed(now, &mut crowd);
        inquire(&mut waiting, 10, Verdict::Gone, now, &mut crowd);
        assert_eq!(waiting.poll(now), Want::Ask);
        assert!(!crowd.is_dense(now));
    }

    #[test]
    fn who_gave_way_looks_when_it_was_taken_also_in_a_crowd() {
        let (mut crowd, start) = (Crowd::default(), Timestamp::from_nanos(1 << 40));
        (0..4).for_each(|_| crowd.lost(start));
        assert!(crowd.is_dense(start));
        let mut waiting = Waiting::new(1);
        waiting.give_way(start + Duration::from_millis(10));
        inquire(&mut waiting, 0, Verdict::Gone, start, &mut crowd);
        waiting.changed(start, &mut crowd);
        inquire(&mut waiting, 1, HELD, start, &mut crowd);
        // Given back: now it is drawn who asks first.
        waiting.changed(start, &mut crowd);
        assert!(matches!(waiting.state, State::Slot { .. }), "{:?}", waiting.state);
    }
}
