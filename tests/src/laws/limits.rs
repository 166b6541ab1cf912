//! What holds for how long a lock is held: at most, and at least.

use std::{
    thread,
    time::{Duration, Instant},
};

use tairlock::{ConfigError, Error, LeaseState, LossReason, Release, Ttl};

use super::{Stage, assert_busy, take};

const SOON: Duration = Duration::from_secs(10);

/// O24, RedLock.net#68: renewed without limit while the body is stuck.
pub(super) fn a_stuck_holder_loses_the_lock(stage: Stage<'_>) {
    let client = stage.client();
    let ask = stage.ask("k").ttl(1_500).max_hold(2_000);
    let began = Instant::now();
    let guard = take(&*client, &ask);
    let waiting = client.another();
    thread::scope(|scope| {
        // In the same client's line: it is served when the key is free, not when the lease is lost.
        let next = scope.spawn(|| take(&*waiting, &stage.ask("k").wait(10_000)));
        assert_eq!(guard.lease().wait_lost(SOON), Some(LossReason::MaxHold));
        let held = began.elapsed();
        assert!(held >= Duration::from_millis(1_900), "not before: {held:?}");
        assert!(!guard.lease().is_held() && guard.lease().remaining().is_zero());
        let next = next.join().expect("the waiter");
        // The last renewal was at 1.5 s or later, so that the key had more than a second to live.
        let served = began.elapsed();
        assert!(served < Duration::from_millis(2_900), "released, not expired: {served:?}");
        assert_eq!(guard.lease().state(), LeaseState::Lost(LossReason::MaxHold));
        assert!(matches!(guard.release().expect("release"), Release::Taken));
        assert!(next.lease().is_held(), "untouched by who held it before");
    });
}

pub(super) fn without_renewal_the_ttl_comes_before_max_hold(stage: Stage<'_>) {
    let guard = take(
        &*stage.client(),
        &stage.ask("k").ttl(stage.ttl(200)).max_hold(stage.ttl(200)).fixed(),
    );
    assert_eq!(guard.lease().wait_lost(SOON), Some(LossReason::Expired));
}

pub(super) fn a_lock_given_back_early_stays_for_min_hold(stage: Stage<'_>) {
    let (client, stranger) = (stage.client(), stage.client());
    let key = stage.key("k");
    let guard = take(&*client, &stage.ask("k").ttl(30_000).min_hold(1_000));
    let granted = Instant::now();
    match guard.release().expect("release") {
        Release::Retained { left } => assert!(left <= Duration::from_secs(1), "{left:?}"),
        other => panic!("{other:?}"),
    }
    assert!(granted.elapsed() < Duration::from_millis(700), "a release answers at once");
    // The key's own time to live keeps it, whatever becomes of this process, and no longer.
    let left = stage.place.ttl(&key);
    assert!(left.is_some_and(|left| left <= Duration::from_millis(1_001)), "{left:?}");
    assert_busy(&*stranger, &stage.ask("k"));
    assert_busy(&*client, &stage.ask("k"));
    assert!(client.close(), "nothing is left to do for it");

    let next = take(&*stranger, &stage.ask("k").wait(10_000));
    let held = granted.elapsed();
    assert!(held >= Duration::from_millis(990), "free before its time: {held:?}");
    assert_eq!(next.release().expect("release"), Release::Released);
}

pub(super) fn a_dropped_guard_keeps_its_lock_for_min_hold(stage: Stage<'_>) {
    let client = stage.client();
    // Longer than the TTL, too.
    let guard = take(&*client, &stage.ask("k").ttl(600).min_hold(1_200).wait(1_000));
    let granted = Instant::now();
    drop(guard);
    // In line behind it, in the same client.
    let next = take(&*client, &stage.ask("k").wait(10_000));
    let held = granted.elapsed();
    assert!(held >= Duration::from_millis(1_190), "free before its time: {held:?}");
    assert_eq!(next.release().expect("release"), Release::Released);
}

/// O11: what is left of a hold is never said as an expiry of nothing.
pub(super) fn after_its_time_a_release_frees_the_lock(stage: Stage<'_>) {
    let client = stage.client();
    let guard = take(&*client, &stage.ask("k").min_hold(300));
    assert_eq!(guard.lease().wait_lost(Duration::from_millis(350)), None);
    assert_eq!(guard.release().expect("release"), Release::Released);
    assert!(!stage.place.exists(&stage.key("k")));
}

pub(super) fn after_a_loss_nothing_is_kept(stage: Stage<'_>) {
    let client = stage.client();
    let guard = take(&*client, &stage.ask("k").min_hold(20_000));
    stage.place.delete(&stage.key("k"));
    assert_eq!(guard.release().expect("release"), Release::Expired);
    assert!(!stage.place.exists(&stage.key("k")));

    let guard = take(&*client, &stage.ask("k").min_hold(20_000));
    stage.place.steal(&stage.key("k"), "a stranger");
    assert_eq!(guard.release().expect("release"), Release::Taken);
    let left = stage.place.ttl(&stage.key("k")).expect("the stranger's key");
    assert!(left > Duration::from_secs(45), "the stranger's minute is untouched: {left:?}");
}

/// O6, T8: a duration of 0 deletes the lock in other libraries, and one too long never ends.
pub(super) fn a_hold_that_makes_no_sense_is_refused(stage: Stage<'_>) {
    let client = stage.client();
    let ttl = Ttl::DEFAULT;
    let max = [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_micros(999),
        Duration::from_millis(1),
        Duration::from_millis(2),
        Duration::from_secs(1),
        Duration::from_millis(9_999),
    ];
    for given in max {
        let ask = crate::world::Ask { max_hold: Some(given), ..stage.ask("k") };
        let refused = ConfigError::MaxHoldBelowTtl { given, ttl };
        super::refusing::assert_refused(&*client, &ask, &Error::Config(refused));
    }
    let days = Duration::from_secs(24 * 24 * 3600);
    for (given, max_hold, most) in [
        (Duration::MAX, None, days),
        (Duration::from_millis(i64::MAX.unsigned_abs()), None, days),
        (days + Duration::from_nanos(1), Some(Duration::MAX), days),
        (Duration::from_millis(10_001), Some(Duration::from_secs(10)), Duration::from_secs(10)),
    ] {
        let ask = crate::world::Ask { min_hold: Some(given), max_hold, ..stage.ask("k") };
        let refused = ConfigError::MinHoldTooLong { given, most };
        super::refusing::assert_refused(&*client, &ask, &Error::Config(refused));
    }
    assert!(!stage.place.exists(&stage.key("k")), "nothing was sent");

    // What does make sense, at its edges. Zero is none; what is next to nothing is a release.
    for given in [0, 1, 999_999, 1_000_000, 2_000_000, 10_000_000].map(Duration::from_nanos) {
        let ask = crate::world::Ask { min_hold: Some(given), ..stage.ask("k").wait(5_000) };
        let guard = take(&*client, &ask);
        let left = stage.place.ttl(&stage.key("k")).expect("the key is there");
        assert!(left > Duration::from_secs(5), "a hold shortens no lease: {left:?}");
        assert!(guard.release().expect("release").was_held(), "{given:?}");
    }
    let longest = stage.ask("long").max_hold(u64::MAX);
    let guard = take(&*client, &crate::world::Ask { min_hold: Some(days), ..longest });
    assert!(matches!(guard.release().expect("release"), Release::Retained { .. }));
    stage.place.delete(&stage.key("long"));
}
