//! Confirmation: what is asked, of whom, in which order, and what becomes of grants and renewals without it.

use super::{keeper::Kept, *};
use crate::{Confirm, LeaseState, LossReason, Ttl, options::Hold};

/// For a TTL of 3 s: a reply has 1 s, copies 400 ms.
fn confirm() -> Confirm {
    Confirm::replicas(2).within(ms(400))
}

fn ttl(millis: u64) -> Ttl {
    Ttl::new(ms(millis)).unwrap()
}

fn grant() -> Op {
    Op::Acquire { key: key(), token: token("me"), ttl: ttl(3_000) }
}

fn renewals(names: &[&str]) -> Op {
    let renewal = |name: &&str| {
        let (key, token, ttl) = (Key::new(name).unwrap(), token(name), ttl(3_000));
        Renewal { key, token, ttl, of: None }
    };
    Op::RenewMany(names.iter().map(renewal).collect())
}

fn begin(op: Op) -> Confirming {
    Confirming::new(&Confirmed { op, confirm: confirm(), each: LIMIT })
}

/// Plays `replies` and names what was asked, up to the answer.
fn play(
    op: Op,
    replies: Vec<Result<Verdict, Fault>>,
) -> (Vec<&'static str>, Result<Verdict, Fault>) {
    let mut machine = begin(op);
    let mut asked = Vec::new();
    for reply in replies {
        let (op, within) = machine.ask();
        asked.push(match op {
            Op::Acquire { .. } | Op::AcquireFenced { .. } => "take",
            Op::RenewMany(_) => "renew",
            Op::Copies { .. } => "wait",
            Op::Release { .. } => "release",
            other => panic!("{other:?}"),
        });
        let waits = matches!(asked.last(), Some(&"wait"));
        assert_eq!(within, if waits { ms(1_500) } else { LIMIT });
        if let Some(answer) = machine.hear(reply) {
            return (asked, answer);
        }
    }
    panic!("no answer after {asked:?}");
}

fn refused() -> Fault {
    Fault::new(FaultKind::Config, "no file")
}

fn renewed() -> Verdict {
    Verdict::Many(vec![Ok(Verdict::Renewed)])
}

#[test]
fn a_grant_is_one_once_copies_have_it() {
    let again = Verdict::Issued { fence: 7, again: true };
    let issued = Verdict::Issued { fence: 7, again: false };
    for acked in [2, 3] {
        for granted in [Verdict::Granted, issued.clone()] {
            let replies = vec![Ok(granted.clone()), Ok(Verdict::Copies(acked))];
            assert_eq!(play(grant(), replies), (vec!["take", "wait"], Ok(granted)));
        }
        // A server answers for what this connection wrote: nothing yet, if our token stood there.
        for ours in [Verdict::Ours, again.clone()] {
            let replies = vec![Ok(ours.clone()), Ok(renewed()), Ok(Verdict::Copies(acked))];
            assert_eq!(play(grant(), replies), (vec!["take", "renew", "wait"], Ok(ours)));
        }
    }
}

#[test]
fn who_is_not_granted_waits_for_no_copies() {
    for reply in [Ok(Verdict::Busy), Err(lost_reply()), Err(refused())] {
        assert_eq!(play(grant(), vec![reply.clone()]), (vec!["take"], reply));
    }
    let lost = Verdict::Many(vec![Ok(Verdict::Gone), Ok(Verdict::Taken), Err(refused())]);
    let heard = play(renewals(&["a", "b", "c"]), vec![Ok(lost.clone())]);
    assert_eq!(heard, (vec!["renew"], Ok(lost)));
}

#[test]
fn what_too_few_have_is_taken_back() {
    for acked in [0, 1] {
        for (released, stays) in [
            (Ok(Verdict::Released), false),
            (Ok(Verdict::Gone), false),
            (Ok(Verdict::Taken), false),
            (Err(lost_reply()), true),
            (Err(refused()), true),
        ] {
            let replies = vec![Ok(Verdict::Granted), Ok(Verdict::Copies(acked)), released];
            let answer = Ok(Verdict::Unconfirmed { acked, wanted: 2, stays });
            assert_eq!(play(grant(), replies), (vec!["take", "wait", "release"], answer));
        }
    }
}

#[test]
fn what_cannot_be_confirmed_is_taken_back_and_told() {
    let steps = vec!["take", "wait", "release"];
    let replies = vec![Ok(Verdict::Granted), Err(refused()), Ok(Verdict::Released)];
    assert_eq!(play(grant(), replies), (steps.clone(), Err(refused())));
    // If that fails too, the token may stand there, and the fault says so.
    let replies = vec![Ok(Verdict::Granted), Err(refused()), Err(refused())];
    let (asked, answer) = play(grant(), replies);
    let fault = answer.unwrap_err();
    assert_eq!((asked, fault.kind(), fault.is_ambiguous()), (steps, FaultKind::Config, true));
}

#[test]
fn nothing_is_sent_down_another_connection() {
    // The reply of one step is lost, and with it the connection.
    let lost = || Err(lost_reply());
    let copies = vec![Ok(Verdict::Granted), lost()];
    assert_eq!(play(grant(), copies), (vec!["take", "wait"], lost()));
    let again = vec![Ok(Verdict::Ours), lost()];
    assert_eq!(play(grant(), again), (vec!["take", "renew"], lost()));
}

#[test]
fn a_token_that_is_gone_before_it_is_written_again_was_no_grant() {
    for one in [Ok(Verdict::Gone), Ok(Verdict::Taken), Err(refused())] {
        let replies = vec![Ok(Verdict::Ours), Ok(Verdict::Many(vec![one]))];
        let (asked, answer) = play(grant(), replies);
        assert_eq!(asked, ["take", "renew"]);
        assert!(answer.unwrap_err().is_ambiguous());
    }
}

#[test]
fn only_renewals_that_copies_have_count() {
    let many = Verdict::Many(vec![Ok(Verdict::Renewed), Ok(Verdict::Taken), Ok(Verdict::Renewed)]);
    let batch = || renewals(&["a", "b", "c"]);
    let replies = vec![Ok(many.clone()), Ok(Verdict::Copies(2))];
    assert_eq!(play(batch(), replies), (vec!["renew", "wait"], Ok(many.clone())));
    let few = Verdict::Unconfirmed { acked: 1, wanted: 2, stays: false };
    for (copies, instead) in
        [(Ok(Verdict::Copies(1)), Ok(few)), (Err(lost_reply()), Err(lost_reply()))]
    {
        let (asked, answer) = play(batch(), vec![Ok(many.clone()), copies]);
        let told = Verdict::Many(vec![instead.clone(), Ok(Verdict::Taken), instead]);
        assert_eq!((asked, answer), (vec!["renew", "wait"], Ok(told)));
    }
}

#[test]
fn an_acquire_without_copies_is_over_and_not_tried_again() {
    let request = request(3_000, 2_000).confirm(confirm()).unwrap();
    for stays in [false, true] {
        let mut machine = acquire(&request, at(0));
        let Step::Send { id, op: Op::Confirmed(asked), within, .. } = machine.poll(at(0)) else {
            panic!("asks")
        };
        // Four replies, and the time of the copies, which servers overstep by 100 ms.
        assert_eq!((asked.each, within), (LIMIT, ms(4_000 + 400 + 100)));
        let verdict = Verdict::Unconfirmed { acked: 1, wanted: 2, stays };
        machine.handle(Event::Reply(id, Ok(verdict)), at(500));
        let Step::Done(over) = machine.poll(at(500)) else { panic!("goes on") };
        assert!(matches!(over, Acquired::NotReplicated { acked: 1, wanted: 2 }), "{over:?}");
        assert_eq!(!machine.residue().is_empty(), stays);
    }
}

#[test]
fn the_time_of_the_copies_is_part_of_the_lease() {
    let request = request(3_000, 2_000).confirm(confirm()).unwrap();
    let mut machine = acquire(&request, at(0));
    let Step::Send { id, .. } = machine.poll(at(0)) else { panic!("asks") };
    machine.handle(Event::Reply(id, Ok(Verdict::Granted)), at(450));
    let Step::Done(Acquired::Granted { sent, until, .. }) = machine.poll(at(450)) else { panic!() };
    assert_eq!((sent, until), (at(0), at(0) + ttl(3_000).certain()));
    // A confirmation that comes when the lease is over is none.
    let mut machine = acquire(&request, at(0));
    let Step::Send { id, .. } = machine.poll(at(0)) else { panic!("asks") };
    machine.handle(Event::Reply(id, Ok(Verdict::Granted)), at(2_968));
    assert!(matches!(machine.poll(at(2_968)), Step::Send { op: Op::Release { .. }, .. }));
}

/// What copies say to renewals, in virtual time; the server itself renews whatever it is asked for.
fn run_renewals(
    kept: &mut Kept,
    end: u64,
    copies: impl Fn(Timestamp) -> u32,
) -> Vec<(Timestamp, Op)> {
    let mut now = at(0);
    let mut sends = Vec::new();
    loop {
        match kept.keeper.poll(now) {
            Step::Send { id, op, .. } => {
                sends.push((now, op.clone()));
                let reply = match op {
                    Op::Confirmed(confirmed) => {
                        let mut machine = Confirming::new(&confirmed);
                        loop {
                            let reply = match machine.ask().0 {
                                Op::Copies { .. } => Ok(Verdict::Copies(copies(now))),
                                op => kept.store.apply(&op, now),
                            };
                            if let Some(answer) = machine.hear(reply) {
                                break answer;
                            }
                        }
                    }
                    op => kept.store.apply(&op, now),
                };
                kept.keeper.handle(Event::Reply(id, reply), now);
            }
            Step::Wait(until) if until > at(end) => return sends,
            Step::Wait(until) => now = now.max(until),
            Step::Done(()) => return sends,
        }
    }
}

#[test]
fn a_lease_is_not_prolonged_beyond_what_copies_have() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take_confirmed("k", 3_000, Some(confirm()), at(0));
    // They confirm the first renewal, at 1 s, and no more.
    let sends = run_renewals(&mut kept, 3_960, |now| if now < at(1_500) { 2 } else { 1 });
    assert_eq!(lease.until(), at(1_000) + ttl(3_000).certain());
    assert_eq!(lease.state_at(at(3_960)), LeaseState::Uncertain);
    assert_eq!(lease.state_at(lease.until()), LeaseState::Lost(LossReason::Unreachable));
    // It was tried again and again, and the key, which the server would keep, is given back at the end.
    let renewed = sends.iter().filter(|(_, op)| matches!(op, Op::Confirmed(_))).count();
    assert!(renewed > 5, "{renewed}");
    let sends = run_renewals(&mut kept, 10_000, |_| 2);
    let [(end, Op::Release { .. })] = sends.as_slice() else { panic!("{sends:?}") };
    assert_eq!(*end, lease.until());
    assert_eq!(kept.store.token(&key(), at(10_000)), Ok(None));
    assert!(kept.keeper.is_idle());
}

#[test]
fn copies_that_come_back_make_it_certain_again() {
    let mut kept = Kept::new();
    let (lease, _) = kept.take_confirmed("k", 3_000, Some(confirm()), at(0));
    run_renewals(&mut kept, 9_000, |now| if now < at(2_000) { 0 } else { 2 });
    assert_eq!(lease.state_at(at(9_000)), LeaseState::Held);
    assert!(lease.until() > at(9_000));
}

#[test]
fn a_batch_is_of_leases_that_are_confirmed_alike() {
    let mut kept = Kept::new();
    let two = [None, Some(confirm()), Some(Confirm::aof(0)), Some(Confirm::replicas(2))];
    for (at_, confirm) in (0..40).zip(two.iter().cycle()) {
        kept.take_confirmed(&format!("k{at_}"), 3_000, *confirm, at(0));
    }
    let sends = run_renewals(&mut kept, 1_000, |_| 2);
    let size = |op: &Op| match op {
        Op::RenewMany(all) => all.len(),
        other => panic!("{other:?}"),
    };
    let mut batches = Vec::new();
    for (_, op) in &sends {
        match op {
            Op::Confirmed(confirmed) => {
                batches.push((Some(confirmed.confirm), size(&confirmed.op)));
            }
            op => batches.push((None, size(op))),
        }
    }
    let expected: Vec<_> =
        two.iter().map(|confirm| (confirm.map(|confirm| confirm.of(ttl(3_000))), 10)).collect();
    assert_eq!(batches, expected);
}

#[test]
fn giving_back_is_never_confirmed() {
    let mut kept = Kept::new();
    let (lease, tenancy) = kept.take_confirmed("k", 3_000, Some(confirm()), at(0));
    let op = kept.keeper.begin_release(&lease, tenancy, at(10));
    assert!(matches!(op, Op::Release { .. }), "{op:?}");
    let hold = Hold { min: Some(ms(5_000)), max: None };
    let (lease, tenancy) = kept.hold_confirmed("h", 3_000, hold, Some(confirm()), at(0));
    let op = kept.keeper.begin_release(&lease, tenancy, at(10));
    assert!(matches!(op, Op::Retain(_)), "{op:?}");
}
