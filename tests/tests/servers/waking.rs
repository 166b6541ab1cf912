//! What else wakes a waiter: a lock taken away, a key kept for a while, a lock with a fence; and the rights that it takes.

use std::{
    thread,
    time::{Duration, Instant},
};

use tairlock::Release;
use tairlock_tests::{
    Proxy, Server,
    server::Builder,
    subject::tair,
    world::{Ask, Held, Locks, World},
};

use crate::{
    BOUND, client_at, for_each_driver, take,
    waiting::{PUSHED, tracked},
};

for_each_driver!(
    a_lock_taken_away_is_handed_on_at_once,
    a_kept_key_is_handed_on_at_the_end_of_its_hold,
    a_lock_with_a_fence_is_handed_on_at_once,
    the_rights_that_the_readme_names_are_enough_to_be_told,
    one_right_less_and_it_polls,
);

/// By `GETDEL`, `DELEX`, `DELIFEQ`, `CAD`, and a script.
const SERVERS: [fn() -> Builder; 5] =
    [Server::redis62, Server::redis7, Server::redis8, Server::valkey9, || tair(Server::redis7())];

/// Somebody waits for "k", which is then freed; when `freeing` began, and when and what was granted.
fn served<T>(
    server: &Server,
    waiter: &dyn Locks,
    ask: &Ask,
    freeing: impl FnOnce() -> T,
) -> (T, Duration, Box<dyn Held>) {
    thread::scope(|scope| {
        let client = waiter.another();
        let waits = scope.spawn(move || {
            let guard = client.acquire(ask).expect("served");
            (Instant::now(), guard)
        });
        tracked(server, 1);
        let freed = Instant::now();
        let told = freeing();
        let (at, guard) = waits.join().expect("the waiter");
        (told, at.saturating_duration_since(freed), guard)
    })
}

fn a_lock_taken_away_is_handed_on_at_once(world: &dyn World) {
    for start in SERVERS {
        let server = start().start().expect("a server");
        let [holder, waiter, operator] = [(); 3].map(|()| client_at(world, server.url()));
        for fenced in [false, true] {
            let mut ask = Ask::new("k").ttl(60_000);
            ask.fence = fenced;
            let guard = take(&*holder, &ask);
            let (was, took, next) = served(&server, &*waiter, &ask.wait(30_000), || {
                operator.force_release(b"k").expect("taken away").expect("it was held")
            });
            assert!(!was.is_own());
            assert!(took < PUSHED, "{took:?}");
            assert_eq!(next.release().expect("release"), Release::Released);
            // It is told at its next renewal, or by this.
            assert_eq!(guard.release().expect("release"), Release::Expired);
        }
    }
}

fn a_kept_key_is_handed_on_at_the_end_of_its_hold(world: &dyn World) {
    const HELD: Duration = Duration::from_millis(600);
    for start in SERVERS {
        let server = start().start().expect("a server");
        let (holder, waiter) = (client_at(world, server.url()), client_at(world, server.url()));
        let mut late = Vec::new();
        // What a busy machine adds is not the same three times.
        for _ in 0..3 {
            let before = Instant::now();
            let guard = take(&*holder, &Ask::new("k").ttl(60_000).min_hold(600).wait(30_000));
            let granted = Instant::now();
            let ask = Ask::new("k").ttl(60_000).wait(30_000);
            let (release, _, next) = served(&server, &*waiter, &ask, || guard.release());
            let at = Instant::now();
            assert!(matches!(release, Ok(Release::Retained { .. })), "{release:?}");
            assert!(at - before >= HELD, "before its time: {:?}", at - before);
            late.push((at - granted).saturating_sub(HELD));
            assert_eq!(next.release().expect("release"), Release::Released);
        }
        let soonest = late.iter().min().expect("three");
        assert!(*soonest <= Duration::from_millis(100), "{late:?}");
        assert!(late.iter().all(|late| *late < PUSHED), "{late:?}");
    }
}

fn a_lock_with_a_fence_is_handed_on_at_once(world: &dyn World) {
    for start in SERVERS {
        let server = start().start().expect("a server");
        let (holder, waiter) = (client_at(world, server.url()), client_at(world, server.url()));
        let ask = Ask::new("k").ttl(60_000).fenced();
        let guard = take(&*holder, &ask);
        let before = guard.fence().expect("a fence");
        let (release, took, next) =
            served(&server, &*waiter, &ask.wait(30_000), || guard.release());
        assert_eq!(release.expect("release"), Release::Released);
        assert!(took < PUSHED, "{took:?}");
        assert!(next.fence().expect("a fence") > before);
    }
}

/// What a user needs on a server without better commands, besides what a listener needs.
const LOCKS: &str = "~order:* +set +get +evalsha +eval +pexpire +del +exists";
/// What a listener needs in the newer protocol; every user may say `HELLO`.
const RESP3: &str = "+client|tracking +pttl";
/// And where it takes two connections: in the older protocol, and for the blocking driver in both.
const RESP2: &str = "+client|tracking +pttl +client|id +subscribe &__redis__:invalidate";

/// What the listener of this driver needs, and whether it is refused the newer protocol.
fn needs(world: &dyn World) -> [(&'static str, bool); 2] {
    let newer = if world.name() == "blocking" { RESP2 } else { RESP3 };
    [(newer, false), (RESP2, true)]
}

/// Waits as a user with these rights and no others, and is told of the release or polls.
fn waits_with(
    world: &dyn World,
    start: fn() -> Builder,
    (rights, older): (&str, bool),
    told: bool,
) {
    let rules = format!("ada reset on >secret resetchannels {LOCKS} {rights}");
    let server = start().user(&rules).start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    if older {
        proxy.deny("HELLO");
    }
    let client = client_at(world, format!("redis://ada:secret@127.0.0.1:{}/", proxy.port()));
    let holder = client_at(world, server.url());
    let ask = Ask::new("order:1").ttl(60_000).wait(30_000);
    let guard = take(&*holder, &ask);
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let guard = client.acquire(&ask).expect("served");
            (Instant::now(), guard)
        });
        if told {
            tracked(&server, 1);
        } else {
            assert!(proxy.wait_for("SET order:1", 8, BOUND), "{rights}: {:?}", proxy.texts());
        }
        let freed = Instant::now();
        assert_eq!(guard.release().expect("release"), Release::Released);
        let (at, guard) = waits.join().expect("the waiter");
        let took = at.saturating_duration_since(freed);
        assert!(took < PUSHED, "{rights}: {took:?}");
        assert_eq!(guard.release().expect("release"), Release::Released);
    });
}

fn the_rights_that_the_readme_names_are_enough_to_be_told(world: &dyn World) {
    for start in [Server::redis62, Server::redis7, Server::valkey9] {
        for needed in needs(world) {
            waits_with(world, start, needed, true);
        }
    }
}

fn one_right_less_and_it_polls(world: &dyn World) {
    for (rights, older) in needs(world) {
        for right in rights.split(' ') {
            waits_with(world, Server::redis7, (&rights.replace(right, ""), older), false);
        }
    }
}
