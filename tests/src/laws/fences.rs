//! What holds for the numbers that grants are given.

use std::{thread, time::Duration};

use tairlock::{ConfigError, Error, FaultKind, Key, LossReason, Release, Written, slot::fence_key};

use super::{Stage, take};

const SOON: Duration = Duration::from_secs(10);

/// Through every way in which a lock can change hands.
pub(super) fn fences_increase(stage: Stage<'_>) {
    let (client, other) = (stage.client(), stage.client());
    let ask = stage.ask("k").fenced().wait(10_000);
    let mut last = 0;
    let mut next = |guard: &dyn crate::world::Held| {
        let fence = guard.fence().expect("a fence was asked for");
        assert_eq!(guard.lease().fence(), Some(fence));
        assert!(fence > last, "{fence} after {last}");
        // Of our own clock's age: from 2020 on, and such that a script can still count.
        assert!(fence > 1_577_836_800_000_000, "{fence}");
        assert!(fence < 1 << 53, "{fence}");
        last = fence;
    };
    for round in 0..20 {
        let guard = take(if round % 2 == 0 { &*client } else { &*other }, &ask);
        next(&*guard);
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
    // Without release.
    let guard = take(&*client, &ask.clone().ttl(stage.ttl(50)).fixed());
    next(&*guard);
    assert_eq!(guard.lease().wait_lost(SOON), Some(LossReason::Expired));
    next(&*take(&*other, &ask));
    // Taken away, deleted, and stolen.
    let guard = take(&*client, &ask);
    next(&*guard);
    other.force_release(&ask.key).expect("taken").expect("it was held");
    let taken = take(&*other, &ask);
    next(&*taken);
    stage.place.delete(&ask.key);
    let deleted = take(&*client, &ask);
    next(&*deleted);
    stage.place.steal(&ask.key, "a stranger");
    stage.place.delete(&ask.key);
    next(&*take(&*client, &ask));
    // And with many at once.
    let all: Vec<u64> = thread::scope(|scope| {
        let take = || {
            let client = stage.client();
            (0..10).map(|_| take(&*client, &ask).fence().expect("a fence")).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut sorted = all.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), all.len(), "a number was given twice");
    assert!(all.iter().all(|&fence| fence > last));
}

pub(super) fn without_asking_there_is_no_fence(stage: Stage<'_>) {
    let client = stage.client();
    let guard = take(&*client, &stage.ask("k"));
    assert_eq!((guard.fence(), guard.lease().fence()), (None, None));
    let place = fence_key(guard.lease().key());
    assert!(!stage.place.exists(place.as_bytes()));
}

/// A fenced lock is a lock like any other: renewed, kept from others, and from itself.
pub(super) fn a_fenced_lock_is_a_lock(stage: Stage<'_>) {
    let (client, other) = (stage.client(), stage.client());
    let guard = take(&*client, &stage.ask("k").fenced().ttl(900));
    super::assert_busy(&*other, &stage.ask("k").fenced());
    super::assert_busy(&*other, &stage.ask("k"));
    assert_eq!(guard.lease().wait_lost(Duration::from_millis(1_500)), None);
    let left = stage.place.ttl(&stage.key("k")).expect("it is there");
    assert!(left <= Duration::from_millis(900), "{left:?}");
    assert_eq!(guard.release().expect("release"), Release::Released);
    assert!(!stage.place.exists(&stage.key("k")));

    stage.place.put_foreign(&stage.key("hash"));
    let error = client.acquire(&stage.ask("hash").fenced()).map(|_| ()).expect_err("no lock");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType, "{error}");
}

/// O58: counters that nobody needs any more pile up. One key per lock, and it dies of itself.
pub(super) fn a_fence_is_forgotten(stage: Stage<'_>) {
    let client = stage.client();
    let key = Key::new(stage.key("a}b{")).expect("a key");
    for _ in 0..3 {
        drop(take(&*client, &stage.ask("a}b{").fenced().wait(10_000)));
    }
    let place = fence_key(&key);
    let week = Duration::from_secs(7 * 24 * 3600);
    let left = stage.place.ttl(place.as_bytes()).expect("it is kept");
    assert!(left > week - Duration::from_secs(60), "{left:?}");
    assert!(left <= week + Duration::from_secs(10), "{left:?}");
}

pub(super) fn a_broken_fence_is_refused(stage: Stage<'_>) {
    let client = stage.client();
    let key = Key::new(stage.key("k")).expect("a key");
    let place = fence_key(&key);
    for text in ["", "7", "nonsense", "9007199254740991 x", "99999999999999999999999 x"] {
        stage.place.steal(place.as_bytes(), text);
        let error = client.try_acquire(&stage.ask("k").fenced()).map(|_| ()).expect_err("broken");
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Config, "{error}");
        assert!(error.to_string().contains("tairlock:fence:"), "says where: {error}");
        assert!(!stage.place.exists(&stage.key("k")), "refused before the lock was taken");
    }
    stage.place.delete(place.as_bytes());
    stage.place.put_foreign(place.as_bytes());
    let error = client.try_acquire(&stage.ask("k").fenced()).map(|_| ()).expect_err("broken");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Config, "{error}");
    stage.place.delete(place.as_bytes());
    // A number that is ahead of the server's clock is followed all the same.
    stage.place.steal(place.as_bytes(), "9007199254740989 x");
    let guard = take(&*client, &stage.ask("k").fenced());
    assert_eq!(guard.fence(), Some(9_007_199_254_740_990));
    stage.place.delete(place.as_bytes());
}

/// T1: a holder that was paused writes too late, and is refused.
pub(super) fn a_late_writer_is_refused(stage: Stage<'_>) {
    let (client, other) = (stage.client(), stage.client());
    let key = stage.key("v");
    assert_eq!(client.fenced_get(&key).expect("none"), None);
    let paused = take(&*client, &stage.ask("k").fenced().ttl(stage.ttl(50)).fixed());
    let old = paused.fence().expect("a fence");
    client.fenced_set(&key, b"first", old).expect("nobody wrote");
    // It may write again, and sees nothing of its lease's end.
    client.fenced_set(&key, b"second", old).expect("the same fence");
    assert_eq!(paused.lease().wait_lost(SOON), Some(LossReason::Expired));
    let next = take(&*other, &stage.ask("k").fenced().wait(10_000));
    let new = next.fence().expect("a fence");
    // Until the next holder writes, the late one cannot be told from one that was in time.
    client.fenced_set(&key, b"late, and first", old).expect("nobody newer wrote");
    other.fenced_set(&key, b"third", new).expect("newer");
    match client.fenced_set(&key, b"late", old) {
        Err(error @ Error::StaleFence { fence, newest, .. }) => {
            assert_eq!((fence, newest), (old, new));
            assert!(!error.is_transient() && !error.is_busy());
            let text = error.to_string();
            assert!(text.contains(&old.to_string()) && text.contains(&new.to_string()), "{text}");
            assert!(text.contains(stage.name), "names the key: {text}");
        }
        result => panic!("{result:?}"),
    }
    let written = Written { value: b"third".to_vec(), fence: new };
    assert_eq!(client.fenced_get(&key).expect("read"), Some(written));
}

pub(super) fn fences_are_compared_as_numbers(stage: Stage<'_>) {
    let client = stage.client();
    let key = stage.key("v");
    let rising = [0, 9, 10, 99, 100, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, u64::MAX - 1, u64::MAX];
    for (nth, fence) in rising.into_iter().enumerate() {
        let value = [0xff, 0, b'\n', nth as u8];
        client.fenced_set(&key, &value, fence).unwrap_or_else(|error| panic!("{error}"));
        for lower in &rising[..nth] {
            let refused = client.fenced_set(&key, b"late", *lower);
            assert!(
                matches!(refused, Err(Error::StaleFence { newest, .. }) if newest == fence),
                "{lower} after {fence}: {refused:?}"
            );
        }
        let written = Written { value: value.to_vec(), fence };
        assert_eq!(client.fenced_get(&key).expect("read"), Some(written));
    }
}

pub(super) fn another_kind_is_no_fenced_value(stage: Stage<'_>) {
    let client = stage.client();
    stage.place.put_foreign(&stage.key("hash"));
    stage.place.steal(&stage.key("text"), "a lock");
    client.value(&stage.wish("versioned")).create(b"1").expect("created");
    for name in ["hash", "text", "versioned"] {
        let key = stage.key(name);
        let set = client.fenced_set(&key, b"1", 1).expect_err("no fenced value");
        let get = client.fenced_get(&key).map(|_| ()).expect_err("no fenced value");
        for error in [set, get] {
            assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType, "{error}");
            assert!(error.to_string().contains(stage.name), "names the key: {error}");
        }
    }
    // Nor is a fenced value anything else.
    let key = stage.key("v");
    client.fenced_set(&key, b"1", 7).expect("written");
    let error = client.value(&stage.wish("v")).read().map(|_| ()).expect_err("no versioned value");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType, "{error}");
    let error = client.try_acquire(&stage.ask("v")).map(|_| ()).expect_err("no lock");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType, "{error}");
    assert_eq!(client.fenced_get(&key).expect("untouched").expect("there").fence, 7);
    let empty = client.fenced_set(b"", b"1", 1);
    assert!(matches!(empty, Err(Error::Config(ConfigError::EmptyKey))));
    client.close();
    assert!(matches!(client.fenced_set(&key, b"1", 9), Err(Error::Closed)));
}
