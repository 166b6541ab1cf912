//! What is refused, and how.

use std::time::Duration;

use tairlock::{ConfigError, Error, FaultKind, Key};

use super::{Stage, take};
use crate::world::{Ask, Locks};

/// O10: `SET NX` says "held" for ever where something else stands.
pub(super) fn another_kind_of_value(stage: Stage<'_>) {
    let client = stage.client();
    stage.place.put_foreign(&stage.key("k"));
    for ask in [stage.ask("k"), stage.ask("k").wait(200)] {
        match client.acquire(&ask) {
            Err(error @ Error::Backend { .. }) => {
                assert!(!error.is_busy() && !error.is_transient());
                assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType);
                assert!(error.to_string().contains(stage.name), "names the key: {error}");
            }
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
    let tried = client.try_acquire(&stage.ask("k"));
    assert!(matches!(tried, Err(Error::Backend { .. })), "never reported as busy");
    assert!(stage.place.exists(&stage.key("k")), "nothing is lost");
}

/// O2, O3, O4, O5: no TTL of 0, below a millisecond, or too long, and none that stands for "for ever".
pub(super) fn what_makes_no_sense(stage: Stage<'_>) {
    let client = stage.client();
    for ttl in [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_micros(999),
        Duration::from_millis(9),
        Duration::from_secs(24 * 24 * 3600 + 1),
        Duration::from_millis(i64::MAX.unsigned_abs()),
        Duration::MAX,
    ] {
        let refused = Error::Config(ConfigError::TtlOutOfRange { given: ttl });
        assert_refused(&*client, &Ask { ttl, ..stage.ask("k") }, &refused);
    }
    assert_refused(&*client, &Ask::new(""), &ConfigError::EmptyKey.into());
    let huge = vec![b'k'; Key::MAX_LEN + 1];
    let refused = ConfigError::KeyTooLong { len: huge.len(), max: Key::MAX_LEN };
    assert_refused(&*client, &Ask::new(huge), &refused.into());
    // The smallest and the longest that do make sense; a busy machine may be too slow for the smallest.
    let short = client.try_acquire(&stage.ask("short").ttl(10).fixed());
    assert!(!matches!(short, Err(Error::Config(_))), "{:?}", short.map(|_| ()));
    drop(take(&*client, &Ask { ttl: Duration::from_secs(24 * 24 * 3600), ..stage.ask("long") }));
}

#[track_caller]
pub(super) fn assert_refused(client: &dyn Locks, ask: &Ask, refused: &Error) {
    for result in [client.acquire(ask).map(Some), client.try_acquire(ask)] {
        match result {
            Err(error) => assert_eq!(format!("{error:?}"), format!("{refused:?}")),
            Ok(_) => panic!("granted: {refused}"),
        }
    }
}
