//! What comes of asking for a lock, in spans and metrics, by every driver.

use tairlock::{Error, Release};
use tairlock_tests::{
    Proxy, for_each_world as for_each_driver, place::Place, proxy::Fault, world::World,
};

use crate::{
    ask, client, client_at, name,
    scrape::{acquires, count, series, text},
    server, soon, take, told,
};

for_each_driver!(
    a_grant_is_a_wait_and_a_hold,
    who_is_not_granted_is_told_apart,
    a_fault_is_counted_by_its_kind,
    a_closed_client_is_counted,
    levels_return_to_zero,
    a_slow_wait_is_told,
    no_token_is_ever_shown,
    a_thousand_keys_are_one_name,
    without_a_name_it_is_unnamed,
    a_dropped_guard_is_released_in_the_end,
);

fn a_grant_is_a_wait_and_a_hold(world: &dyn World) {
    let name = name(world, "grant");
    let client = client(world, &Place::memory());
    let guard = take(&*client, &ask(name).fenced());
    let fence = guard.fence().expect("asked for").to_string();
    assert_eq!(told::outcomes("tairlock.wait", name), ["granted"]);
    assert_eq!(count("tairlock_held", name, &[]), 1.0);
    assert_eq!(guard.release().unwrap(), Release::Released);
    assert_eq!(told::outcomes("tairlock.hold", name), ["released"]);

    let store = told::store();
    let (wait, hold) = (store.of("tairlock.wait", name), store.of("tairlock.hold", name));
    for (_, span) in wait.iter().chain(&hold) {
        assert_eq!((&*span.fields["key"], &*span.fields["owner"]), (name, "till-7"));
        assert_eq!(span.parent, None, "nobody was around it");
    }
    assert_eq!(hold[0].1.fields["fence"], fence);
    drop(store);

    assert_eq!(acquires(name, "granted"), 1.0);
    assert_eq!(count("tairlock_wait_seconds_count", name, &[("outcome", "granted")]), 1.0);
    assert_eq!(count("tairlock_hold_seconds_count", name, &[("outcome", "released")]), 1.0);
    assert_eq!(count("tairlock_releases_total", name, &[("outcome", "released")]), 1.0);
    assert_eq!(count("tairlock_losses_total", name, &[]), 0.0);
    // What has not happened yet is there, so that its first time is an increase.
    for reason in ["expired", "taken", "vanished", "unreachable", "max_hold"] {
        let zero = format!("tairlock_losses_total{{name=\"{name}\",reason=\"{reason}\"}} 0");
        assert!(text().lines().any(|line| line == zero), "no {zero}");
    }
    assert!(
        text().contains(&format!("tairlock_renewal_margin_seconds_count{{name=\"{name}\"}} 0"))
    );
    assert!(text().contains(&format!("tairlock_waiters{{name=\"{name}\"}} 0")));
}

fn who_is_not_granted_is_told_apart(world: &dyn World) {
    let name = name(world, "refused");
    let client = client(world, &Place::memory());
    let guard = take(&*client, &ask(name));
    assert!(client.try_acquire(&ask(name)).unwrap().is_none());
    assert!(matches!(client.acquire(&ask(name)), Err(Error::Busy { .. })));
    assert!(matches!(client.acquire(&ask(name).wait(20)), Err(Error::TimedOut { .. })));
    assert_eq!((acquires(name, "busy"), acquires(name, "timed_out")), (2.0, 1.0));
    let told = told::outcomes("tairlock.wait", name);
    assert_eq!(told, ["granted", "busy", "busy", "timed_out"]);
    drop(guard);
    assert!(count("tairlock_wait_seconds_sum", name, &[("outcome", "timed_out")]) >= 0.02);
    // What is refused before anybody is asked has waited for nothing.
    assert!(matches!(client.acquire(&ask(name).ttl(1)), Err(Error::Config(_))));
    assert_eq!(count("tairlock_acquires_total", "unnamed", &[("outcome", "config")]).signum(), 1.0);
    assert_eq!(told::outcomes("tairlock.wait", name).len(), 4);
}

fn a_fault_is_counted_by_its_kind(world: &dyn World) {
    let name = name(world, "fault");
    let server = server();
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    proxy.always("SET", Fault::Answer(b"-OOM command not allowed\r\n".to_vec()));
    assert!(matches!(client.acquire(&ask(name)), Err(Error::Backend { .. })));
    let labels = [("outcome", "backend"), ("fault", "out_of_memory")];
    assert_eq!(count("tairlock_acquires_total", name, &labels), 1.0);
    assert_eq!(told::outcomes("tairlock.wait", name), ["backend"]);
}

fn a_closed_client_is_counted(world: &dyn World) {
    let name = name(world, "closed");
    let client = client(world, &Place::memory());
    assert!(client.close());
    assert!(matches!(client.acquire(&ask(name)), Err(Error::Closed)));
    assert_eq!(acquires(name, "closed"), 1.0);
}

fn levels_return_to_zero(world: &dyn World) {
    let name = name(world, "levels");
    let client = client(world, &Place::memory());
    let guard = take(&*client, &ask(name));
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let client = client.another();
                scope.spawn(move || drop(take(&*client, &ask(name).wait(20_000))))
            })
            .collect();
        soon("three wait", || count("tairlock_waiters", name, &[]) == 3.0);
        assert_eq!(count("tairlock_held", name, &[]), 1.0);
        drop(guard);
        for waiter in waiting {
            waiter.join().expect("its turn");
        }
    });
    assert_eq!(count("tairlock_waiters", name, &[]), 0.0);
    assert_eq!(count("tairlock_held", name, &[]), 0.0);
    assert_eq!(acquires(name, "granted"), 4.0);
    assert_eq!(count("tairlock_hold_seconds_count", name, &[]), 4.0);
}

fn a_slow_wait_is_told(world: &dyn World) {
    let name = name(world, "slow");
    let client = client(world, &Place::memory());
    let guard = take(&*client, &ask(name));
    assert!(client.acquire(&ask(name).wait(900)).is_err());
    assert!(told::store().said("slow wait", name).is_empty(), "under a second is not slow");
    assert!(client.acquire(&ask(name).wait(1_100)).is_err());
    let store = told::store();
    let told = store.said("slow wait", name);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].fields["outcome"], "timed_out");
    let waits = store.of("tairlock.wait", name);
    assert_eq!(told[0].span, Some(waits[2].0), "it is told in its own span");
    drop((store, guard));
}

fn no_token_is_ever_shown(world: &dyn World) {
    let name = name(world, "token");
    let client = client(world, &Place::memory());
    let guard = take(&*client, &ask(name).fenced());
    let token = String::from_utf8(guard.lease().token().as_bytes().to_vec()).expect("text");
    let secret = token.rsplit('/').next().expect("an end").to_owned();
    assert_eq!(secret.len(), 36, "{token}");
    _ = guard.release().expect("it is ours");
    soon("it is closed", || told::outcomes("tairlock.hold", name).len() == 1);
    let store = told::store();
    let spans = store.spans.iter().map(|span| &span.fields);
    let all = spans.chain(store.events.iter().map(|told| &told.fields));
    assert!(all.flat_map(|fields| fields.values()).all(|value| !value.contains(&secret)));
    assert!(!text().contains(&secret));
}

fn a_thousand_keys_are_one_name(world: &dyn World) {
    let name = name(world, "cardinality");
    let client = client(world, &Place::memory());
    let work = |key: usize| {
        let ask = tairlock_tests::world::Ask::new(format!("{name}:{key}:key")).named(name);
        _ = take(&*client, &ask).release().expect("it is ours");
    };
    work(0);
    let one = series(name);
    assert!(one > 0);
    (1..1_000).for_each(work);
    assert_eq!(series(name), one, "a series per key");
    assert_eq!(acquires(name, "granted"), 1_000.0);
    assert!(!text().contains(&format!("{name}:")), "a key in a metric");
}

fn without_a_name_it_is_unnamed(world: &dyn World) {
    let key = name(world, "nameless");
    let client = client(world, &Place::memory());
    let before = acquires("unnamed", "granted");
    _ = take(&*client, &tairlock_tests::world::Ask::new(key)).release().expect("it is ours");
    assert!(acquires("unnamed", "granted") > before);
    assert_eq!(series(key), 0);
    let store = told::store();
    assert!(store.of("tairlock.hold", "unnamed").iter().any(|(_, span)| span.fields["key"] == key));
}

fn a_dropped_guard_is_released_in_the_end(world: &dyn World) {
    let name = name(world, "dropped");
    let client = client(world, &Place::memory());
    drop(take(&*client, &ask(name)));
    soon("it is released", || told::outcomes("tairlock.hold", name) == ["released"]);
    assert_eq!(count("tairlock_releases_total", name, &[("outcome", "released")]), 1.0);
    assert_eq!(count("tairlock_held", name, &[]), 0.0);
}
