//! Versioned values on real servers: what an update sends, and what lost replies, killed connections,
//! restarts and other programs leave of it.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use tairlock::{Error, Expiry, FaultKind, Snapshot};
use tairlock_tests::{
    Proxy, Server,
    binaries::Binary,
    place::Place,
    proxy::Fault,
    server::Builder,
    world::{Config, Locks, Value, Wish, World},
};

use crate::{BOUND, client_at, for_each_driver};

for_each_driver!(
    an_update_is_one_command_when_warm_and_two_when_cold,
    with_an_expiry_an_update_is_one_round_trip,
    nothing_is_read_between_attempts,
    lost_replies_double_nothing_and_hide_nothing,
    killed_connections_double_nothing_and_hide_nothing,
    restarts_double_nothing_and_hide_nothing,
    another_programs_hash_is_understood_or_refused,
    another_programs_tairstring_is_understood_or_refused,
    a_refusal_in_other_words_is_a_conflict,
    one_form_is_not_read_as_the_other,
    flushed_scripts_come_back,
    ten_megabytes_are_a_value,
);

fn tair() -> Builder {
    Server::redis7().module(Binary::TairString.find().expect("the module"))
}

/// Both forms that values have.
fn servers() -> [(&'static str, Builder, &'static str); 2] {
    [("hash", Server::redis7(), "EVALSHA"), ("TairString", tair(), "EXCAS")]
}

fn number(bytes: &[u8]) -> u64 {
    std::str::from_utf8(bytes).expect("text").parse().expect("a number")
}

fn add_one(bytes: &mut Vec<u8>) -> Result<(), Error> {
    *bytes = (number(bytes) + 1).to_string().into_bytes();
    Ok(())
}

fn there(value: &dyn Value) -> Snapshot<Vec<u8>> {
    value.read().expect("read").expect("a value is there")
}

/// Every script is known, and the value is there.
fn warmed_up(client: &dyn Locks) -> Box<dyn Value> {
    let other = client.value(&Wish::new("warm"));
    other.update_or(b"0", &mut add_one).expect("update");
    other.update(&mut add_one).expect("update");
    other.read().expect("read");
    let value = client.value(&Wish::new("k"));
    value.create(b"0").expect("create");
    value
}

fn an_update_is_one_command_when_warm_and_two_when_cold(world: &dyn World) {
    for (form, server, swap) in servers() {
        let server = server.start().expect("a server");
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        let client = client_at(world, proxy.url());
        let value = warmed_up(&*client);
        proxy.clear();
        for round in 1..=20 {
            value.update(&mut add_one).expect("update");
            assert_eq!(proxy.texts().len(), round, "{form}: {:?}", proxy.texts());
        }
        assert_eq!((proxy.count(swap), proxy.round_trips()), (20, 20), "{form}");

        // Handles of one client share what they saw; another client has seen nothing.
        let same = client.value(&Wish::new("k"));
        proxy.clear();
        same.update(&mut add_one).expect("update");
        assert_eq!(proxy.texts().len(), 1, "{form}: {:?}", proxy.texts());
        let other = client_at(world, proxy.url()).value(&Wish::new("k"));
        // Connecting is not counted: it happened with the client.
        proxy.clear();
        other.update(&mut add_one).expect("update");
        assert_eq!(proxy.texts().len(), 2, "{form}: {:?}", proxy.texts());

        // What this one remembers is of yesterday: the refusal tells what is there.
        proxy.clear();
        value.update(&mut add_one).expect("update");
        assert_eq!(proxy.texts().len(), 2, "{form}: {:?}", proxy.texts());
        assert_eq!(number(&there(&*value).value), 23, "{form}");
    }
}

fn with_an_expiry_an_update_is_one_round_trip(world: &dyn World) {
    let server = tair().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    warmed_up(&*client);
    let minute = Wish::new("k").expire(Expiry::After(Duration::from_secs(60)));
    let (minute, keep) =
        (client.value(&minute), client.value(&Wish::new("k").expire(Expiry::Keep)));
    keep.update(&mut add_one).expect("update");
    proxy.clear();
    minute.update(&mut add_one).expect("update");
    assert_eq!((proxy.count("EXSET k"), proxy.count("EXGET k")), (1, 1), "{:?}", proxy.texts());
    assert_eq!((proxy.texts().len(), proxy.round_trips()), (2, 1), "{:?}", proxy.texts());
    proxy.clear();
    keep.update(&mut add_one).expect("update");
    assert_eq!((proxy.count("EVALSHA"), proxy.round_trips()), (1, 1), "{:?}", proxy.texts());
    assert_eq!(number(&there(&*keep).value), 3);
    for text in proxy.texts() {
        assert!(!text.contains("KEEPTTL"), "{text}");
    }
}

fn nothing_is_read_between_attempts(world: &dyn World) {
    const CLIENTS: u64 = 6;
    const EACH: u64 = 40;
    for (form, server, _) in servers() {
        let server = server.start().expect("a server");
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        let clients: Vec<_> = (0..CLIENTS).map(|_| client_at(world, proxy.url())).collect();
        let first = warmed_up(&*clients[0]);
        proxy.clear();
        let attempts = AtomicU64::new(0);
        thread::scope(|scope| {
            for client in &clients {
                let (value, attempts) = (client.value(&Wish::new("k")), &attempts);
                scope.spawn(move || {
                    for _ in 0..EACH {
                        value
                            .update(&mut |bytes| {
                                attempts.fetch_add(1, Ordering::Relaxed);
                                add_one(bytes)
                            })
                            .expect("update");
                    }
                });
            }
        });
        let (sent, attempts) = (proxy.texts().len() as u64, attempts.into_inner());
        // One look for each client that had seen nothing yet.
        assert!(sent <= attempts + CLIENTS, "{form}: {sent} commands, {attempts} attempts");
        assert_eq!(number(&there(&*first).value), CLIENTS * EACH, "{form}");
    }
}

const FAULTS: [Fault; 4] =
    [Fault::Swallow, Fault::SwallowAndCut, Fault::CutMidFrame, Fault::LoseRequest];

fn lost_replies_double_nothing_and_hide_nothing(world: &dyn World) {
    for (form, server, swap) in servers() {
        let server = server.start().expect("a server");
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        for fault in FAULTS {
            let value = warmed_up(&*client_at(world, proxy.url()));
            let Snapshot { version, .. } = there(&*value);
            proxy.once(swap, fault.clone());
            let outcome = value.update(&mut add_one);
            let after = there(&*value);
            assert_eq!(after.version, version + 1, "{form} {fault:?}: {outcome:?}");
            assert_eq!(after.value, b"1", "{form} {fault:?}: {outcome:?}");
            match outcome {
                Ok(()) => {}
                // A TairString has no room for whose write it was: somebody else may have added one.
                Err(Error::MaybeCommitted { .. }) => {
                    assert!(
                        form == "TairString" && fault != Fault::LoseRequest,
                        "{form} {fault:?}"
                    );
                }
                Err(error) => panic!("{form} {fault:?}: {error}"),
            }
            value.remove(version + 1).expect("remove");
            let other = client_at(world, proxy.url()).value(&Wish::new("warm"));
            other.remove(there(&*other).version).expect("remove");
        }
    }
}

/// Several clients add to one value while `disturb` does what it does; the account is right.
fn account(
    clients: &[Box<dyn Locks>],
    each: u64,
    disturb: impl FnOnce(&AtomicU64, &AtomicBool),
) -> (u64, u64) {
    let (committed, unknown) = (AtomicU64::new(0), AtomicU64::new(0));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = clients
            .iter()
            .map(|client| {
                let (value, committed, unknown) =
                    (client.value(&Wish::new("k")), &committed, &unknown);
                scope.spawn(move || {
                    for _ in 0..each {
                        match value.update(&mut add_one) {
                            Ok(()) => committed.fetch_add(1, Ordering::Relaxed),
                            Err(Error::MaybeCommitted { .. }) => {
                                unknown.fetch_add(1, Ordering::Relaxed)
                            }
                            Err(error) => panic!("{error}"),
                        };
                    }
                })
            })
            .collect();
        scope.spawn({
            let over = &over;
            move || {
                writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
                over.store(true, Ordering::Relaxed);
            }
        });
        disturb(&committed, &over);
    });
    (committed.into_inner(), unknown.into_inner())
}

fn killed_connections_double_nothing_and_hide_nothing(world: &dyn World) {
    for (form, server, swap) in servers() {
        let server = server.start().expect("a server");
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        let clients: Vec<_> = (0..4).map(|_| client_at(world, proxy.url())).collect();
        let value = warmed_up(&*clients[0]);
        let (committed, unknown) = account(&clients, 50, |_, over| {
            let mut cut = 0;
            while !over.load(Ordering::Relaxed) {
                cut += 1;
                proxy.clear();
                // Once some swaps are under way, all connections are gone at once.
                if proxy.wait_for(swap, 20, Duration::from_millis(50)) && cut <= 10 {
                    proxy.cut();
                }
            }
        });
        let sum = number(&there(&*value).value);
        assert_eq!(committed + unknown, 200, "{form}");
        let range = committed..=committed + unknown;
        assert!(range.contains(&sum), "{form}: {sum} is not in {range:?}");
    }
}

fn restarts_double_nothing_and_hide_nothing(world: &dyn World) {
    for (form, server, _) in servers() {
        // What was answered is on the disk.
        let server = server.config(["appendonly", "yes"]).config(["appendfsync", "always"]);
        let mut server = server.start().expect("a server");
        let clients: Vec<_> = (0..4).map(|_| client_at(world, server.url())).collect();
        let value = warmed_up(&*clients[0]);
        let (committed, unknown) = account(&clients, 50, |committed, over| {
            for after in [20, 60, 100] {
                while committed.load(Ordering::Relaxed) < after && !over.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                server.kill();
                server.restart().expect("a server");
            }
        });
        let sum = number(&there(&*value).value);
        let range = committed..=committed + unknown;
        assert!(range.contains(&sum), "{form}: {sum} is not in {range:?}");
    }
}

fn another_programs_hash_is_understood_or_refused(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let mut cli = server.cli();
    let value = client_at(world, server.url()).value(&Wish::new("k"));
    let mut put = |version: &str| {
        let fields = ["version", version, "value", "5"];
        redis::cmd("DEL").arg("k").exec(&mut cli).expect("DEL");
        redis::cmd("HSET").arg("k").arg(&fields).exec(&mut cli).expect("HSET");
    };
    for (version, next) in [("0", 1), ("7", 8), ("9007199254740993", 9_007_199_254_740_994)] {
        put(version);
        value.update(&mut add_one).expect("update");
        assert_eq!(there(&*value), Snapshot { value: b"6".to_vec(), version: next });
    }
    for version in ["07", "+7", "-7", "7.0", "", "many", "9223372036854775808"] {
        put(version);
        let error = value.update(&mut add_one).expect_err("no version");
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType, "{error}");
        assert!(error.to_string().contains(version), "{error}");
    }
}

fn another_programs_tairstring_is_understood_or_refused(world: &dyn World) {
    let server = tair().start().expect("a server");
    let mut cli = server.cli();
    let client = client_at(world, server.url());
    let (value, minute) = (
        client.value(&Wish::new("k")),
        client.value(&Wish::new("k").expire(Expiry::After(Duration::from_secs(60)))),
    );
    let mut put = |version: &str| {
        let words = ["k", "5", "ABS", version];
        redis::cmd("EXSET").arg(&words).exec(&mut cli).expect("EXSET");
    };
    // Version 0 is no condition to `EXSET VER`: a stale writer must not get through.
    put("0");
    minute.update(&mut add_one).expect("update");
    assert_eq!(there(&*value), Snapshot { value: b"6".to_vec(), version: 1 });
    put("0");
    assert!(minute.compare_and_set(b"9", 7).expect_err("stale").is_conflict());
    put("5");
    assert!(minute.compare_and_set(b"9", 0).expect_err("stale").is_conflict());
    assert_eq!(there(&*value), Snapshot { value: b"5".to_vec(), version: 5 });

    // One past the last version turns negative, and cannot be named.
    put("9223372036854775807");
    redis::cmd("EXSET").arg("k").arg("5").exec(&mut server.cli()).expect("EXSET");
    let error = value.read().expect_err("no version");
    assert!(error.to_string().contains("-9223372036854775808"), "{error}");
}

fn a_refusal_in_other_words_is_a_conflict(world: &dyn World) {
    let server = tair().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let value = warmed_up(&*client_at(world, proxy.url()));
    let Snapshot { version, .. } = there(&*value);
    let value_and_version = format!("$1\r\n0\r\n:{version}\r\n");
    for word in ["-ERR update version is stale\r\n", "$9\r\nwhatever \r\n", "+CAS_FAILED\r\n"] {
        // What the refusal says is there is what is there.
        let refusal = format!("*3\r\n{word}{value_and_version}");
        proxy.once("EXCAS", Fault::Answer(refusal.into_bytes()));
        let error = value.compare_and_set(b"9", version).expect_err(word);
        assert!(
            matches!(error, Error::Conflict { found: Some(found), .. } if found == version),
            "{word:?}: {error}"
        );
    }
    proxy.once("EXCAS", Fault::Answer(b":-1\r\n".to_vec()));
    let error = value.compare_and_set(b"9", version).expect_err("gone");
    assert!(matches!(error, Error::Conflict { found: None, .. }), "{error}");
    assert_eq!(there(&*value), Snapshot { value: b"0".to_vec(), version });
}

fn one_form_is_not_read_as_the_other(world: &dyn World) {
    let server = tair().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    // As through a proxy that does not know the commands yet.
    for command in ["COMMAND", "EXCAS", "EXGET", "EXSET", "EXCAD"] {
        proxy.deny(command);
    }
    let (without, with) = (client_at(world, proxy.url()), client_at(world, server.url()));
    let (hash, native) = (without.value(&Wish::new("hash")), with.value(&Wish::new("TairString")));
    hash.create(b"0").expect("create");
    native.create(b"0").expect("create");
    for (value, found, here) in [
        (with.value(&Wish::new("hash")), "hash", "TairString"),
        (without.value(&Wish::new("TairString")), "exstrtype", "hash"),
    ] {
        for refused in
            [value.read().map(drop), value.update(&mut add_one), value.overwrite(b"1").map(drop)]
        {
            let error = refused.expect_err("the other form");
            assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType, "{error}");
            let told = error.to_string();
            assert!(told.contains(found) && told.contains(here), "{told}");
        }
    }
    assert_eq!((there(&*hash).value, there(&*native).value), (b"0".to_vec(), b"0".to_vec()));
}

fn flushed_scripts_come_back(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let value = warmed_up(&*client_at(world, server.url()));
    for _ in 0..3 {
        redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.cli()).expect("SCRIPT FLUSH");
        value.update(&mut add_one).expect("update");
    }
    assert_eq!(number(&there(&*value).value), 3);
}

fn ten_megabytes_are_a_value(world: &dyn World) {
    for (form, server, _) in servers() {
        let server = server.start().expect("a server");
        let (url, response) = (Some(server.url()), Some(BOUND));
        let config = Config { url, response, ..Config::default() };
        let client = world.client(&Place::memory(), &config).expect("a client");
        let value = client.value(&Wish::new("k"));
        let large: Vec<u8> = (0..10 << 20).map(|n: u32| (n % 251) as u8).collect();
        let version = value.create(&large).expect("create");
        value
            .update(&mut |copy| {
                copy.push(b'+');
                Ok(())
            })
            .expect("update");
        assert!(value.compare_and_set(&large, version).expect_err("stale").is_conflict(), "{form}");
        let there = there(&*value);
        assert_eq!((there.value.len(), there.version), (large.len() + 1, version + 1), "{form}");
        assert!(there.value.starts_with(&large), "{form}");
    }
}
