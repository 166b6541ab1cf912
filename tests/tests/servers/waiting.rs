//! Waiting for a lock that another client holds: how it is handed on, at what cost, and what can go wrong.

use std::{
    thread,
    time::{Duration, Instant},
};

use tairlock::{Error, Release};
use tairlock_tests::{
    Proxy, Server,
    place::Place,
    proxy::Fault,
    server::Builder,
    subject::tair,
    world::{Ask, Config, Locks, World},
};

use crate::{BOUND, client_at, for_each_driver, take, try_client_at};

for_each_driver!(
    a_release_is_pushed_and_costs_two_commands,
    a_deleted_key_is_pushed_on_every_server,
    the_older_protocol_is_told_on_another_connection,
    an_embedded_server_wakes_who_waits,
    a_dead_holder_is_outwaited,
    a_release_before_it_is_listened_for_is_not_missed,
    a_killed_listener_strands_nobody,
    a_server_that_restarts_strands_nobody,
    without_the_right_to_track_it_polls,
    without_tracking_it_polls,
    who_is_told_to_poll_does_not_listen,
    many_waiters_of_one_client_cost_what_one_does,
    an_idle_wait_is_cheap,
    who_gave_up_is_in_nobodys_way,
    many_keys_leave_nothing_behind,
);

/// Sooner than anybody looks by himself.
pub(crate) const PUSHED: Duration = Duration::from_millis(1_500);

/// A key that somebody holds for so long that only a change can end it.
fn hold(server: &Server, key: &str) {
    redis::cmd("SET").arg(key).arg("somebody").arg("EX").arg(60).exec(&mut server.cli()).unwrap();
}

fn delete(server: &Server, key: &str) {
    redis::cmd("DEL").arg(key).exec(&mut server.cli()).expect("DEL");
}

/// Waits until the server tracks so many keys for listeners.
pub(crate) fn tracked(server: &Server, keys: usize) {
    let mut cli = server.cli();
    let began = Instant::now();
    let wanted = format!("tracking_total_keys:{keys}\r");
    loop {
        let stats: String = redis::cmd("INFO").arg("stats").query(&mut cli).expect("INFO");
        if stats.lines().any(|line| line == wanted.trim_end()) {
            return;
        }
        assert!(began.elapsed() < BOUND, "the server never tracked {keys} keys: {stats}");
        thread::yield_now();
    }
}

/// What waiting costs: the commands that were sent about locks.
fn asked(proxy: &Proxy) -> Vec<String> {
    let about = |command: &str| ["PTTL", "SET", "GET"].contains(&command);
    let commands = proxy.commands();
    commands.iter().map(|command| command.name()).filter(|name| about(name)).collect()
}

/// Somebody waits for a key that is held; `freeing` frees it. Answers how long it took from then on.
fn handed_on(
    client: &dyn Locks,
    key: &str,
    until_waiting: impl FnOnce(),
    freeing: impl FnOnce(),
) -> Duration {
    thread::scope(|scope| {
        let waiter = client.another();
        let served = scope.spawn(move || {
            let guard = waiter.acquire(&Ask::new(key).wait(30_000)).expect("served");
            (Instant::now(), guard)
        });
        until_waiting();
        let freed = Instant::now();
        freeing();
        let (at, guard) = served.join().expect("the waiter");
        assert_eq!(guard.release().expect("release"), Release::Released);
        at.saturating_duration_since(freed)
    })
}

fn a_release_is_pushed_and_costs_two_commands(world: &dyn World) {
    // By DELEX, by DELIFEQ, by CAD, by a script.
    let servers: [fn() -> Builder; 4] =
        [Server::redis8, Server::valkey9, || tair(Server::redis7()), Server::redis62];
    for start in servers {
        let server = start().start().expect("a server");
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        let (holder, waiter) = (client_at(world, server.url()), client_at(world, proxy.url()));
        let guard = take(&*holder, &Ask::new("k").ttl(60_000));
        let until = || {
            tracked(&server, 1);
            proxy.clear();
        };
        let mut commands = Vec::new();
        let took = thread::scope(|scope| {
            let served = scope.spawn(|| {
                let guard = waiter.acquire(&Ask::new("k").wait(30_000)).expect("served");
                (Instant::now(), asked(&proxy), guard)
            });
            until();
            let freed = Instant::now();
            assert_eq!(guard.release().expect("release"), Release::Released);
            let (at, sent, guard) = served.join().expect("the waiter");
            commands.extend(sent);
            drop(guard);
            at.saturating_duration_since(freed)
        });
        assert_eq!(commands, ["PTTL", "SET"]);
        assert!(took < PUSHED, "{took:?}");
    }
}

fn a_deleted_key_is_pushed_on_every_server(world: &dyn World) {
    for start in [Server::redis62, Server::redis7, Server::redis8, Server::valkey9] {
        let server = start().start().expect("a server");
        let client = client_at(world, server.url());
        hold(&server, "k");
        let took = handed_on(&*client, "k", || tracked(&server, 1), || delete(&server, "k"));
        assert!(took < PUSHED, "{took:?}");
    }
}

fn the_older_protocol_is_told_on_another_connection(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    proxy.deny("HELLO");
    let client = client_at(world, proxy.url());
    hold(&server, "k");
    let took = handed_on(&*client, "k", || tracked(&server, 1), || delete(&server, "k"));
    assert!(took < PUSHED, "{took:?}");
    assert_eq!(proxy.count("SUBSCRIBE __redis__:invalidate"), 1, "{:?}", proxy.texts());
    // Its connections end with the client, the one that reads too.
    drop(client);
    channels(&server, 0);
}

fn an_embedded_server_wakes_who_waits(world: &dyn World) {
    let place = Place::memory();
    let client = |place| world.client(place, &Config::default()).expect("a client");
    let (holder, waiter) = (client(&place), client(&place));
    let Place::Memory(store) = &place else { unreachable!("memory") };
    let guard = take(&*holder, &Ask::new("k").ttl(60_000));
    let listened_for = || {
        let began = Instant::now();
        while store.with(|store| store.tracked()) == 0 {
            assert!(began.elapsed() < BOUND, "nobody listens");
            thread::yield_now();
        }
    };
    let freeing = || assert_eq!(guard.release().expect("release"), Release::Released);
    let took = handed_on(&*waiter, "k", listened_for, freeing);
    assert!(took < PUSHED, "{took:?}");
    assert_eq!(store.with(|store| store.tracked()), 0, "nobody listens any more");
}

/// T3: a holder that was killed has left its key.
fn a_dead_holder_is_outwaited(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    redis::cmd("SET").arg("k").arg("dead").arg("PX").arg(700).exec(&mut server.cli()).unwrap();
    let began = Instant::now();
    let guard = client.acquire(&Ask::new("k").wait(30_000)).expect("served");
    assert!(began.elapsed() >= Duration::from_millis(600), "{:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_millis(700) + PUSHED, "{:?}", began.elapsed());
    // It was not asked again and again: there is a time to wait for.
    assert!(asked(&proxy).len() <= 10, "{:?}", proxy.texts());
    drop(guard);
}

/// redisson#1763, #5761: the key is free before anybody listens for that.
fn a_release_before_it_is_listened_for_is_not_missed(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    hold(&server, "k");
    // Listening is confirmed late, and what there was to hear comes with it, or before.
    proxy.once("PTTL k", Fault::Delay(Duration::from_millis(300)));
    let waits = || assert!(proxy.wait_for("PTTL k", 1, BOUND), "{:?}", proxy.texts());
    let took = handed_on(&*client, "k", waits, || delete(&server, "k"));
    assert!(took < PUSHED, "{took:?}");
    // And if it was gone before the question came. By another client: this one now lets others go first.
    let client = client_at(world, proxy.url());
    hold(&server, "k");
    proxy.clear();
    proxy.once("SET k", Fault::Delay(Duration::from_millis(300)));
    let waits = || assert!(proxy.wait_for("SET k", 1, BOUND), "{:?}", proxy.texts());
    let took = handed_on(&*client, "k", waits, || delete(&server, "k"));
    assert!(took < PUSHED, "{took:?}");
}

/// Kills every connection whose flags in `CLIENT LIST` have one of these letters.
fn kill(server: &Server, flags: &[char]) -> usize {
    let mut cli = server.cli();
    let clients: String = redis::cmd("CLIENT").arg("LIST").query(&mut cli).expect("CLIENT LIST");
    let mut killed = 0;
    for client in clients.lines() {
        let field = |name: &str| client.split(' ').find_map(|field| field.strip_prefix(name));
        let (id, has) = (field("id=").expect("an id"), field("flags=").expect("flags"));
        if has.contains(flags) {
            let kill = ["KILL", "ID", id];
            killed += redis::cmd("CLIENT").arg(&kill).query::<usize>(&mut cli).expect("killed");
        }
    }
    killed
}

fn a_killed_listener_strands_nobody(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let client = client_at(world, server.url());
    // The one that asks; the one that is told, where that is another.
    for flags in [&['t'], &['P']] {
        hold(&server, "k");
        let waits = || {
            tracked(&server, 1);
            if kill(&server, flags) > 0 {
                // A dead listener's keys are forgotten when they are next looked at.
                delete(&server, "k");
                hold(&server, "k");
            }
        };
        handed_on(&*client, "k", waits, || {
            tracked(&server, 1);
            delete(&server, "k");
        });
    }
}

fn a_server_that_restarts_strands_nobody(world: &dyn World) {
    let mut server = Server::redis7().start().expect("a server");
    let client = client_at(world, server.url());
    hold(&server, "k");
    thread::scope(|scope| {
        let waiter = client.another();
        let served = scope.spawn(move || waiter.acquire(&Ask::new("k").wait(30_000)));
        tracked(&server, 1);
        server.kill();
        server.restart().expect("it comes back, without the key");
        let guard = served.join().expect("the waiter").expect("served");
        assert_eq!(guard.release().expect("release"), Release::Released);
    });
    // And the next is told again.
    hold(&server, "k");
    let took = handed_on(&*client, "k", || tracked(&server, 1), || delete(&server, "k"));
    assert!(took < PUSHED, "{took:?}");
}

fn without_the_right_to_track_it_polls(world: &dyn World) {
    let rules = "ada on >secret ~* +@all -client|tracking";
    let server = Server::redis7().user(rules).start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let url = format!("redis://ada:secret@127.0.0.1:{}/", proxy.port());
    let client = try_client_at(world, url).expect("a client");
    polls(&*client, &server, &proxy);
}

fn without_tracking_it_polls(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    proxy.deny("CLIENT TRACKING");
    let client = client_at(world, proxy.url());
    polls(&*client, &server, &proxy);
}

fn polls(client: &dyn Locks, server: &Server, proxy: &Proxy) {
    hold(server, "k");
    let waits = || assert!(proxy.wait_for("SET k", 8, BOUND), "{:?}", proxy.texts());
    let took = handed_on(client, "k", waits, || delete(server, "k"));
    assert!(took < PUSHED, "{took:?}");
    // What was refused is not asked for again and again.
    assert!(proxy.count("CLIENT TRACKING") <= 1, "{:?}", proxy.texts());
    assert!(proxy.accepted() <= 5, "{} connections", proxy.accepted());
}

fn who_is_told_to_poll_does_not_listen(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let config = Config { url: Some(proxy.url()), polls: true, ..Config::default() };
    let client = world.client(&Place::memory(), &config).expect("a client");
    polls(&*client, &server, &proxy);
    assert_eq!((proxy.count("CLIENT TRACKING"), proxy.count("PTTL")), (0, 0));
}

/// rueidis#602: a hundred waiters, a bounded number of commands.
fn many_waiters_of_one_client_cost_what_one_does(world: &dyn World) {
    const WAITERS: usize = 100;
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    hold(&server, "k");
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..WAITERS)
            .map(|_| {
                let waiter = client.another();
                scope.spawn(move || {
                    let guard = waiter.acquire(&Ask::new("k").wait(60_000)).expect("served");
                    assert_eq!(guard.release().expect("release"), Release::Released);
                })
            })
            .collect();
        tracked(&server, 1);
        let before = asked(&proxy).len();
        assert!(before <= 10, "{before} commands of {WAITERS} waiters: {:?}", proxy.texts());
        delete(&server, "k");
        for waiter in waiting {
            waiter.join().expect("served");
        }
    });
    // One question each, and a few on the way.
    let all = asked(&proxy).len();
    assert!(all <= WAITERS + 40, "{all} commands");
}

/// O32: who waits for long asks seldom, and gives up in time.
fn an_idle_wait_is_cheap(world: &dyn World) {
    const CLIENTS: usize = 10;
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let holder = client_at(world, server.url());
    // Renewed every second, which every waiter is told.
    let guard = take(&*holder, &Ask::new("k").ttl(3_000));
    let clients: Vec<_> = (0..CLIENTS).map(|_| client_at(world, proxy.url())).collect();
    thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| match client.acquire(&Ask::new("k").wait(3_000)).map(|_| ()) {
                Err(Error::TimedOut { waited, .. }) => {
                    assert!(waited >= Duration::from_secs(3), "{waited:?}");
                }
                other => panic!("{other:?}"),
            });
        }
    });
    let sent = asked(&proxy).len();
    assert!(sent <= CLIENTS * 15, "{sent} commands of {CLIENTS} waiters in 3 s");
    assert_eq!(guard.release().expect("release"), Release::Released);
}

/// python-redis-lock#14, #71: a wake-up that was meant for somebody who has left.
fn who_gave_up_is_in_nobodys_way(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let (first, second) = (client_at(world, server.url()), client_at(world, server.url()));
    hold(&server, "k");
    for client in [&first, &second] {
        let gave_up = client.acquire(&Ask::new("k").wait(100)).map(|_| ());
        assert!(matches!(gave_up, Err(Error::TimedOut { .. })), "{gave_up:?}");
    }
    delete(&server, "k");
    // Nobody is woken by what came too late, and the next two are.
    hold(&server, "k");
    thread::scope(|scope| {
        for client in [&first, &second] {
            scope.spawn(|| {
                let guard = client.acquire(&Ask::new("k").wait(30_000)).expect("served");
                assert_eq!(guard.release().expect("release"), Release::Released);
            });
        }
        tracked(&server, 1);
        delete(&server, "k");
    });
}

/// Waits until so many channels are subscribed to.
fn channels(server: &Server, count: usize) {
    let mut cli = server.cli();
    let began = Instant::now();
    loop {
        let open: Vec<String> = redis::cmd("PUBSUB").arg("CHANNELS").query(&mut cli).unwrap();
        if open.len() == count {
            return;
        }
        assert!(began.elapsed() < BOUND, "{open:?}");
        thread::yield_now();
    }
}

/// redisson#3573, #4064: waiting for many keys, in vain, leaves no subscription and no connection.
fn many_keys_leave_nothing_behind(world: &dyn World) {
    const KEYS: usize = 40;
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    let keys: Vec<String> = (0..KEYS).map(|key| format!("k{key}")).collect();
    keys.iter().for_each(|key| hold(&server, key));
    thread::scope(|scope| {
        for key in &keys {
            let waiter = client.another();
            scope.spawn(move || {
                let gave_up = waiter.acquire(&Ask::new(key).wait(400)).map(|_| ());
                assert!(matches!(gave_up, Err(Error::TimedOut { .. })), "{gave_up:?}");
            });
        }
    });
    // One listener serves all keys.
    assert!(proxy.count("CLIENT TRACKING") <= 1, "{:?}", proxy.texts());
    keys.iter().for_each(|key| delete(&server, key));
    tracked(&server, 0);
    assert!(client.close());
    drop(client);
    channels(&server, 0);
    assert!(proxy.wait_for_connections(0, BOUND), "{} connections", proxy.connections());
}
