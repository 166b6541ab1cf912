//! What a client remembers of those who want the same lock: whom to let go first, and how far to spread out.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::backoff::SplitMix64;
use crate::{Key, time::Timestamp};

/// How long a contender is remembered after it was met.
const MEMORY: Duration = Duration::from_millis(300);
/// After its own release a client leaves the lock alone for this long and three round trips: what a
/// waiter needs to hear of it, look, and ask.
const GRACE: Duration = Duration::from_millis(2);
const LONGEST_GRACE: Duration = Duration::from_millis(20);
/// A holder cannot see who waits: a lock that is taken again and again is left alone once in so long.
const STREAK: Duration = Duration::from_millis(12);
/// The mean slot tends to this after a first race that was lost, and to this at most.
const FIRST_SLOT: Duration = Duration::from_micros(500);
const LONGEST_SLOT: Duration = Duration::from_millis(48);
/// With each race won, one more in so long is run: added to the rate, while a loss divides it by 1.5, so that
/// all who compete come to the same rate.
const RATE_STEP: Duration = Duration::from_millis(16);
/// A mean slot halves in so long without races.
const HALF_LIFE: Duration = Duration::from_millis(100);
/// How many races may be lost before a slot gets shorter.
const PATIENCE: u32 = 6;
/// Mean slots below this are none: timers are no finer, and two clients need none.
const NO_SLOT: Duration = Duration::from_millis(1);
/// Above this, there are so many that the next is somebody else.
const MANY: Duration = Duration::from_millis(4);
/// Keys that are remembered at most, and for how long at least.
const MOST: usize = 1024;

/// What a client remembers, by key; little, and not for long.
#[derive(Debug, Default)]
pub struct Crowds(Mutex<HashMap<Key, Crowd>>);

impl Crowds {
    /// What is known of `key`.
    #[must_use]
    pub fn about(&self, key: &Key) -> Crowd {
        self.lock().get(key).copied().unwrap_or_default()
    }

    /// `key` was given back by this client.
    pub fn released(&self, key: &Key, now: Timestamp) {
        self.change(key, now, |crowd| crowd.released = Some(now));
    }

    /// What a waiter has learned of `key`.
    pub(super) fn learned(&self, key: &Key, learned: Crowd, now: Timestamp) {
        self.change(key, now, |crowd| {
            let released = crowd.released.max(learned.released);
            *crowd = Crowd { released, ..learned };
        });
    }

    /// How many keys are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn change(&self, key: &Key, now: Timestamp, change: impl FnOnce(&mut Crowd)) {
        let mut crowds = self.lock();
        if crowds.len() >= MOST && !crowds.contains_key(key) {
            crowds.retain(|_, crowd| now.since(crowd.touched) < MEMORY);
            if crowds.len() >= MOST {
                return;
            }
        }
        let crowd = crowds.entry(key.clone()).or_default();
        change(crowd);
        crowd.touched = now;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Crowd>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of those who want one lock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd {
    touched: Timestamp,
    /// When somebody else was last seen to hold it.
    met: Option<Timestamp>,
    /// When this client last gave it back.
    released: Option<Timestamp>,
    /// Since when this client has taken it again and again.
    streak: Option<Timestamp>,
    /// How far apart those are to ask who hear of a release at once: the mean of their slots, and when
    /// it was that.
    slot: (Duration, Timestamp),
    /// What a question takes.
    round_trip: Duration,
}

impl Crowd {
    /// When to ask first: now, unless others are to go first after a release of our own.
    pub(super) fn begin(&mut self, random: &mut SplitMix64, now: Timestamp) -> First {
        let Some(released) = self.released else { return First::Now };
        let grace = (GRACE + self.round_trip * 3).min(LONGEST_GRACE);
        let met = self.met.is_some_and(|met| now.since(met) < MEMORY);
        let streak = now.since(*self.streak.get_or_insert(now)) >= STREAK;
        if released + grace <= now {
            self.streak = Some(now);
            First::Now
        } else if met {
            self.streak = Some(now);
            // Behind nearly all whose slots are as long as ours.
            let mean = self.mean(now);
            let first = released + grace + mean;
            if mean < MANY {
                First::GiveWay(first + mean * 3)
            } else {
                First::Pause(first + self.slot(random, 0, now))
            }
        } else if streak {
            self.streak = Some(now);
            First::Pause(released + grace / 2)
        } else {
            First::Now
        }
    }

    /// Nobody has gone first although there are others: their slots are longer than ours.
    pub(super) fn overtook(&mut self, now: Timestamp) {
        if self.tendency(now) < MANY {
            self.lost(now);
        }
    }

    /// Somebody else holds it.
    pub(super) const fn met(&mut self, now: Timestamp) {
        self.met = Some(now);
    }

    /// Somebody else was faster after a release.
    pub(super) fn lost(&mut self, now: Timestamp) {
        let mean = self.tendency(now);
        self.slot = ((mean + mean / 2).clamp(FIRST_SLOT, LONGEST_SLOT), now);
    }

    /// Nobody was faster after a release.
    pub(super) fn won(&mut self, now: Timestamp) {
        let mean = self.tendency(now).as_micros();
        let step = RATE_STEP.as_micros();
        let mean = u64::try_from(mean * step / (mean + step)).unwrap_or_default();
        self.slot = (Duration::from_micros(mean), now);
    }

    /// A question took this long.
    pub(super) fn took(&mut self, round_trip: Duration) {
        self.round_trip = (self.round_trip * 3 + round_trip) / 4;
    }

    /// Whether several are known to want it at once.
    pub(super) fn is_dense(&self, now: Timestamp) -> bool {
        !self.mean(now).is_zero()
    }

    /// How long to stay back once it may be free: drawn so that who has waited is no likelier to be next
    /// than who has just begun to.
    ///
    /// Who has lost several races since it began to wait stays back less and less: those whose slots are
    /// long must not lose to a few whose slots are short for ever.
    pub(super) fn slot(&self, random: &mut SplitMix64, lost: u32, now: Timestamp) -> Duration {
        let mean = self.mean(now) / 2_u32.saturating_pow(lost.saturating_sub(PATIENCE).min(16));
        if mean < NO_SLOT {
            return Duration::ZERO;
        }
        #[allow(clippy::cast_precision_loss, reason = "53 bits are drawn")]
        let even = ((random.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        mean.mul_f64((-even.ln()).min(4.0))
    }

    fn mean(&self, now: Timestamp) -> Duration {
        let mean = self.tendency(now);
        if mean < NO_SLOT { Duration::ZERO } else { mean }
    }

    fn tendency(&self, now: Timestamp) -> Duration {
        let (mean, then) = self.slot;
        let halvings = now.since(then).as_nanos() / HALF_LIFE.as_nanos();
        mean / 2_u32.saturating_pow(u32::try_from(halvings).unwrap_or(31).min(31))
    }
}

/// How an acquire begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// It asks.
    Now,
    /// It asks then: somebody may be there whom nobody has noticed.
    Pause(Timestamp),
    /// It asks then, unless somebody else has taken it before.
    GiveWay(Timestamp),
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn others_go_first_only_where_there_are_others() {
        let (mut random, start) = (SplitMix64(1), Timestamp::from_nanos(1 << 40));
        let mut alone = Crowd { released: Some(start), ..Crowd::default() };
        assert_eq!(alone.begin(&mut random, start), First::Now);
        let mut met = Crowd { met: Some(start), ..alone };
        assert_eq!(met.begin(&mut random, start), First::GiveWay(start + GRACE));
        assert_eq!(met.begin(&mut random, start + ms(50)), First::Now, "they have gone");
        let later = start + MEMORY;
        let mut forgotten = Crowd { released: Some(later), streak: None, ..met };
        assert_eq!(forgotten.begin(&mut random, later), First::Now);
    }

    #[test]
    fn a_lock_taken_again_and_again_is_left_alone_now_and_then() {
        let (mut random, start) = (SplitMix64(1), Timestamp::from_nanos(1 << 40));
        let (mut crowd, mut waits) = (Crowd::default(), 0);
        for tick in 0..100 {
            let now = start + ms(tick);
            waits += u32::from(crowd.begin(&mut random, now) != First::Now);
            crowd.released = Some(now + ms(1));
        }
        assert!((5..=9).contains(&waits), "{waits}");
    }

    #[test]
    fn losses_spread_out_and_time_forgets() {
        let (mut crowd, start) = (Crowd::default(), Timestamp::from_nanos(1 << 40));
        assert!(!crowd.is_dense(start));
        for _ in 0..20 {
            crowd.lost(start);
        }
        assert_eq!(crowd.mean(start), LONGEST_SLOT);
        crowd.won(start);
        assert!(crowd.mean(start) < LONGEST_SLOT / 2);
        assert!(!crowd.is_dense(start + ms(3_000)));
    }

    #[test]
    fn remembers_few_and_not_for_long() {
        let (crowds, start) = (Crowds::default(), Timestamp::from_nanos(1 << 40));
        for nth in 0..MOST * 3 {
            crowds.released(&Key::new(format!("{nth}")).unwrap(), start);
        }
        assert_eq!(crowds.len(), MOST);
        crowds.released(&Key::new("new").unwrap(), start + MEMORY);
        assert_eq!(crowds.len(), 1);
    }
}
