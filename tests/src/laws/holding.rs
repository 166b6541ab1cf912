//! What holds while a lock is held, and when it is given back.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use tairlock::{Error, LeaseState, Release};

use super::{Stage, assert_busy, take};
use crate::world::Config;

/// T2: two are never inside at once, with contention and no fault at all.
pub(super) fn one_holder_at_a_time(stage: Stage<'_>) {
    const THREADS: u32 = 8;
    const ROUNDS: u32 = 40;
    let inside = AtomicU32::new(0);
    let count = AtomicU32::new(0);
    // Half of them share a client, the others have one each.
    let shared = stage.client();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let client = if number % 2 == 0 { shared.another() } else { stage.client() };
            let (inside, count) = (&inside, &count);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let guard = take(&*client, &stage.ask("k").wait(60_000));
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders");
                    // Read, then write: lost unless nobody else is here.
                    let read = count.load(Ordering::SeqCst);
                    thread::yield_now();
                    count.store(read + 1, Ordering::SeqCst);
                    assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1, "two holders");
                    assert_eq!(guard.release().expect("release"), Release::Released);
                }
            });
        }
    });
    assert_eq!(count.into_inner(), THREADS * ROUNDS);
    assert!(!stage.place.exists(&stage.key("k")));
}

pub(super) fn busy_is_no_error(stage: Stage<'_>) {
    let (mine, theirs) = (stage.client(), stage.client());
    let guard = take(&*mine, &stage.ask("k"));
    assert_busy(&*theirs, &stage.ask("k"));
    assert_busy(&*mine, &stage.ask("k"));
    match theirs.acquire(&stage.ask("k")) {
        Err(error @ Error::Busy { .. }) => {
            assert!(error.is_busy() && error.is_transient());
            assert!(error.to_string().contains(stage.name), "names the key: {error}");
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
    drop(take(&*theirs, &stage.ask("another")));
    assert_eq!(guard.release().expect("release"), Release::Released);
}

/// O20: each end has a word of its own.
pub(super) fn release_says_what_it_did(stage: Stage<'_>) {
    let client = stage.client();
    let guard = take(&*client, &stage.ask("k"));
    let lease = guard.lease().clone();
    assert_eq!(guard.release().expect("release"), Release::Released);
    assert_eq!(lease.state(), LeaseState::Released);
    assert!(!lease.is_held() && lease.remaining().is_zero());
    assert!(!stage.place.exists(&stage.key("k")));

    let guard = take(&*client, &stage.ask("k"));
    stage.place.delete(&stage.key("k"));
    assert_eq!(guard.release().expect("release"), Release::Expired);

    let guard = take(&*client, &stage.ask("k"));
    stage.place.steal(&stage.key("k"), "somebody");
    assert_eq!(guard.release().expect("release"), Release::Taken);
}

pub(super) fn drop_releases(stage: Stage<'_>) {
    let client = stage.client();
    for _ in 0..20 {
        drop(take(&*client, &stage.ask("k").wait(5_000)));
    }
    // The last drop may be under way; whoever waits is served by it.
    let other = stage.client();
    assert_eq!(
        take(&*other, &stage.ask("k").wait(5_000)).release().expect("release"),
        Release::Released
    );
}

/// O8, O53: no key stands without an expiry, and what stands there is the token, byte for byte.
pub(super) fn every_key_dies_of_itself(stage: Stage<'_>) {
    let guard = take(&*stage.client(), &stage.ask("k").ttl(7_000));
    let left = stage.place.ttl(&stage.key("k")).expect("the key is there");
    assert!(left <= Duration::from_secs(7) && left > Duration::from_secs(5), "{left:?}");
    let stored = stage.place.get(&stage.key("k"));
    assert_eq!(stored.as_deref(), Some(guard.lease().token().as_bytes()));
}

/// O1: a renewal is of the same unit as the grant: the key never has longer to live than its TTL.
pub(super) fn renewed_while_its_guard_lives(stage: Stage<'_>) {
    let guard = take(&*stage.client(), &stage.ask("k").ttl(900));
    assert_eq!(guard.lease().wait_lost(Duration::from_millis(2_000)), None);
    assert!(guard.lease().is_held());
    let stored = stage.place.get(&stage.key("k"));
    assert_eq!(stored.as_deref(), Some(guard.lease().token().as_bytes()));
    assert!(stage.place.ttl(&stage.key("k")).expect("there") <= Duration::from_millis(900));
    assert_eq!(guard.release().expect("release"), Release::Released);
}

pub(super) fn certain_is_less_than_the_ttl(stage: Stage<'_>) {
    let guard = take(&*stage.client(), &stage.ask("k").ttl(10_000).fixed());
    let certain = guard.lease().remaining();
    assert!(certain <= Duration::from_millis(10_000 - 102), "{certain:?}");
    assert!(certain > Duration::from_secs(8), "{certain:?}");
    assert!(certain < stage.place.ttl(&stage.key("k")).expect("the key is there"));
}

pub(super) fn any_bytes_are_a_key(stage: Stage<'_>) {
    let client = stage.client();
    let mut keys: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    keys.extend([b"a}b{c".to_vec(), b"{}".to_vec(), b"\r\n$1\r\n".to_vec(), vec![0; 300]]);
    for bytes in keys {
        let key = [stage.name.as_bytes(), b":", &bytes[..]].concat();
        let guard = take(&*client, &crate::world::Ask::new(&key));
        assert_eq!(guard.lease().key().as_bytes(), key);
        assert!(stage.place.exists(&key), "{key:?}");
        assert_eq!(guard.release().expect("release"), Release::Released);
        assert!(!stage.place.exists(&key), "{key:?}");
    }
}

pub(super) fn prefix_and_label(stage: Stage<'_>) {
    let prefix = stage.key("app:");
    let config = Config { prefix: prefix.clone(), label: Some("worker-3"), ..Config::default() };
    let guard = take(&*stage.client_with(&config), &crate::world::Ask::new("k"));
    let whole = [&prefix[..], b"k"].concat();
    assert_eq!(guard.lease().key().as_bytes(), whole);
    let token = stage.place.get(&whole).expect("the key is there");
    assert!(token.starts_with(b"worker-3@"), "{}", token.escape_ascii());

    let again = take(&*stage.client_with(&config), &crate::world::Ask::new("other"));
    assert_ne!(again.lease().token(), guard.lease().token(), "a token per acquisition");
}

pub(super) fn a_panic_releases(stage: Stage<'_>) {
    let client = stage.client();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = take(&*client, &stage.ask("k"));
        std::panic::resume_unwind(Box::new("the body panicked"));
    }));
    assert!(panicked.is_err());
    drop(take(&*stage.client(), &stage.ask("k").wait(5_000)));
}

pub(super) fn close_releases_everything(stage: Stage<'_>) {
    let client = stage.client();
    let guards: Vec<_> =
        (0..10).map(|number| take(&*client, &stage.ask(&format!("k{number}")))).collect();
    assert!(client.close(), "every release is answered");
    for (number, guard) in guards.iter().enumerate() {
        assert!(!guard.lease().is_held());
        assert!(!stage.place.exists(&stage.key(&format!("k{number}"))));
    }
    assert!(matches!(client.acquire(&stage.ask("k")), Err(Error::Closed)));
    assert!(matches!(client.another().try_acquire(&stage.ask("k")), Err(Error::Closed)));
    assert!(client.close(), "closing again finds nothing to do");
}
