//! The keeper: renewals, losses, and releases that are seen through.

use super::*;
use crate::{Lease, LeaseState, LossReason, Release, bell::Turn, options::Hold};

pub(super) struct Kept {
    pub(super) keeper: Keeper<&'static str>,
    pub(super) store: Store,
}

impl Kept {
    pub(super) fn new() -> Self {
        Self { keeper: Keeper::new(LIMIT), store: Store::new() }
    }

    fn take(&mut self, name: &str, ttl: u64, renew: bool, now: Timestamp) -> (Lease, Tenancy) {
        self.take_as(name, ttl, renew, Hold::default(), None, now)
    }

    pub(super) fn hold(
        &mut self,
        name: &str,
        ttl: u64,
        hold: Hold,
        now: Timestamp,
    ) -> (Lease, Tenancy) {
        self.take_as(name, ttl, true, hold, None, now)
    }

    pub(super) fn hold_in_turn(
        &mut self,
        name: &str,
        ttl: u64,
        hold: Hold,
        turn: Option<Turn>,
        now: Timestamp,
    ) -> (Lease, Tenancy) {
        self.take_as(name, ttl, true, hold, turn, now)
    }

    pub(super) fn take_confirmed(
        &mut self,
        name: &str,
        ttl: u64,
        confirm: Option<Confirm>,
        now: Timestamp,
    ) -> (Lease, Tenancy) {
        self.hold_confirmed(name, ttl, Hold::default(), confirm, now)
    }

    pub(super) fn hold_confirmed(
        &mut self,
        name: &str,
        ttl: u64,
        hold: Hold,
        confirm: Option<Confirm>,
        now: Timestamp,
    ) -> (Lease, Tenancy) {
        let grant = Grant { confirm, hold, ..self.granted(name, ttl, now) };
        self.keeper.admit(grant, None, now)
    }

    pub(super) fn take_as(
        &mut self,
        name: &str,
        ttl: u64,
        renew: bool,
        hold: Hold,
        turn: Option<Turn>,
        now: Timestamp,
    ) -> (Lease, Tenancy) {
        let grant = Grant { renew, hold, ..self.granted(name, ttl, now) };
        self.keeper.admit(grant, turn, now)
    }

    fn granted(&mut self, name: &str, ttl: u64, now: Timestamp) -> Grant {
        let (key, token) = (Key::new(name).unwrap(), token(name));
        let ttl = Ttl::new(ms(ttl)).unwrap();
        let op = Op::Acquire { key: key.clone(), token: token.clone(), ttl };
        assert_eq!(self.store.apply(&op, now), Ok(Verdict::Granted));
        let (hold, until) = (Hold::default(), now + ttl.certain());
        let (renew, confirm, fence, holding) = (true, None, None, Holding::default());
        Grant {
            key,
            token,
            ttl,
            renew,
            hold,
            confirm,
            fence,
            sent: now,
            until,
            late: false,
            holding,
        }
    }

    /// Runs until `end`; the store answers at once unless `fails` says otherwise. Returns the sends.
    pub(super) fn run(
        &mut self,
        end: Timestamp,
        fails: impl Fn(Timestamp) -> bool,
    ) -> Vec<(Timestamp, Op)> {
        let mut now = at(0);
        let mut sends = Vec::new();
        loop {
            match self.keeper.poll(now) {
                Step::Send { id, op, .. } => {
                    let reply =
                        if fails(now) { Err(lost_reply()) } else { self.store.apply(&op, now) };
                    sends.push((now, op));
                    self.keeper.handle(Event::Reply(id, reply), now);
                }
                Step::Wait(until) if until > end => return sends,
                Step::Wait(until) => now = now.max(until),
                Step::Done(()) => return sends,
            }
        }
    }
}

#[test]
fn renews_at_a_third_until_forgotten() {
    let mut kept = Kept::new();
    let (lease, tenancy) = kept.take("a", 300, true, at(0));
    let sends = kept.run(at(1_000), |_| false);
    let times: Vec<_> = sends.iter().map(|(now, _)| *now).collect();
    assert_eq!(times[..3], [at(100), at(200), at(300)]);
    assert_eq!(lease.state_at(at(1_000)), LeaseState::Held);
    kept.keeper.begin_release(&lease, tenancy, at(0));
    assert!(kept.run(at(9_000), |_| false).is_empty(), "never renewed after a release was begun");
}

#[test]
fn many_leases_travel_together_a_hundred_at_a_time() {
    let mut kept = Kept::new();
    let leases: Vec<_> =
        (0..250).map(|i| kept.take(&format!("k{i}"), 3_000, true, at(i / 10)).0).collect();
    let sends = kept.run(at(1_500), |_| false);
    let sizes: Vec<_> = sends
        .iter()
        .map(|(_, op)| match op {
            Op::RenewMany(renewals) => renewals.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes, [100, 100, 50]);
    assert!(leases.iter().all(|lease| lease.state_at(at(3_900)) == LeaseState::Held));
}

#[test]
fn ten_thousand_leases_of_three_seconds_are_a_hundred_batches_a_second() {
    const SECONDS: u64 = 10;
    let mut kept = Kept::new();
    // Taken within 90 ms, as one client does.
    let leases: Vec<_> =
        (0..10_000).map(|i| kept.take(&format!("k{i}"), 3_000, true, at(i / 111)).0).collect();
    let sends = kept.run(at(SECONDS * 1_000), |_| false);
    let batches = u64::try_from(sends.len()).unwrap();
    assert!(batches <= 110 * SECONDS, "{batches} batches in {SECONDS} s");
    assert!(leases.iter().all(|lease| lease.state_at(at(SECONDS * 1_000)) == LeaseState::Held));
}

#[test]
fn a_lease_that_ends_while_another_is_renewed_holds_nothing_up() {
    let mut kept = Kept::new();
    let (renewed, _) = kept.take("a", 300, true, at(0));
    // Over at 102 ms: 2 ms after the other's renewal is due, and near enough to travel with it.
    let (ending, _) = kept.take("b", 105, false, at(0));
    let sends = kept.run(at(250), |_| false);
    assert_eq!(sends.len(), 2);
    assert_eq!(renewed.state_at(at(250)), LeaseState::Held);
    assert_eq!(ending.state_at(at(102)), LeaseState::Lost(LossReason::Expired));
}

#[test]
fn one_failed_round_is_doubt_and_no_loss() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take("a", 300, true, at(0));
    kept.run(at(110), |now| now < at(120));
    assert_eq!(lease.state_at(at(110)), LeaseState::Uncertain);
    kept.run(at(150), |now| now < at(120));
    assert_eq!(lease.state_at(at(150)), LeaseState::Held);
}

#[test]
fn silence_to_the_end_is_a_loss_at_the_end() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take("a", 300, true, at(0));
    kept.run(at(2_000), |_| true);
    assert_eq!(lease.state_at(at(294)), LeaseState::Lost(LossReason::Unreachable));
    assert!(kept.keeper.is_idle(), "nothing is kept for what was lost");
}

#[test]
fn what_ran_out_in_doubt_did_not_vanish_whoever_looks_first() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take("a", 300, true, at(0));
    kept.run(at(110), |_| true);
    let Step::Wait(due) = kept.keeper.poll(at(110)) else { panic!() };
    let Step::Send { id, .. } = kept.keeper.poll(due) else { panic!("renews again") };
    let gone = Verdict::Many(vec![Ok(Verdict::Gone)]);
    kept.keeper.handle(Event::Reply(id, Ok(gone)), at(300));
    assert_eq!(lease.state_at(at(300)), LeaseState::Lost(LossReason::Unreachable));
}

#[test]
fn a_confirmation_after_the_end_revives_nothing_and_frees_the_key() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take("a", 300, true, at(0));
    let Step::Wait(due) = kept.keeper.poll(at(0)) else { panic!() };
    let Step::Send { id, op, .. } = kept.keeper.poll(due) else { panic!("renews") };
    let confirmed = kept.store.apply(&op, due);
    kept.keeper.handle(Event::Reply(id, confirmed), at(295));
    assert!(matches!(lease.state_at(at(295)), LeaseState::Lost(_)));
    let Step::Send { op, .. } = kept.keeper.poll(at(295)) else { panic!("frees the key") };
    assert_eq!(kept.store.apply(&op, at(295)), Ok(Verdict::Released));
}

#[test]
fn taken_and_vanished_are_told_apart() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take("a", 300, true, at(0));
    let (other, _) = kept.take("b", 300, true, at(0));
    let (a, b) = (Key::new("a").unwrap(), Key::new("b").unwrap());
    assert!(kept.store.delete(&a, at(50)) && kept.store.delete(&b, at(50)));
    let ttl = Ttl::DEFAULT;
    kept.store.apply(&Op::Acquire { key: b, token: token("thief"), ttl }, at(60)).unwrap();
    kept.run(at(150), |_| false);
    assert_eq!(lease.state_at(at(150)), LeaseState::Lost(LossReason::Vanished));
    assert_eq!(other.state_at(at(150)), LeaseState::Lost(LossReason::Taken));
    assert_eq!(kept.store.token(&a, at(150)), Ok(None), "a renewal never makes a key");
}

#[test]
fn without_renewal_the_lease_just_ends() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take("a", 300, false, at(0));
    assert!(kept.run(at(1_000), |_| false).is_empty());
    assert_eq!(lease.state_at(at(295)), LeaseState::Lost(LossReason::Expired));
}

#[test]
fn a_release_whose_reply_is_lost_is_unknown_and_seen_through() {
    let mut kept = Kept::new();
    let (lease, tenancy) = kept.take("a", 2_000, true, at(0));
    kept.keeper.begin_release(&lease, tenancy, at(0));
    let out = kept.keeper.end_release(&lease, tenancy, Err(lost_reply()), at(0));
    assert!(matches!(out, Ok(Release::Unknown)));
    let sends = kept.run(at(3_000), |now| now < at(600));
    assert_eq!(sends.len(), 4, "sent again every quarter of a second until answered: {sends:?}");
    assert_eq!(kept.store.token(&Key::new("a").unwrap(), at(800)), Ok(None));
    assert!(kept.keeper.is_idle());
}

#[test]
fn a_grant_that_some_server_may_hear_of_later_is_released_twice() {
    for seen_through in [false, true] {
        let mut kept = Kept::new();
        let grant = Grant { late: true, ..kept.granted("a", 20_000, at(0)) };
        let (lease, tenancy) = kept.keeper.admit(grant, None, at(0));
        if seen_through {
            kept.keeper.see_release_through(&lease, tenancy, at(0));
        } else {
            kept.keeper.begin_release(&lease, tenancy, at(0));
            let out = kept.keeper.end_release(&lease, tenancy, Ok(Verdict::Released), at(0));
            assert_eq!(out, Ok(Release::Released));
        }
        let sends = kept.run(at(3_000), |_| false);
        let released = |(_, op): &(Timestamp, Op)| matches!(op, Op::Release { .. });
        assert!(sends.iter().all(released));
        let when: Vec<_> = sends.into_iter().map(|(when, _)| when).collect();
        let again = at(0) + LIMIT;
        assert_eq!(when, if seen_through { vec![at(0), again] } else { vec![again] });
        assert!(kept.keeper.is_idle());
    }
}

#[test]
fn a_refused_release_is_an_error_and_is_not_repeated() {
    let mut kept = Kept::new();
    let (lease, tenancy) = kept.take("a", 2_000, true, at(0));
    kept.keeper.begin_release(&lease, tenancy, at(0));
    let refusal = Fault::new(FaultKind::Permission, "no");
    assert!(kept.keeper.end_release(&lease, tenancy, Err(refusal), at(0)).is_err());
    assert!(kept.keeper.is_idle());
}

#[test]
fn an_undo_goes_down_its_own_line_first_and_twice_down_another() {
    let mut keeper = Keeper::new(LIMIT);
    let undo = Undo {
        key: key(),
        token: token("me"),
        until: at(10_000),
        route: Some("own"),
        again: false,
    };
    keeper.undo(undo, at(0));
    let Step::Send { id, route: Some("own"), .. } = keeper.poll(at(0)) else { panic!("own line") };
    let gone = Fault::ambiguous(FaultKind::Unreachable, "closed");
    keeper.handle(Event::Reply(id, Err(gone)), at(1));
    let Step::Send { id, route: None, .. } = keeper.poll(at(1)) else { panic!("at once") };
    keeper.handle(Event::Reply(id, Ok(Verdict::Gone)), at(2));
    let Step::Wait(until) = keeper.poll(at(2)) else { panic!("once more, later") };
    assert_eq!(until, at(2) + LIMIT);
    let Step::Send { id, route: None, .. } = keeper.poll(until) else { panic!("once more") };
    keeper.handle(Event::Reply(id, Ok(Verdict::Released)), until);
    assert!(keeper.is_idle());
}

#[test]
fn an_undo_gives_up_when_the_key_is_dead_anyway() {
    let mut keeper: Keeper<&str> = Keeper::new(LIMIT);
    keeper.undo(
        Undo { key: key(), token: token("me"), until: at(1_000), route: None, again: false },
        at(0),
    );
    let mut now = at(0);
    loop {
        match run(&mut keeper, now, |_| Err(lost_reply())) {
            Err(until) if until == Timestamp::NEVER => break,
            Err(until) => now = until,
            Ok(()) => panic!("not closed"),
        }
    }
    assert!(now < at(1_000) && keeper.is_idle());
}

#[test]
fn closing_releases_in_the_order_of_the_grants() {
    let mut kept = Kept::new();
    for nth in 0..20 {
        kept.take(&format!("k{nth}"), 2_000, true, at(0));
    }
    kept.keeper.close(at(10));
    let sends = kept.run(at(500), |_| false);
    let key = |(_, op): &(Timestamp, Op)| match op {
        Op::Release { key, .. } => format!("{key:?}"),
        other => panic!("{other:?}"),
    };
    let expected: Vec<_> =
        (0..20).map(|nth| format!("{:?}", Key::new(format!("k{nth}")).unwrap())).collect();
    assert_eq!(sends.iter().map(key).collect::<Vec<_>>(), expected);
}

#[test]
fn closing_releases_what_is_held_and_then_ends() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take("a", 2_000, true, at(0));
    kept.keeper.close(at(10));
    let sends = kept.run(at(5_000), |_| false);
    assert!(matches!(&sends[..], [(_, Op::Release { .. })]));
    assert_eq!(lease.state_at(at(20)), LeaseState::Released);
    assert!(matches!(kept.keeper.poll(at(20)), Step::Done(())));
}
