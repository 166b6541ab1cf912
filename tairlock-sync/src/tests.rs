//! What the blocking driver promises, on the embedded server and on one that loses replies.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tairlock::{
    memory::SharedStore,
    options::{Limits, Wake},
    proto::{Op, Verdict},
    time,
};

use crate::{
    __private::{self as private, hold, outcome},
    Client, Error, Fault, FaultKind, Key, Label, LeaseState, LossReason, Release,
    node::{Line, MemoryNode, Node},
};

const LONG: Duration = Duration::from_secs(60);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Looks until it is so; what another thread does in its own time has no bell to listen for.
fn eventually(what: &str, so: impl Fn() -> bool) {
    let until = Instant::now() + LONG;
    while !so() {
        assert!(Instant::now() < until, "{what}: not after {LONG:?}");
        thread::sleep(ms(1));
    }
}

fn with_store() -> (Client, Arc<SharedStore>) {
    let store = Arc::new(SharedStore::default());
    (Client::builder().store(Arc::clone(&store)).build().unwrap(), store)
}

fn delete(store: &SharedStore, key: &str) {
    assert!(store.with(|store| store.delete(&Key::new(key).unwrap(), time::now())));
}

fn is_free(store: &SharedStore) -> bool {
    store.with(|store| store.is_empty(time::now()))
}

#[test]
fn goes_from_thread_to_thread() {
    fn shared<T: Send + Sync + std::fmt::Debug>() {}
    shared::<Client>();
    shared::<crate::ClientBuilder>();
    shared::<crate::Lock>();
    shared::<crate::LockGuard>();
}

#[test]
fn no_increment_is_lost_by_16_threads() {
    let (client, count) = (Client::in_memory(), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let lock = client.lock("count").wait(LONG);
                for _ in 0..1_000 {
                    let guard = lock.acquire().unwrap();
                    let seen = count.load(Ordering::Relaxed);
                    thread::yield_now();
                    count.store(seen + 1, Ordering::Relaxed);
                    drop(guard);
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 16_000);
}

#[test]
fn two_clients_of_one_store_exclude_each_other() {
    let (a, store) = with_store();
    let b = Client::builder().store(Arc::clone(&store)).build().unwrap();
    let count = AtomicU64::new(0);
    thread::scope(|scope| {
        for client in [&a, &b] {
            scope.spawn(|| {
                for _ in 0..50 {
                    let guard = client.lock("count").wait(LONG).acquire().unwrap();
                    let seen = count.load(Ordering::Relaxed);
                    thread::yield_now();
                    count.store(seen + 1, Ordering::Relaxed);
                    assert_eq!(guard.release().unwrap(), Release::Released);
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 100);
    assert!(is_free(&store));
}

#[test]
fn busy_is_said_in_three_ways() {
    let client = Client::in_memory();
    let guard = client.lock("k").acquire().unwrap();
    assert!(client.lock("k").try_acquire().unwrap().is_none());

    let at_once = client.lock("k").wait(Duration::ZERO).acquire().unwrap_err();
    assert!(matches!(at_once, Error::Busy { .. }), "{at_once:?}");

    let began = Instant::now();
    let waited = client.lock("k").wait(ms(30)).acquire().unwrap_err();
    assert!(matches!(waited, Error::TimedOut { waited, .. } if waited >= ms(30)), "{waited:?}");
    assert!(began.elapsed() < Duration::from_secs(10));

    drop(guard);
    assert!(client.lock("k").try_acquire().unwrap().is_some());
}

#[test]
fn refused_before_anything_is_sent() {
    let (client, store) = with_store();
    for lock in [client.lock(""), client.lock("k").ttl(ms(9)), client.lock("k").ttl(Duration::MAX)]
    {
        assert!(matches!(lock.acquire(), Err(Error::Config(_))));
        assert!(matches!(lock.try_acquire(), Err(Error::Config(_))));
    }
    assert_eq!(store.with(|store| store.applied()), 0);
    assert!(Client::builder().build().is_err());
    assert!(Client::builder().in_memory().in_memory().build().is_err());
    assert!(Client::builder().in_memory().response_deadline(Duration::ZERO).build().is_err());
}

#[test]
fn what_is_no_lock_is_a_fault_at_once() {
    let (client, store) = with_store();
    store.with(|store| store.put_foreign(Key::new("k").unwrap()));
    let error = client.lock("k").wait(LONG).acquire().unwrap_err();
    assert_eq!(error.fault().map(Fault::kind), Some(FaultKind::WrongType));
}

#[test]
fn served_in_the_order_in_which_they_came() {
    let (client, key) = (Client::in_memory(), Key::new("k").unwrap());
    let order = Mutex::new(Vec::new());
    let first = client.lock("k").acquire().unwrap();
    thread::scope(|scope| {
        for place in 0..8 {
            let (client, order) = (&client, &order);
            scope.spawn(move || {
                let guard = client.lock("k").wait(LONG).acquire().unwrap();
                order.lock().unwrap().push(place);
                drop(guard);
            });
            let in_line = || client.inner().queue.len(&key);
            eventually("in line", || in_line() == place + 2);
        }
        drop(first);
    });
    assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_panic_releases() {
    let (client, store) = with_store();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = client.lock("k").acquire().unwrap();
        panic!("on purpose");
    }));
    assert!(panicked.is_err() && is_free(&store));

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        hold(client.lock("k"), outcome(), |_| -> Result<(), Error> { panic!("on purpose") })
    }));
    assert!(panicked.is_err() && is_free(&store));
}

#[test]
fn renewed_for_as_long_as_the_guard_lives() {
    let (client, store) = with_store();
    let guard = client.lock("k").ttl(ms(300)).acquire().unwrap();
    assert_eq!(guard.wait_lost(ms(1_000)), None);
    assert!(guard.is_held());
    assert_eq!(guard.state(), LeaseState::Held);
    assert_eq!(guard.release().unwrap(), Release::Released);
    assert!(is_free(&store));
}

#[test]
fn not_renewed_where_that_was_not_asked_for() {
    let client = Client::in_memory();
    let guard = client.lock("k").ttl(ms(100)).renew(false).acquire().unwrap();
    assert_eq!(guard.wait_lost(LONG), Some(LossReason::Expired));
    assert_eq!(guard.remaining(), Duration::ZERO);
    assert_eq!(guard.state(), LeaseState::Lost(LossReason::Expired));
}

#[test]
fn a_key_that_vanishes_is_a_loss() {
    let (client, store) = with_store();
    let guard = client.lock("k").ttl(ms(300)).acquire().unwrap();
    delete(&store, "k");
    assert_eq!(guard.wait_lost(LONG), Some(LossReason::Vanished));
    assert!(!guard.is_held());
}

#[test]
fn a_loss_is_told_after_the_body_and_hides_no_error() {
    let (client, store) = with_store();
    let lock = || client.lock("k").renew(false);
    let lose = |lease: crate::Lease| {
        assert!(lease.is_held());
        delete(&store, "k");
    };
    let answer: Result<u8, Error> = hold(lock(), outcome(), |lease| {
        lose(lease);
        Ok(7)
    });
    let vanished = LossReason::Vanished;
    assert!(matches!(answer, Err(Error::Lost { reason, .. }) if reason == vanished));

    let answer: Result<u8, anyhow::Error> = hold(lock(), outcome(), |lease| {
        lose(lease);
        Err(anyhow::anyhow!("my own"))
    });
    assert_eq!(answer.unwrap_err().to_string(), "my own");

    let or_else = || private::or_else(|error: Error| if error.is_lost() { 1 } else { 2 });
    assert_eq!(hold(lock(), or_else(), |_| 0), 0);
    let answer = hold(lock(), or_else(), |lease| {
        lose(lease);
        0
    });
    assert_eq!(answer, 1);

    let _held = lock().acquire().unwrap();
    assert_eq!(hold(lock().wait(Duration::ZERO), or_else(), |_| 0), 2);
}

#[test]
fn one_thread_from_the_first_grant_to_the_last_release() {
    let client = Client::in_memory();
    let keep = Arc::clone(&client.inner().keep);
    let held = client.lock("k");
    assert!(!keep.is_running(), "nothing to keep yet");
    let guard = held.acquire().unwrap();
    assert!(keep.is_running());
    drop((client, held));
    assert!(guard.is_held() && keep.is_running(), "a guard outlives its client");
    drop(guard);
    eventually("the thread ends", || !keep.is_running());
}

#[test]
fn closing_releases_all_and_grants_nothing_more() {
    let (client, store) = with_store();
    let guards: Vec<_> = (0..200).map(|n| client.lock(format!("{n}")).acquire().unwrap()).collect();
    let waiter = thread::spawn({
        let lock = client.lock("0").wait(LONG);
        move || lock.acquire()
    });
    eventually("in line", || client.inner().queue.len(&Key::new("0").unwrap()) == 2);

    assert!(client.close());
    assert!(matches!(waiter.join().unwrap(), Err(Error::Closed)), "granted after the end");
    assert!(matches!(client.lock("k").acquire(), Err(Error::Closed)));
    assert!(guards.iter().all(|guard| guard.state() == LeaseState::Released));
    eventually("all is given back", || is_free(&store));
    drop(guards);
    assert!(client.close(), "again");
    eventually("the thread ends", || !client.inner().keep.is_running());
}

/// A server whose connections are busy, or that loses replies.
#[derive(Debug)]
struct Unreliable {
    store: Arc<SharedStore>,
    loses_replies: AtomicBool,
}

impl Line for Unreliable {
    fn call(&self, op: &Op, _within: Duration) -> Result<Verdict, Fault> {
        let reply = self.store.apply(op);
        if self.loses_replies.load(Ordering::Relaxed) {
            return Err(Fault::ambiguous(FaultKind::NoReply, "no reply"));
        }
        reply
    }

    fn call_if_free(&self, _op: &Op, _within: Duration) -> Option<Result<Verdict, Fault>> {
        None
    }

    fn ready(&self) -> Result<(), Fault> {
        Ok(())
    }
}

fn unreliable(loses_replies: bool) -> (Client, Arc<SharedStore>, Arc<Unreliable>) {
    let store = Arc::new(SharedStore::default());
    let commands =
        Arc::new(Unreliable { store: Arc::clone(&store), loses_replies: loses_replies.into() });
    let node = Node {
        commands: Arc::clone(&commands) as _,
        keeper: MemoryNode::node(Arc::clone(&store)).keeper,
        confirm: None,
        listen: None,
    };
    let limits = Limits { response: ms(50), ..Limits::default() };
    (Client::new(node, Arc::from([]), Label::off(), limits, Wake::Push, None), store, commands)
}

#[test]
fn a_drop_without_a_free_connection_leaves_the_release_to_the_keeper() {
    let (client, store, _) = unreliable(false);
    drop(client.lock("k").acquire().unwrap());
    eventually("released", || is_free(&store));
    assert!(client.close());
}

#[test]
fn a_grant_whose_reply_was_lost_is_undone() {
    let (client, store, _) = unreliable(true);
    let error = client.lock("k").try_acquire().unwrap_err();
    assert_eq!(error.fault().map(Fault::kind), Some(FaultKind::NoReply));
    eventually("undone", || is_free(&store));
    assert!(client.close());
}

#[test]
fn a_lost_reply_is_settled_by_asking_again() {
    let (client, store, line) = unreliable(true);
    let waiter = thread::spawn({
        let lock = client.lock("k").wait(LONG);
        move || lock.acquire()
    });
    eventually("asked", || store.with(|store| store.applied()) > 0);
    line.loses_replies.store(false, Ordering::Relaxed);
    let guard = waiter.join().unwrap().unwrap();
    assert!(guard.is_held());

    line.loses_replies.store(true, Ordering::Relaxed);
    assert_eq!(guard.release().unwrap(), Release::Unknown);
    eventually("released", || is_free(&store));
}
