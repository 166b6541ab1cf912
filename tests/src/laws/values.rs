//! What may stand under a key as a versioned value, how long it stays, and what is refused.

use std::time::{Duration, Instant};

use tairlock::{Error, Expiry, FaultKind, Snapshot};

use super::{Stage, take};
use crate::world::Value;

fn there(value: &dyn Value) -> Snapshot<Vec<u8>> {
    value.read().expect("read").expect("a value is there")
}

pub(super) fn any_bytes_are_a_value(stage: Stage<'_>) {
    let client = stage.client();
    let large: Vec<u8> = (0..100_000).map(|n: u32| (n % 251) as u8).collect();
    for (nth, bytes) in
        [&b""[..], b"\0", b"OK", b"\r\n$-1\r\n", b"\xff\xfe", &large].into_iter().enumerate()
    {
        let value = client.value(&stage.wish(&format!("k{nth}")));
        let version = value.create(b"before").expect("create");
        value
            .update(&mut |copy| {
                *copy = bytes.to_vec();
                Ok(())
            })
            .expect("update");
        let whole = Snapshot { value: bytes.to_vec(), version: version + 1 };
        assert!(there(&*value) == whole, "value {nth}");
        // A refusal carries it, too.
        value
            .update(&mut |copy| {
                assert!(copy == bytes, "value {nth}");
                copy.push(b'+');
                Ok(())
            })
            .expect("update");
        let conflict = value.compare_and_set(bytes, version).expect_err("stale");
        assert!(conflict.is_conflict(), "{conflict}");
        value.remove(version + 2).expect("remove");
    }
}

pub(super) fn what_a_codec_cannot_read_is_left_alone(stage: Stage<'_>) {
    let client = stage.client();
    let value = client.value(&stage.wish("k"));
    for bytes in [&b"\xff"[..], b"", b"{", b"null"] {
        value.overwrite(bytes).expect("overwrite");
        let before = there(&*value);
        let readings = [
            value.read_json().map(drop),
            value.update_json(&mut |_| panic!("called on what cannot be read")),
        ];
        for error in readings.into_iter().map(|reading| reading.expect_err("not a number")) {
            assert!(matches!(error, Error::Decode { codec: "JSON", .. }), "{error:?}");
            assert!(error.to_string().contains(stage.name), "names the key: {error}");
        }
        assert_eq!(there(&*value), before, "left as it was");
    }
    value.overwrite(b"\xff").expect("overwrite");
    let error = value.read_text().expect_err("no text");
    assert!(matches!(error, Error::Decode { codec: "text", .. }), "{error:?}");
    assert!(error.to_string().contains(stage.name), "names the key: {error}");

    // As another program may have written it.
    value.overwrite(b" 7\n").expect("overwrite");
    let before = there(&*value);
    value.update_json(&mut |_| Ok(())).expect("update");
    assert_eq!(there(&*value), before, "unchanged is not written");
    value
        .update_json(&mut |number| {
            *number += 1;
            Ok(())
        })
        .expect("update");
    assert_eq!(value.read_json().expect("read").expect("there").value, 8);
}

pub(super) fn another_kind_is_named(stage: Stage<'_>) {
    let client = stage.client();
    stage.place.steal(&stage.key("string"), "something");
    stage.place.put_foreign(&stage.key("hash"));
    for kind in ["string", "hash"] {
        let value = client.value(&stage.wish(kind));
        let mut change = |bytes: &mut Vec<u8>| {
            bytes.push(b'!');
            Ok(())
        };
        for refused in [
            value.read().map(drop),
            value.update(&mut change),
            value.update_or(b"0", &mut change),
            value.create(b"0").map(drop),
            value.overwrite(b"0").map(drop),
            value.compare_and_set(b"0", 1).map(drop),
            value.remove(1),
        ] {
            let error = refused.expect_err("another kind");
            let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
            assert_eq!(fault.kind(), FaultKind::WrongType, "{error}");
            let told = error.to_string();
            assert!(told.contains(kind) && told.contains("versioned value"), "{told}");
            assert!(told.contains(stage.name), "names the key: {told}");
        }
    }
    let left = stage.place.get(&stage.key("string"));
    assert_eq!(left.as_deref(), Some(&b"something"[..]));

    // And a value is no lock.
    client.value(&stage.wish("value")).create(b"0").expect("create");
    let error = client.try_acquire(&stage.ask("value")).map(drop).expect_err("no lock");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType, "{error}");
    let held = take(&*client, &stage.ask("lock"));
    let error = client.value(&stage.wish("lock")).overwrite(b"0").expect_err("no value");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType, "{error}");
    assert!(held.lease().is_held());
}

pub(super) fn a_write_says_how_long_it_stays(stage: Stage<'_>) {
    let client = stage.client();
    let ttl = || stage.place.ttl(&stage.key("k")).expect("it is there");
    let with = |expiry| client.value(&stage.wish("k").expire(expiry));
    let (stays, keeps) = (with(Expiry::Persist), with(Expiry::Keep));
    let minute = with(Expiry::After(Duration::from_secs(60)));
    let hour = Duration::from_secs(3600);
    let mut change = |bytes: &mut Vec<u8>| {
        bytes.push(b'+');
        Ok(())
    };

    let mut version = minute.create(b"").expect("create");
    assert!(ttl() <= Duration::from_secs(60) && ttl() > Duration::from_secs(30), "{:?}", ttl());
    for way in 0..3 {
        for (handle, range) in [
            (&stays, hour..Duration::MAX),
            (&keeps, hour..Duration::MAX),
            (&minute, Duration::from_secs(30)..Duration::from_secs(61)),
            (&keeps, Duration::from_secs(1)..Duration::from_secs(61)),
        ] {
            match way {
                0 => handle.update(&mut change).expect("update"),
                1 => _ = handle.compare_and_set(b"x", version).expect("swap"),
                _ => _ = handle.overwrite(b"y").expect("overwrite"),
            }
            version += 1;
            assert_eq!(there(&**handle).version, version);
            let left = ttl();
            assert!(
                range.contains(&left) || (left == Duration::MAX && range.end == left),
                "{left:?}"
            );
        }
    }
    // Conflicts are told with an expiry as they are without, and gone is gone.
    assert!(minute.compare_and_set(b"z", version - 1).expect_err("stale").is_conflict());
    assert!(keeps.compare_and_set(b"z", version - 1).expect_err("stale").is_conflict());
    stage.place.delete(&stage.key("k"));
    for handle in [&stays, &keeps, &minute] {
        let error = handle.compare_and_set(b"z", version).expect_err("gone");
        assert!(matches!(error, Error::Conflict { found: None, .. }), "{error}");
    }

    let short = with(Expiry::After(Duration::from_millis(30)));
    short.create(b"short").expect("create");
    let until = Instant::now() + Duration::from_secs(10);
    while short.read().expect("read").is_some() {
        assert!(Instant::now() < until, "it stays");
    }
    for refused in [Duration::ZERO, Duration::from_micros(999), Duration::MAX] {
        let error = with(Expiry::After(refused)).create(b"").expect_err("refused");
        assert!(matches!(error, Error::Config(_)), "{error}");
    }
}

pub(super) fn what_is_not_to_be_written_is_not(stage: Stage<'_>) {
    let client = stage.client();
    let value = client.value(&stage.wish("k"));
    let own = || Error::NoDefaultClient;
    let mut absent = |_: &mut Vec<u8>| panic!("called on nothing");
    assert!(matches!(value.update(&mut absent), Err(Error::Absent { .. })));
    assert_eq!(value.read().expect("read"), None);
    value.update_or(b"0", &mut |_| Ok(())).expect("update");
    assert_eq!(value.read().expect("read"), None, "unchanged, so not created");
    assert!(value.update_or(b"0", &mut |_| Err(own())).is_err());
    assert_eq!(value.read().expect("read"), None);

    let version = value.create(b"0").expect("create");
    let error = value.create(b"1").expect_err("there");
    assert!(
        matches!(error, Error::Conflict { expected: None, found: Some(found), .. } if found == version)
    );
    value.update(&mut |_| Ok(())).expect("update");
    let failed = value.update(&mut |copy| {
        copy.push(b'!');
        Err(own())
    });
    assert!(matches!(failed, Err(Error::NoDefaultClient)), "{failed:?}");
    assert_eq!(there(&*value), Snapshot { value: b"0".to_vec(), version });

    value
        .update_option(&mut |copy| {
            assert_eq!(copy.as_deref(), Some(&b"0"[..]));
            *copy = None;
            Ok(())
        })
        .expect("update");
    assert_eq!(value.read().expect("read"), None, "left nothing");
    value
        .update_option(&mut |copy| {
            assert!(copy.replace(b"1".to_vec()).is_none());
            Ok(())
        })
        .expect("update");
    assert_eq!(there(&*value).value, b"1");
    assert!(there(&*value).version > version);
}

pub(super) fn a_closed_client_writes_nothing(stage: Stage<'_>) {
    let client = stage.client();
    let value = client.value(&stage.wish("k"));
    value.create(b"0").expect("create");
    assert!(client.close());
    assert!(matches!(value.read(), Err(Error::Closed)));
    assert!(matches!(value.update(&mut |_| Ok(())), Err(Error::Closed)));
    assert!(matches!(value.overwrite(b"1"), Err(Error::Closed)));
    assert_eq!(there(&*stage.client().value(&stage.wish("k"))).value, b"0");
}
