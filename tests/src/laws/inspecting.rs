//! What holds for who looks at locks, and takes them away.

use std::time::{Duration, SystemTime};

use tairlock::{ConfigError, Error, FaultKind, LeaseState, LossReason, Operation, Release};

use super::{Stage, take};
use crate::world::Config;

const SOON: Duration = Duration::from_secs(10);

pub(super) fn the_holder_is_told(stage: Stage<'_>) {
    let config = Config { label: Some("worker@3/a"), ..Config::default() };
    let (holder, other) = (stage.client_with(&config), stage.client());
    assert_eq!(other.inspect(&stage.key("k")).expect("free"), None);
    let before = SystemTime::now() - Duration::from_millis(1);
    let guard = take(&*holder, &stage.ask("k").ttl(20_000));
    for (client, own) in [(&holder, true), (&other, false), (&holder.another(), true)] {
        let seen = client.inspect(&stage.key("k")).expect("inspect").expect("it is held");
        assert_eq!((seen.label(), seen.foreign()), (Some("worker@3/a"), None));
        assert_eq!(seen.is_own(), own);
        let since = seen.since().expect("its token says so");
        assert!(before <= since && since <= SystemTime::now());
        let left = seen.remaining().expect("it dies of itself");
        assert!(left <= Duration::from_secs(20) && left > Duration::from_secs(12), "{left:?}");
        let token = String::from_utf8_lossy(guard.lease().token().as_bytes()).into_owned();
        let secret = token.rsplit_once('/').expect("a label").1;
        assert!(!format!("{seen:?}").contains(secret));
    }
    assert_eq!(guard.release().expect("release"), Release::Released);
    assert_eq!(holder.inspect(&stage.key("k")).expect("free again"), None);
}

/// O52: another library's token, or what no library writes, is told and crashes nobody.
pub(super) fn what_is_no_token_is_told(stage: Stage<'_>) {
    let client = stage.client();
    for text in ["", "OK", "42", "locked by hand\r\n", "a@b/c", "é\0"] {
        stage.place.steal(&stage.key("k"), text);
        let seen = client.inspect(&stage.key("k")).expect("inspect").expect("held");
        assert!(seen.foreign().is_some() && !seen.is_own(), "{text:?}: {seen:?}");
        assert_eq!((seen.label(), seen.since()), (None, None));
        assert!(seen.remaining().is_some_and(|left| left <= Duration::from_secs(60)));
        let taken = client.force_release(&stage.key("k")).expect("taken").expect("held");
        assert_eq!(taken.foreign(), seen.foreign());
        assert!(!stage.place.exists(&stage.key("k")));
    }
}

pub(super) fn an_operator_takes_a_lock_away(stage: Stage<'_>) {
    let config = Config { label: Some("stuck"), ..Config::default() };
    let (holder, operator) = (stage.client_with(&config), stage.client());
    assert_eq!(operator.force_release(&stage.key("k")).expect("free"), None);
    let guard = take(&*holder, &stage.ask("k").ttl(600));
    let was = operator.force_release(&stage.key("k")).expect("taken").expect("it was held");
    assert_eq!((was.label(), was.is_own()), (Some("stuck"), false));
    assert!(was.remaining().is_some_and(|left| left <= Duration::from_millis(600)));
    assert!(!stage.place.exists(&stage.key("k")));
    assert_eq!(guard.lease().wait_lost(SOON), Some(LossReason::Vanished));
    assert_eq!(guard.release().expect("release"), Release::Expired);
    drop(take(&*operator, &stage.ask("k")));

    // One's own: told at once, and who is next in line does not wait for a renewal, nor for a hold.
    let guard = take(&*operator, &stage.ask("own").ttl(60_000).wait(1_000));
    let was = operator.force_release(&stage.key("own")).expect("taken").expect("it was held");
    assert!(was.is_own());
    assert_eq!(guard.lease().state(), LeaseState::Lost(LossReason::Vanished));
    let next = take(&*operator, &stage.ask("own").ttl(60_000).min_hold(60_000).wait(5_000));
    assert!(matches!(next.release(), Ok(Release::Retained { .. })));
    let was = operator.force_release(&stage.key("own")).expect("taken").expect("it is kept");
    assert!(was.is_own());
    drop(take(&*operator, &stage.ask("own").wait(5_000)));
    drop(guard);
}

pub(super) fn looking_is_refused_where_there_is_no_lock(stage: Stage<'_>) {
    let client = stage.client();
    stage.place.put_foreign(&stage.key("k"));
    let key = stage.key("k");
    for (result, operation) in [
        (client.inspect(&key), Operation::Inspect),
        (client.force_release(&key), Operation::ForceRelease),
    ] {
        let error = result.expect_err("no lock");
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::WrongType, "{error}");
        assert!(error.to_string().contains(stage.name), "names the key: {error}");
        assert!(matches!(error, Error::Backend { operation: of, .. } if of == operation));
    }
    assert!(stage.place.exists(&key), "nothing is lost");
    stage.place.delete(&key);
    let empty = client.inspect(b"").expect_err("empty");
    assert!(matches!(empty, Error::Config(ConfigError::EmptyKey)));
    assert!(matches!(client.force_release(b""), Err(Error::Config(ConfigError::EmptyKey))));
    client.close();
    assert!(matches!(client.inspect(&key), Err(Error::Closed)));
    assert!(matches!(client.force_release(&key), Err(Error::Closed)));
}
