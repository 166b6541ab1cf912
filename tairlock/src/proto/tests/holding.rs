//! For how long a lock is held at most and at least, in the keeper.

use super::{keeper::Kept, *};
use crate::{LeaseState, LossReason, Release, bell::Queue, options::Hold};
use std::sync::Arc;

fn at_most(max: u64) -> Hold {
    Hold { max: Some(ms(max)), min: None }
}

fn at_least(min: u64) -> Hold {
    Hold { max: None, min: Some(ms(min)) }
}

#[test]
fn at_its_limit_a_lease_is_lost_and_its_key_released() {
    let mut kept = Kept::new();
    let (lease, _) = kept.hold("a", 300, at_most(1_000), at(0));
    let sends = kept.run(at(5_000), |_| false);
    assert_eq!(lease.state_at(at(999)), LeaseState::Lost(LossReason::MaxHold));
    let renewed: Vec<_> = sends.iter().map(|(now, _)| *now).collect();
    // The renewal of 800 ms carries it to the limit: no other is sent.
    assert_eq!(renewed[renewed.len() - 2..], [at(800), at(1_000)]);
    assert!(matches!(sends.last(), Some((_, Op::Release { .. }))), "{sends:?}");
    assert_eq!(kept.store.token(&Key::new("a").unwrap(), at(1_000)), Ok(None));
    assert!(kept.keeper.is_idle());
}

#[test]
fn at_its_limit_the_turn_passes_with_the_release_and_not_before() {
    let queue = Arc::new(Queue::default());
    let mut kept = Kept::new();
    let name = Key::new("a").unwrap();
    let turn = queue.enter(&name);
    let next = queue.enter(&name);
    let (lease, _) = kept.hold_in_turn("a", 300, at_most(1_000), Some(turn), at(0));
    kept.run(at(990), |_| false);
    assert_eq!(lease.state_at(at(1_000)), LeaseState::Lost(LossReason::MaxHold));
    assert!(!next.has_come(), "the key is still there");
    kept.run(at(1_000), |_| false);
    assert!(next.has_come());
}

#[test]
fn an_unconfirmed_renewal_ends_a_lease_before_its_limit() {
    let mut kept = Kept::new();
    let (lease, _) = kept.hold("a", 300, at_most(1_000), at(0));
    kept.run(at(5_000), |now| now >= at(400));
    assert_eq!(lease.state_at(at(599)), LeaseState::Lost(LossReason::Unreachable));
}

#[test]
fn without_renewal_the_ttl_comes_first() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take_as("a", 300, false, at_most(300), None, at(0));
    kept.run(at(5_000), |_| false);
    assert_eq!(lease.state_at(at(300)), LeaseState::Lost(LossReason::Expired));
}

#[test]
fn a_release_before_its_time_leaves_the_key_for_the_rest() {
    let queue = Arc::new(Queue::default());
    let mut kept = Kept::new();
    let name = Key::new("a").unwrap();
    let turn = queue.enter(&name);
    let next = queue.enter(&name);
    let (lease, tenancy) = kept.hold_in_turn("a", 300, at_least(1_000), Some(turn), at(0));
    let op = kept.keeper.begin_release(&lease, tenancy, at(200));
    assert_eq!(lease.state_at(at(200)), LeaseState::Released);
    let reply = kept.store.apply(&op, at(201));
    assert_eq!(reply, Ok(Verdict::Retained));
    let release = kept.keeper.end_release(&lease, tenancy, reply, at(202));
    assert_eq!(release, Ok(Release::Retained { left: ms(798) }));
    assert!(release.unwrap().was_held());
    assert!(kept.keeper.is_idle(), "the process may end: the server keeps it");
    kept.run(at(1_001), |_| false);
    assert!(kept.store.token(&name, at(1_000)).unwrap().is_some());
    assert!(!next.has_come(), "the key is still there");
    kept.run(at(1_010), |_| false);
    assert!(next.has_come());
    assert_eq!(kept.store.token(&name, at(1_002)), Ok(None));
}

#[test]
fn a_release_after_its_time_is_one() {
    let mut kept = Kept::new();
    let (lease, tenancy) = kept.hold("a", 3_000, at_least(1_000), at(0));
    for (now, retains) in [(at(998), true), (at(999), true), (at(1_000), false)] {
        let op = kept.keeper.begin_release(&lease, tenancy, now);
        assert_eq!(matches!(op, Op::Retain(_)), retains, "{op:?}");
    }
}

#[test]
fn after_a_loss_nothing_is_kept() {
    let mut kept = Kept::new();
    let (lease, tenancy) = kept.take_as("a", 300, false, at_least(1_000), None, at(0));
    let op = kept.keeper.begin_release(&lease, tenancy, at(295));
    assert!(matches!(op, Op::Release { .. }), "{op:?}");
}

#[test]
fn a_dropped_guard_and_a_closed_client_keep_the_key_too() {
    let mut kept = Kept::new();
    let (dropped, tenancy) = kept.hold("a", 2_000, at_least(1_000), at(0));
    kept.hold("b", 2_000, at_least(1_000), at(0));
    kept.keeper.see_release_through(&dropped, tenancy, at(100));
    kept.keeper.close(at(200));
    // The first replies are lost; what is left is asked for again, as it is by then.
    kept.run(at(9_000), |now| now < at(300));
    for name in ["a", "b"] {
        let name = Key::new(name).unwrap();
        assert!(kept.store.token(&name, at(999)).unwrap().is_some());
        assert_eq!(kept.store.token(&name, at(1_001)), Ok(None));
    }
    assert!(matches!(kept.keeper.poll(at(9_000)), Step::Done(())));
}

#[test]
fn what_was_granted_to_a_closed_client_is_not_kept() {
    let mut kept = Kept::new();
    kept.keeper.close(at(0));
    kept.hold("a", 2_000, at_least(1_000), at(0));
    let sends = kept.run(at(100), |_| false);
    assert!(matches!(&sends[..], [(_, Op::Release { .. })]), "nobody held it: {sends:?}");
}
