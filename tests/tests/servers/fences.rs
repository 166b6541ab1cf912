//! Fences on real servers: what a lost reply, a confined user and a cluster's slots do to them.

use tairlock::{FaultKind, Key, slot::fence_key};
use tairlock_tests::{
    Proxy, Server,
    proxy::Fault,
    world::{Ask, World},
};

use crate::{client_at, faults::confined, for_each_driver, refusal, take};

for_each_driver!(
    a_repeated_acquire_is_issued_the_same_fence,
    an_acquire_that_was_lost_before_another_grant_is_issued_a_newer_one,
    without_scripts_the_lock_is_not_taken,
    without_the_fences_key_the_lock_is_not_taken,
);

/// T6: the reply is lost after the lock was taken and the fence issued.
fn a_repeated_acquire_is_issued_the_same_fence(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let ask = Ask::new("k").fenced().ttl(3_000);
    for fault in [Fault::Swallow, Fault::SwallowAndCut, Fault::CutMidFrame] {
        let client = client_at(world, proxy.url());
        // The server knows the script from here on.
        let before = take(&*client, &ask).fence().expect("a fence");
        assert!(client.close());

        let client = client_at(world, proxy.url());
        proxy.clear();
        proxy.once("EVALSHA", fault.clone());
        let guard = take(&*client, &ask);
        let fence = guard.fence().expect("a fence");
        assert!(fence > before, "{fault:?}");
        assert!(proxy.texts().iter().filter(|text| text.starts_with("EVALSHA")).count() >= 2);
        // What is kept is what was issued first: a second number would be a response deadline later.
        let taken = unix_micros(&server);
        let mark = format!("{fence} {}", String::from_utf8_lossy(guard.lease().token().as_bytes()));
        assert_eq!(kept(&server, "k").as_deref(), Some(&*mark), "{fault:?}");
        if fault == Fault::Swallow {
            assert!(taken - fence > 500_000, "issued by the first command, of which no reply came");
        }
        assert!(guard.lease().is_held(), "{fault:?}");
        drop(guard);
        assert!(client.close());
    }
}

fn an_acquire_that_was_lost_before_another_grant_is_issued_a_newer_one(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let (client, other) = (client_at(world, proxy.url()), client_at(world, server.url()));
    let ask = Ask::new("k").fenced().ttl(3_000);
    let first = take(&*other, &ask).fence().expect("a fence");
    assert!(other.close());
    // Both tries are executed and lose their replies: a fence was issued that nobody knows of.
    proxy.once("EVALSHA", Fault::SwallowAndCut);
    proxy.once("EVALSHA", Fault::SwallowAndCut);
    let error = client.try_acquire(&ask).map(|_| ()).expect_err("unknown");
    assert!(!error.is_busy(), "{error}");
    let lost = kept(&server, "k").expect("issued");
    let lost: u64 = lost.split(' ').next().and_then(|fence| fence.parse().ok()).expect("a number");
    let other = client_at(world, server.url());
    let between = take(&*other, &ask.clone().wait(10_000));
    let second = between.fence().expect("a fence");
    drop(between);
    let third = take(&*client, &ask.wait(10_000)).fence().expect("a fence");
    assert!(first < lost && lost < second && second < third, "{first} {lost} {second} {third}");
}

fn without_scripts_the_lock_is_not_taken(world: &dyn World) {
    let (server, client) = confined(world, Server::redis7(), "~* +set +get +del +command");
    let error = refusal(&*client, &Ask::new("k").fenced());
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Permission, "{error}");
    assert!(error.to_string().contains("EVALSHA") && error.to_string().contains("TIME"), "{error}");
    assert_eq!(keys(&server), 0, "nothing was taken");
    drop(take(&*client, &Ask::new("k")));

    let without = Server::redis7().config(["rename-command", "EVALSHA", ""]);
    let server = without.start().expect("a server");
    let error = refusal(&*client_at(world, server.url()), &Ask::new("k").fenced());
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Unsupported, "{error}");
    assert!(error.to_string().contains("without one"), "says the way out: {error}");
    assert_eq!(keys(&server), 0, "nothing was taken");
}

fn without_the_fences_key_the_lock_is_not_taken(world: &dyn World) {
    let rules = "+command +evalsha +eval +set +get +time +del";
    let (server, client) = confined(world, Server::redis7(), &format!("~k {rules}"));
    let error = refusal(&*client, &Ask::new("k").fenced());
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Permission, "{error}");
    assert!(error.to_string().contains("tairlock:fence:k"), "names the key: {error}");
    assert_eq!(keys(&server), 0, "nothing was taken");

    let rules = format!("~k ~{{*}}:tairlock:fence:k {rules}");
    let (_server, client) = confined(world, Server::redis7(), &rules);
    assert!(take(&*client, &Ask::new("k").fenced()).fence().is_some());
}

/// O49, O50: the lock's key and its fence's are in one slot, for any bytes.
#[test]
fn a_fence_is_in_its_locks_slot_by_the_servers_own_count() {
    let server = Server::redis7().config(["cluster-enabled", "yes"]).start().expect("a server");
    let mut cli = server.cli();
    let mut seed = 11_u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as u8
    };
    let random = (0..2_000).map(|_| {
        let len = usize::from(next() % 24) + 1;
        // Braces are frequent, as they are what a slot depends on.
        let byte = |byte: u8| match byte {
            0..50 => b'{',
            50..100 => b'}',
            byte => byte,
        };
        (0..len).map(|_| byte(next())).collect::<Vec<u8>>()
    });
    let named = ["a}b", "{}", "a{}b{c}", "{a}", "a{{b}}", "}{", "{", "é{ü}"].map(|key| key.into());
    for bytes in random.chain(named) {
        let key = Key::new(&bytes).expect("a key");
        let mut of = |bytes: &[u8]| -> u16 {
            redis::cmd("CLUSTER").arg("KEYSLOT").arg(bytes).query(&mut cli).expect("a slot")
        };
        let (lock, fence) = (of(&bytes), of(fence_key(&key).as_bytes()));
        assert_eq!(lock, fence, "{key:?} and {:?}", fence_key(&key));
        assert_eq!(lock, tairlock::slot::slot(&bytes), "{key:?}");
    }
}

fn kept(server: &Server, key: &str) -> Option<String> {
    let place = fence_key(&Key::new(key).expect("a key"));
    redis::cmd("GET").arg(place.as_bytes()).query(&mut server.cli()).expect("GET")
}

fn unix_micros(server: &Server) -> u64 {
    let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut server.cli()).expect("TIME");
    seconds * 1_000_000 + micros
}

fn keys(server: &Server) -> u64 {
    redis::cmd("DBSIZE").query(&mut server.cli()).expect("DBSIZE")
}
