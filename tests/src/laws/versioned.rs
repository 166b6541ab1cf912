//! What holds for versioned values: no change is lost, and no version comes twice.

use std::{
    collections::{HashMap, HashSet},
    env,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use tairlock::{Error, Expiry, Snapshot};

use super::Stage;
use crate::world::Value;

/// How many threads, and how often each: `TAIRLOCK_INCREMENTS=64x1000` asks for more.
fn scale() -> (u64, u64) {
    let asked = env::var("TAIRLOCK_INCREMENTS").ok();
    let numbers = asked.as_deref().and_then(|text| text.split_once('x')).map(|(threads, each)| {
        (threads.parse().expect("a number of threads"), each.parse().expect("a number of rounds"))
    });
    numbers.unwrap_or((8, 100))
}

fn number(bytes: &[u8]) -> u64 {
    std::str::from_utf8(bytes).expect("text").parse().expect("a number")
}

fn text(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

fn add_one(bytes: &mut Vec<u8>) -> Result<(), Error> {
    *bytes = text(number(bytes) + 1);
    Ok(())
}

fn there(value: &dyn Value) -> Snapshot<Vec<u8>> {
    value.read().expect("read").expect("a value is there")
}

/// As an update, by hand.
fn add_one_by_hand(value: &dyn Value) -> u64 {
    loop {
        let Snapshot { value: seen, version } = there(value);
        match value.compare_and_set(&text(number(&seen) + 1), version) {
            Ok(version) => return version,
            Err(error) => assert!(error.is_conflict(), "{error}"),
        }
    }
}

/// O34, O35, T13: nothing is watched, and no connection matters: what was read is compared where it is written.
pub(super) fn no_increment_is_lost(stage: Stage<'_>) {
    let (threads, each) = scale();
    let shared = stage.client();
    let first = shared.value(&stage.wish("n")).create(b"0").expect("create");
    let versions = Mutex::new(HashSet::from([first]));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&*stage.client().value(&stage.wish("n")), &over));
        let writers: Vec<_> = (0..threads)
            .map(|nth| {
                // Half of them share a client, the others have one each.
                let client = if nth % 2 == 0 { shared.another() } else { stage.client() };
                let (value, versions) = (client.value(&stage.wish("n")), &versions);
                scope.spawn(move || {
                    for round in 0..each {
                        // Some of it by hand, which tells the versions.
                        if nth % 4 == 3 && round % 10 == 0 {
                            let version = add_one_by_hand(&*value);
                            let mut versions = versions.lock().expect("no panic");
                            assert!(versions.insert(version), "version {version} came twice");
                        } else {
                            value.update(&mut add_one).expect("update");
                        }
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        over.store(true, Ordering::Relaxed);
        watcher.join().expect("the watcher");
    });
    let last = there(&*shared.value(&stage.wish("n")));
    assert_eq!(number(&last.value), threads * each);
    assert_eq!(last.version, first + threads * each, "one version for each change");
}

/// Looks on: one version is one content, and versions go up.
fn watch(value: &dyn Value, over: &AtomicBool) {
    let (mut last, mut contents) = (0, HashMap::new());
    while !over.load(Ordering::Relaxed) {
        let Snapshot { value, version } = there(value);
        assert!(version >= last, "version {version} after {last}");
        let known = contents.entry(version).or_insert_with(|| value.clone());
        assert_eq!(*known, value, "two contents of version {version}");
        last = version;
    }
}

/// O36, T13: an expiry or a removal between reading and writing is a conflict.
pub(super) fn no_increment_is_lost_to_removals(stage: Stage<'_>) {
    const WRITERS: u64 = 6;
    const EACH: u64 = 60;
    let (removed, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let versions = Mutex::new(HashSet::new());
    let take = |nth: usize, value: &dyn Value, short: &dyn Value| {
        let Some(Snapshot { value: seen, version }) = value.read().expect("read") else { return };
        // What is taken out is kept on account; a 0 that may expire before somebody adds to it, too.
        let taken = match nth {
            0 => value.remove(version),
            _ => short.compare_and_set(b"0", version).map(drop),
        };
        match taken {
            Ok(()) => {
                removed.fetch_add(number(&seen), Ordering::Relaxed);
                let fresh = versions.lock().expect("no panic").insert(version);
                assert!(fresh, "version {version} came twice");
            }
            Err(error) => assert!(error.is_conflict(), "{error}"),
        }
    };
    thread::scope(|scope| {
        let shared = stage.client();
        let writers: Vec<_> = (0..WRITERS)
            .map(|nth| {
                let client = if nth % 2 == 0 { shared.another() } else { stage.client() };
                let value = client.value(&stage.wish("n"));
                scope.spawn(move || {
                    for _ in 0..EACH {
                        value.update_or(b"0", &mut add_one).expect("update");
                    }
                })
            })
            .collect();
        let takers: Vec<_> = (0..2)
            .map(|nth| {
                let client = stage.client();
                let value = client.value(&stage.wish("n"));
                let soon = Expiry::After(Duration::from_millis(1));
                let short = client.value(&stage.wish("n").expire(soon));
                let (take, over) = (&take, &over);
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        take(nth, &*value, &*short);
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        over.store(true, Ordering::Relaxed);
        takers.into_iter().for_each(|taker| taker.join().expect("a taker"));
    });
    let left = stage.client().value(&stage.wish("n")).read().expect("read");
    let left = left.map_or(0, |snapshot| number(&snapshot.value));
    assert_eq!(left + removed.into_inner(), WRITERS * EACH);
}

/// O61, T13: a version of before a removal comes again in no other library's way.
pub(super) fn a_writer_from_before_a_removal_loses(stage: Stage<'_>) {
    let (early, late) = (stage.client(), stage.client());
    let (early, late) = (early.value(&stage.wish("k")), late.value(&stage.wish("k")));
    let before = early.create(b"1").expect("create");
    for round in 0..5 {
        stage.place.delete(&stage.key("k"));
        let after = late.create(b"2").expect("create");
        assert!(after > before, "{after} after {before}, round {round}");
        let error = early.compare_and_set(b"3", before).expect_err("from before");
        assert!(matches!(error, Error::Conflict { found: Some(found), .. } if found == after));
        assert!(early.remove(before).expect_err("from before").is_conflict());
        assert_eq!(there(&*early).value, b"2");
    }
    // What a handle remembers from before is as stale.
    stage.place.delete(&stage.key("k"));
    late.create(b"6").expect("create");
    early.update(&mut add_one).expect("update");
    assert_eq!(there(&*late).value, b"7");
    stage.place.delete(&stage.key("k"));
    assert!(matches!(early.update(&mut add_one), Err(Error::Absent { .. })));
}

pub(super) fn with_a_fixed_first_version_it_may_win(stage: Stage<'_>) {
    let wish = stage.wish("k").initial_version(1);
    let (early, late) = (stage.client().value(&wish), stage.client().value(&wish));
    assert_eq!(early.create(b"1").expect("create"), 1);
    stage.place.delete(&stage.key("k"));
    assert_eq!(late.create(b"2").expect("create"), 1);
    // That is what the default is for.
    assert_eq!(early.compare_and_set(b"3", 1).expect("nobody can tell"), 2);
    assert_eq!(there(&*late).value, b"3");
}

pub(super) fn versions_are_right_at_the_edges(stage: Stage<'_>) {
    let client = stage.client();
    let edges = [1, 99_999_999_999_999, 100_000_000_000_000, (1 << 53) - 1, 1 << 53, (1 << 53) + 1];
    for first in edges.into_iter().chain([i64::MAX as u64 - 3]) {
        let name = format!("from {first}");
        let wish = stage.wish(&name).initial_version(first);
        let (value, other) = (client.value(&wish), stage.client().value(&wish));
        assert_eq!(value.create(b"0").expect("create"), first);
        assert_eq!(value.create(b"0").expect_err("there").key().map(|_| ()), Some(()));
        value.update(&mut add_one).expect("update");
        assert_eq!(there(&*other).version, first + 1, "{name}");
        assert!(value.compare_and_set(b"x", first).expect_err("stale").is_conflict());
        assert!(value.compare_and_set(b"x", first + 2).expect_err("ahead").is_conflict());
        let keep = client.value(&wish.clone().expire(Expiry::Keep));
        assert_eq!(keep.compare_and_set(b"5", first + 1).expect("swap"), first + 2, "{name}");
        other.update(&mut add_one).expect("update");
        assert_eq!(there(&*value), Snapshot { value: b"6".to_vec(), version: first + 3 }, "{name}");
        value.remove(first + 2).expect_err("stale");
        if first + 3 < i64::MAX as u64 - 1024 {
            assert_eq!(value.overwrite(b"7").expect("overwrite"), first + 4, "{name}");
            value.remove(first + 4).expect("remove");
        } else {
            for refused in [
                value.compare_and_set(b"7", first + 3).map(drop),
                value.overwrite(b"7").map(drop),
                value.update(&mut add_one),
            ] {
                let error = refused.expect_err("nothing follows the last version");
                assert!(error.to_string().contains("9223372036854775807"), "{error}");
            }
            assert_eq!(there(&*value).value, b"6");
            value.remove(first + 3).expect("remove");
        }
        assert_eq!(value.read().expect("read"), None, "{name}");
    }
}

/// O33: one who always comes too late is told so.
pub(super) fn an_update_has_a_budget(stage: Stage<'_>) {
    let (late, fast) = (stage.client(), stage.client());
    let (late, fast) = (late.value(&stage.wish("k").attempts(5)), fast.value(&stage.wish("k")));
    late.create(b"0").expect("create");
    let mut tried = 0;
    let outcome = late.update(&mut |bytes| {
        tried += 1;
        // On a thread of its own: this one may be a runtime's.
        thread::scope(|scope| scope.spawn(|| fast.update(&mut add_one)).join())
            .expect("a writer")?;
        add_one(bytes)
    });
    assert!(matches!(outcome, Err(Error::Exhausted { attempts: 5, .. })), "{outcome:?}");
    assert_eq!(tried, 5);
    assert_eq!(there(&*fast).value, b"5", "theirs, and none of ours");
}
