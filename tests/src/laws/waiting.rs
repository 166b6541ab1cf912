//! What holds for those who wait.

use std::{
    sync::{Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use tairlock::{Error, Release};

use super::{Stage, take};
use crate::world::Ask;

pub(super) fn served_when_free(stage: Stage<'_>) {
    let client = stage.client();
    let guard = take(&*client, &stage.ask("k"));
    let (began, begun) = mpsc::channel();
    thread::scope(|scope| {
        let waiter = client.another();
        let served = scope.spawn(move || {
            began.send(()).expect("somebody listens");
            let guard = waiter.acquire(&stage.ask("k").wait(30_000)).expect("served");
            (Instant::now(), guard.release().expect("release"))
        });
        begun.recv().expect("the waiter began");
        let freed = Instant::now();
        assert_eq!(guard.release().expect("release"), Release::Released);
        let (at, released) = served.join().expect("the waiter");
        assert!(at >= freed, "served while it was held");
        assert_eq!(released, Release::Released);
    });
}

pub(super) fn served_in_order(stage: Stage<'_>) {
    const WAITERS: usize = 6;
    let client = stage.client();
    let guard = take(&*client, &stage.ask("k").wait(1_000));
    let order = Mutex::new(Vec::new());
    let (began, begun) = mpsc::channel();
    thread::scope(|scope| {
        for number in 0..WAITERS {
            let (waiter, began, order) = (client.another(), began.clone(), &order);
            scope.spawn(move || {
                began.send(()).expect("somebody listens");
                let guard = waiter.acquire(&stage.ask("k").wait(60_000)).expect("served");
                order.lock().expect("no panic").push(number);
                assert_eq!(guard.release().expect("release"), Release::Released);
            });
            begun.recv().expect("the waiter began");
            // From its word that it begins to its place in the line there is no event to wait for.
            thread::sleep(Duration::from_millis(30));
        }
        drop(guard);
    });
    let order = order.into_inner().expect("no panic");
    assert_eq!(order, (0..WAITERS).collect::<Vec<_>>());
}

/// O20: out of time is not busy, and not an outage.
pub(super) fn ends_when_it_was_to_end(stage: Stage<'_>) {
    let client = stage.client();
    let guard = take(&*client, &stage.ask("k"));
    for waiter in [client.another(), stage.client()] {
        let began = Instant::now();
        match waiter.acquire(&stage.ask("k").wait(200)) {
            Err(error @ Error::TimedOut { waited, .. }) => {
                assert!(error.is_busy());
                assert!(waited >= Duration::from_millis(200), "{waited:?}");
                assert!(began.elapsed() >= waited);
            }
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
    assert_eq!(guard.release().expect("release"), Release::Released);
    // Nobody who gave up is still in the way.
    drop(take(&*client, &stage.ask("k").wait(5_000)));
}

pub(super) fn served_across_clients(stage: Stage<'_>) {
    let holder = stage.client();
    let (served, service) = mpsc::channel();
    let ask: Ask = stage.ask("k").wait(30_000);
    thread::scope(|scope| {
        let guard = take(&*holder, &ask);
        for _ in 0..3 {
            let (client, served, ask) = (stage.client(), served.clone(), ask.clone());
            scope.spawn(move || {
                let guard = client.acquire(&ask).expect("served");
                assert_eq!(guard.release().expect("release"), Release::Released);
                served.send(()).expect("somebody listens");
            });
        }
        assert!(service.try_recv().is_err(), "served while it was held");
        drop(guard);
        for _ in 0..3 {
            service.recv_timeout(Duration::from_secs(30)).expect("every waiter is served");
        }
    });
}
