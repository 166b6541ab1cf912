//! What holds when a lease is lost.

use std::time::Duration;

use tairlock::{LeaseState, LossReason, Release};

use super::{Stage, take};

const SOON: Duration = Duration::from_secs(10);

/// O18, O21: an expired lease is given back at once, and who is next in this process has its turn.
pub(super) fn without_renewal_a_lease_ends(stage: Stage<'_>) {
    let client = stage.client();
    let guard = take(&*client, &stage.ask("k").ttl(stage.ttl(150)).wait(1_000).fixed());
    assert_eq!(guard.lease().wait_lost(SOON), Some(LossReason::Expired));
    assert!(!guard.lease().is_held());
    // Ours ends before the server's, never after: whoever comes next may have to wait a little.
    let next = take(&*client, &stage.ask("k").wait(5_000));
    assert_eq!(guard.lease().state(), LeaseState::Lost(LossReason::Expired));
    assert_eq!(guard.release().expect("release"), Release::Taken);
    assert!(next.lease().is_held());
    assert_eq!(next.release().expect("release"), Release::Released);
}

/// O9, O14, O31: what stands under the key by now is another's, and nobody cleans up what is not its own.
pub(super) fn a_strangers_lock_is_never_released(stage: Stage<'_>) {
    let guard = take(&*stage.client(), &stage.ask("k").ttl(stage.ttl(100)).fixed());
    assert_eq!(guard.lease().wait_lost(SOON), Some(LossReason::Expired));
    let stranger = take(&*stage.client(), &stage.ask("k").wait(5_000));
    assert_eq!(guard.release().expect("release"), Release::Taken);
    let stored = stage.place.get(&stage.key("k"));
    assert_eq!(stored.as_deref(), Some(stranger.lease().token().as_bytes()));
    assert!(stranger.lease().is_held());
}

/// O13: a renewal looks at whose the lock is.
pub(super) fn a_strangers_lock_is_never_renewed(stage: Stage<'_>) {
    let guard = take(&*stage.client(), &stage.ask("k").ttl(stage.ttl(300)));
    stage.place.steal(&stage.key("k"), "a stranger");
    assert_eq!(guard.lease().wait_lost(SOON), Some(LossReason::Taken));
    assert_eq!(stage.place.get(&stage.key("k")).as_deref(), Some(&b"a stranger"[..]));
    let left = stage.place.ttl(&stage.key("k")).expect("the key is there");
    assert!(left > Duration::from_secs(45), "the stranger's minute is untouched: {left:?}");
    drop(guard);
}

/// O12: what is gone is not made again by who prolongs it.
pub(super) fn renewal_never_makes_a_key(stage: Stage<'_>) {
    let guard = take(&*stage.client(), &stage.ask("k").ttl(stage.ttl(300)));
    stage.place.delete(&stage.key("k"));
    assert_eq!(guard.lease().wait_lost(SOON), Some(LossReason::Vanished));
    assert!(!stage.place.exists(&stage.key("k")));
    assert_eq!(guard.release().expect("release"), Release::Expired);
}
