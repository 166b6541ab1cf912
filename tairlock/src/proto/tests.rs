//! The machines on the embedded store, in virtual time: every reply, loss and delay is the test's own.

mod confirming;
mod holding;
mod keeper;

use std::time::Duration;

use super::*;
use crate::{FaultKind, Token, memory::Store, options::Request};

const LIMIT: Duration = Duration::from_secs(1);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(0) + ms(1_000_000 + millis)
}

fn key() -> Key {
    Key::new("k").unwrap()
}

fn token(name: &str) -> Token {
    Token::from_bytes(name)
}

fn request(ttl: u64, wait: u64) -> Request {
    Request::new(key()).ttl(ms(ttl)).unwrap().wait(ms(wait)).unwrap()
}

fn acquire(request: &Request, now: Timestamp) -> Acquire {
    Acquire::new(request, token("me"), LIMIT, 7, now)
}

fn lost_reply() -> Fault {
    Fault::ambiguous(FaultKind::NoReply, "no reply")
}

/// Polls until the machine waits or is done; replies come from `answer`, at the moment of the send.
fn run<M: Machine>(
    machine: &mut M,
    now: Timestamp,
    mut answer: impl FnMut(&Op) -> Result<Verdict, Fault>,
) -> Result<M::Output, Timestamp> {
    loop {
        match machine.poll(now) {
            // Nobody listens.
            Step::Send { id, op: Op::Remaining { .. }, .. } => {
                let fault = Fault::new(FaultKind::Unsupported, "no tracking");
                machine.handle(Event::Reply(id, Err(fault)), now);
            }
            Step::Send { id, op, .. } => machine.handle(Event::Reply(id, answer(&op)), now),
            Step::Wait(until) => return Err(until),
            Step::Done(output) => return Ok(output),
        }
    }
}

/// O15: measured from before the question, not from its answer.
#[test]
fn granted_until_ttl_less_drift_from_before_the_send() {
    let mut machine = acquire(&request(10_000, 0), at(0));
    let Step::Send { id, within, .. } = machine.poll(at(5)) else { panic!("asks") };
    assert_eq!(within, LIMIT);
    machine.handle(Event::Reply(id, Ok(Verdict::Granted)), at(900));
    match machine.poll(at(900)) {
        Step::Done(Acquired::Granted { sent, until, .. }) => {
            assert_eq!((sent, until), (at(5), at(5) + ms(10_000 - 102)));
        }
        other => panic!("{other:?}"),
    }
    assert!(machine.residue().is_empty());
}

#[test]
fn the_reply_deadline_is_a_third_of_a_short_ttl() {
    let mut machine = acquire(&request(300, 0), at(0));
    assert!(matches!(machine.poll(at(0)), Step::Send { within, .. } if within == ms(100)));
}

#[test]
fn busy_without_wait_is_busy_and_with_wait_times_out_not_before() {
    let mut machine = acquire(&request(1_000, 0), at(0));
    assert!(matches!(run(&mut machine, at(0), |_| Ok(Verdict::Busy)), Ok(Acquired::Busy)));

    let mut machine = acquire(&request(1_000, 500), at(0));
    let mut now = at(0);
    let mut asked = 0;
    let waited = loop {
        let busy = |_: &Op| {
            asked += 1;
            Ok(Verdict::Busy)
        };
        match run(&mut machine, now, busy) {
            Err(until) => {
                assert!(until > now, "no hot loop");
                now = until;
            }
            Ok(Acquired::TimedOut { waited }) => break waited,
            Ok(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(waited, ms(500));
    assert!((5..=60).contains(&asked), "{asked} commands in 500 ms");
    assert!(machine.residue().is_empty());
}

#[test]
fn a_fault_is_never_reported_as_busy() {
    let down = || Fault::new(FaultKind::Unreachable, "down");
    let mut machine = acquire(&request(1_000, 0), at(0));
    let mut asked = 0;
    let out = run(&mut machine, at(0), |_| {
        asked += 1;
        Err(down())
    });
    assert!(matches!(out, Ok(Acquired::Failed(fault)) if fault.kind() == FaultKind::Unreachable));
    assert_eq!(asked, 2, "a dead idle connection is no outage: one try more, at once");

    let mut machine = acquire(&request(1_000, 400), at(0));
    let mut now = at(0);
    let fault = loop {
        match run(&mut machine, now, |_| Err(down())) {
            Err(until) => now = until,
            Ok(Acquired::Failed(fault)) => break fault,
            Ok(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(fault.kind(), FaultKind::Unreachable);
    assert_eq!(now, at(400));
    assert!(machine.residue().is_empty(), "nothing was ever sent");
}

#[test]
fn what_time_cannot_cure_fails_at_once() {
    let mut machine = acquire(&request(1_000, 60_000), at(0));
    let out = run(&mut machine, at(0), |_| Err(Fault::new(FaultKind::Auth, "no")));
    assert!(matches!(out, Ok(Acquired::Failed(fault)) if fault.kind() == FaultKind::Auth));
}

#[test]
fn a_lost_grant_is_found_by_its_token_and_counts_from_the_first_send() {
    let mut store = Store::new();
    let mut machine = acquire(&request(1_000, 0), at(0));
    let Step::Send { id, op, .. } = machine.poll(at(0)) else { panic!("asks") };
    store.apply(&op, at(10)).unwrap();
    machine.handle(Event::Reply(id, Err(lost_reply())), at(333));
    assert!(!machine.residue().is_empty(), "the grant may stand");
    match run(&mut machine, at(333), |op| store.apply(op, at(340))) {
        Ok(Acquired::Granted { sent, until, .. }) => {
            assert_eq!((sent, until), (at(0), at(0) + ms(1_000 - 12)));
        }
        other => panic!("{other:?}"),
    }
}

/// O15, O16: with nothing left, it is no grant.
#[test]
fn a_grant_that_comes_too_late_is_given_back() {
    let mut store = Store::new();
    let mut machine = acquire(&request(100, 1_000), at(0));
    let Step::Send { id, op, .. } = machine.poll(at(0)) else { panic!("asks") };
    let granted = store.apply(&op, at(0));
    // Equality counts as expired: 100 ms less 3 ms of drift.
    machine.handle(Event::Reply(id, granted), at(97));
    let Step::Send { id, op, .. } = machine.poll(at(97)) else { panic!("gives back") };
    assert!(matches!(op, Op::Release { .. }));
    let released = store.apply(&op, at(98));
    assert_eq!(released, Ok(Verdict::Released));
    machine.handle(Event::Reply(id, released), at(98));
    let Err(until) = run(&mut machine, at(98), |_| panic!("pauses first")) else { panic!() };
    let out = run(&mut machine, until, |op| store.apply(op, until));
    assert!(matches!(out, Ok(Acquired::Granted { sent, .. }) if sent == until));
}

/// A machine whose grant came too late, and the release that gives it back.
fn late(wait: u64) -> (Acquire, SendId) {
    let mut machine = acquire(&request(100, wait), at(0));
    let Step::Send { id, .. } = machine.poll(at(0)) else { panic!("asks") };
    machine.handle(Event::Reply(id, Ok(Verdict::Granted)), at(97));
    let Step::Send { id, op: Op::Release { .. }, .. } = machine.poll(at(97)) else { panic!() };
    (machine, id)
}

#[test]
fn a_late_grant_whose_release_may_be_under_way_is_not_asked_for_again() {
    let (mut machine, id) = late(1_000);
    machine.handle(Event::Reply(id, Err(lost_reply())), at(130));
    let out = run(&mut machine, at(130), |_| panic!("the release would delete the next grant"));
    assert!(matches!(out, Ok(Acquired::Failed(fault)) if fault.kind() == FaultKind::NoReply));
    assert!(!machine.residue().is_empty());
}

#[test]
fn found_after_a_release_it_counts_from_the_first_command() {
    let (mut machine, id) = late(1_000);
    machine.handle(Event::Reply(id, Ok(Verdict::Released)), at(98));
    let Err(until) = run(&mut machine, at(98), |_| panic!("pauses first")) else { panic!() };
    let Step::Send { id, .. } = machine.poll(until) else { panic!("asks") };
    // An acquire of before was under way on another connection, and arrived at some time since.
    machine.handle(Event::Reply(id, Ok(Verdict::Ours)), until);
    assert!(matches!(machine.poll(until), Step::Send { op: Op::Release { .. }, .. }));
}

#[test]
fn found_although_all_were_answered_it_counts_from_the_beginning() {
    let mut machine = acquire(&request(1_000, 1_000), at(0));
    let Step::Send { id, .. } = machine.poll(at(0)) else { panic!("asks") };
    machine.handle(Event::Reply(id, Ok(Verdict::Busy)), at(1));
    let Err(until) = run(&mut machine, at(1), |_| panic!("pauses first")) else { panic!() };
    let out = run(&mut machine, until, |_| Ok(Verdict::Ours));
    assert!(matches!(out, Ok(Acquired::Granted { sent, .. }) if sent == at(0)));
}

#[test]
fn dropped_at_any_step_it_says_whether_something_may_be_left() {
    let mut machine = acquire(&request(1_000, 1_000), at(0));
    assert!(machine.residue().is_empty(), "before anything was sent");
    let Step::Send { id, .. } = machine.poll(at(0)) else { panic!("asks") };
    assert!(!machine.residue().is_empty(), "under way");
    machine.handle(Event::Reply(id, Ok(Verdict::Busy)), at(1));
    assert!(machine.residue().is_empty(), "refused");
    let Err(until) = run(&mut machine, at(1), |_| panic!()) else { panic!() };
    let Step::Send { id, .. } = machine.poll(until) else { panic!("asks") };
    machine.handle(Event::Reply(id, Err(lost_reply())), until);
    assert!(!machine.residue().is_empty(), "unknown");
}

#[test]
fn what_failed_unsure_leaves_residue_and_what_was_granted_does_not() {
    let mut machine = acquire(&request(3_000, 0), at(0));
    let out = run(&mut machine, at(0), |_| Err(lost_reply()));
    assert!(matches!(out, Ok(Acquired::Failed(_))));
    assert!(!machine.residue().is_empty(), "both tries may have won");

    let mut machine = acquire(&request(3_000, 0), at(0));
    let mut replies = [Err(lost_reply()), Ok(Verdict::Ours)].into_iter();
    let out = run(&mut machine, at(0), |_| replies.next().unwrap());
    assert!(matches!(out, Ok(Acquired::Granted { .. })));
    assert!(machine.residue().is_empty(), "it is held: undoing it would free it");
}

#[test]
fn in_line_nothing_is_sent_before_the_bell_or_after_the_wait() {
    let mut machine = acquire(&request(1_000, 300), at(0));
    machine.stand_in_line();
    assert_eq!(run(&mut machine, at(0), |_| panic!("sent")).unwrap_err(), at(300));
    machine.handle(Event::Rung, at(100));
    assert!(matches!(
        run(&mut machine, at(100), |_| Ok(Verdict::Granted)),
        Ok(Acquired::Granted { .. })
    ));

    let mut machine = acquire(&request(1_000, 300), at(0));
    machine.stand_in_line();
    let out = run(&mut machine, at(300), |_| panic!("sent"));
    assert!(matches!(out, Ok(Acquired::TimedOut { waited }) if waited == ms(300)));
}
