//! Updates on the embedded store, in virtual time: every reply, loss and delay is the test's own.

mod losses;

use std::sync::Arc;

use super::*;
use crate::{
    FaultKind, Key,
    memory::Store,
    proto::{Deed, Op, Pacing, Verdict},
    value::Expiry,
};

const LIMIT: Duration = Duration::from_secs(1);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(0) + ms(1_000_000 + millis)
}

fn request() -> ValueRequest {
    ValueRequest::new(Key::new("k").unwrap())
}

fn bytes(text: &str) -> Arc<[u8]> {
    text.as_bytes().into()
}

fn lost() -> Fault {
    Fault::ambiguous(FaultKind::NoReply, "no reply")
}

/// What befalls one command.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Answered,
    /// The server never gets it.
    RequestLost,
    /// It is carried out.
    ReplyLost,
    Refused(FaultKind),
}

/// A server: a store, and what befalls the commands to come.
#[derive(Default)]
struct Server {
    store: Store,
    fates: Vec<Fate>,
    asked: Vec<Op>,
    /// Whether it keeps no marks, as Tair.
    markless: bool,
}

impl Server {
    fn answer(&mut self, op: &Op, now: Timestamp) -> Result<Verdict, Fault> {
        self.asked.push(op.clone());
        let fate = if self.fates.is_empty() { Fate::Answered } else { self.fates.remove(0) };
        match fate {
            Fate::RequestLost => return Err(lost()),
            Fate::Refused(kind) => return Err(Fault::new(kind, "no")),
            Fate::Answered | Fate::ReplyLost => {}
        }
        let mut reply = self.store.apply(op, now);
        if let (true, Ok(Verdict::Stored(stored))) = (self.markless, &mut reply) {
            stored.mark = None;
        }
        if fate == Fate::ReplyLost { Err(lost()) } else { reply }
    }

    fn do_now(&mut self, deed: Deed) -> Outcome {
        let mut errand = Errand::of(&request(), deed, LIMIT, 99, at(0));
        match run(&mut errand, self, at(0)) {
            Ok(outcome) => outcome,
            Err(until) => panic!("waits until {until:?}"),
        }
    }

    fn create(&mut self, text: &str) -> u64 {
        match self.do_now(Deed::Create(bytes(text))) {
            Outcome::Written(version) => version,
            other => panic!("{other:?}"),
        }
    }

    fn there(&mut self) -> Option<Stored> {
        let key = request().key;
        self.store.stored(&key, at(0)).unwrap().cloned()
    }
}

/// Polls until the machine waits or is done.
fn run<M>(machine: &mut M, server: &mut Server, now: Timestamp) -> Result<M::Output, Timestamp>
where
    M: Machine<Route = ()>,
{
    loop {
        match machine.poll(now) {
            Step::Send { id, op, .. } => {
                let reply = server.answer(&op, now);
                machine.handle(Event::Reply(id, reply), now);
            }
            Step::Wait(until) => return Err(until),
            Step::Done(output) => return Ok(output),
        }
    }
}

fn update(known: Known) -> Update {
    Update::new(&request(), known, LIMIT, 7, at(0))
}

fn number(stored: Option<&Stored>) -> u64 {
    stored.map_or(0, |stored| std::str::from_utf8(&stored.value).unwrap().parse().unwrap())
}

/// Adds one, through pauses, until the update is over.
fn add_one(update: &mut Update, server: &mut Server) -> (Updated, Timestamp) {
    let mut now = at(0);
    loop {
        match run(update, server, now) {
            Err(until) => {
                assert!(until > now, "a hot loop");
                now = until;
            }
            Ok(Updated::Compute(stored)) => {
                let next = bytes(&(number(stored.as_ref()) + 1).to_string());
                update.computed(Change::Write(next), now);
            }
            Ok(over) => return (over, now),
        }
    }
}

#[test]
fn cold_reads_first_and_warm_swaps_first() {
    let mut server = Server::default();
    let version = server.create("5");
    server.asked.clear();
    let mut cold = update(Known::Nothing);
    assert!(matches!(add_one(&mut cold, &mut server), (Updated::Committed, _)));
    assert_eq!(server.asked.len(), 2, "{:?}", server.asked);

    server.asked.clear();
    let mut warm = update(cold.known().clone());
    assert!(matches!(add_one(&mut warm, &mut server), (Updated::Committed, _)));
    assert_eq!(server.asked.len(), 1, "{:?}", server.asked);
    let there = server.there().unwrap();
    assert_eq!((number(Some(&there)), there.version), (7, version + 2));
}

#[test]
fn a_conflict_carries_what_is_there_so_that_nothing_is_read_in_between() {
    let mut server = Server::default();
    server.create("5");
    let mut first = update(Known::Nothing);
    add_one(&mut first, &mut server);
    let stale = first.known().clone();
    add_one(&mut update(stale.clone()), &mut server);
    server.asked.clear();
    let (over, ended) = add_one(&mut update(stale), &mut server);
    assert!(matches!(over, Updated::Committed));
    assert_eq!(server.asked.len(), 2, "{:?}", server.asked);
    assert_eq!(ended, at(0), "once at once, without a pause");
    assert_eq!(number(server.there().as_ref()), 8);
}

#[test]
fn what_writes_nothing_counts_only_on_what_is_there() {
    let mut server = Server::default();
    server.create("5");
    let mut first = update(Known::Nothing);
    add_one(&mut first, &mut server);
    let known = first.known().clone();

    // Still so: one look.
    server.asked.clear();
    let mut quiet = update(known.clone());
    assert!(matches!(run(&mut quiet, &mut server, at(0)), Ok(Updated::Compute(Some(_)))));
    quiet.computed(Change::Nothing, at(0));
    assert!(matches!(run(&mut quiet, &mut server, at(0)), Ok(Updated::Unchanged)));
    assert_eq!(server.asked.len(), 1);

    // Not any more: computed again, and then it counts without another look.
    add_one(&mut update(known.clone()), &mut server);
    server.asked.clear();
    let mut quiet = update(known);
    assert!(matches!(run(&mut quiet, &mut server, at(0)), Ok(Updated::Compute(Some(_)))));
    quiet.computed(Change::Nothing, at(0));
    match run(&mut quiet, &mut server, at(0)) {
        Ok(Updated::Compute(stored)) => assert_eq!(number(stored.as_ref()), 7),
        other => panic!("{other:?}"),
    }
    quiet.computed(Change::Nothing, at(0));
    assert!(matches!(run(&mut quiet, &mut server, at(0)), Ok(Updated::Unchanged)));
    assert_eq!(server.asked.len(), 1);
}

#[test]
fn an_absent_value_is_computed_on_and_created_or_left_alone() {
    let mut server = Server::default();
    let mut absent = update(Known::Nothing);
    assert!(matches!(run(&mut absent, &mut server, at(0)), Ok(Updated::Compute(None))));
    absent.computed(Change::Nothing, at(0));
    assert!(matches!(run(&mut absent, &mut server, at(0)), Ok(Updated::Unchanged)));
    assert_eq!(server.there(), None);

    let (over, _) = add_one(&mut update(Known::Absent), &mut server);
    assert!(matches!(over, Updated::Committed));
    assert_eq!(number(server.there().as_ref()), 1);
    // Remembered as absent, and there: the refusal shows it.
    let (over, _) = add_one(&mut update(Known::Absent), &mut server);
    assert!(matches!(over, Updated::Committed));
    assert_eq!(number(server.there().as_ref()), 2);
}

/// Somebody else is faster every time.
fn always_late(request: &ValueRequest) -> (Updated, Timestamp, Vec<Timestamp>) {
    let mut server = Server::default();
    server.create("5");
    let mut update = Update::new(request, Known::Nothing, LIMIT, 7, at(0));
    let (mut now, mut tried) = (at(0), Vec::new());
    loop {
        match run(&mut update, &mut server, now) {
            Err(until) => {
                assert!(until > now, "a hot loop");
                now = until;
            }
            Ok(Updated::Compute(_)) => {
                tried.push(now);
                server.do_now(Deed::Overwrite(bytes("9")));
                update.computed(Change::Write(bytes("6")), now);
            }
            Ok(over) => return (over, now, tried),
        }
    }
}

#[test]
fn a_writer_who_is_always_late_gives_up() {
    let (over, now, tried) = always_late(&request().max_attempts(10).unwrap());
    match over {
        Updated::Exhausted { attempts, elapsed } => {
            assert_eq!((attempts, elapsed), (10, now.since(at(0))));
        }
        other => panic!("{other:?}"),
    }
    let pauses: Vec<_> = tried.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    for (nth, pause) in (1_u32..).zip(&pauses) {
        assert_eq!(pause.is_zero(), nth % 2 == 1, "after conflict {nth}: {pauses:?}");
        assert!(*pause <= Pacing::DEFAULT.longest);
    }

    let within = ms(30);
    let request = request().max_attempts(u32::MAX).unwrap().within(within).unwrap();
    let (over, now, tried) = always_late(&request);
    assert!(
        matches!(over, Updated::Exhausted { attempts, .. } if attempts as usize == tried.len())
    );
    assert!(now.since(at(0)) <= within, "{now:?}");
}

#[test]
fn who_stands_in_line_for_too_long_gives_up_and_asks_nothing() {
    let mut server = Server::default();
    let mut waiting = update(Known::Nothing);
    waiting.stand_in_line();
    assert!(matches!(run(&mut waiting, &mut server, at(0)), Err(until) if until == at(5_000)));
    let over = run(&mut waiting, &mut server, at(5_000));
    assert!(matches!(over, Ok(Updated::Exhausted { attempts: 0, .. })));
    assert!(server.asked.is_empty());

    let mut served = update(Known::Nothing);
    served.stand_in_line();
    served.remember(Known::Absent);
    served.handle(Event::Rung, at(10));
    assert!(matches!(run(&mut served, &mut server, at(10)), Ok(Updated::Compute(None))));
    assert!(server.asked.is_empty(), "what was remembered is of the turn, not of the arrival");
}

#[test]
fn nothing_follows_the_last_version() {
    let mut server = Server::default();
    let stored = Stored { value: bytes("5"), version: LAST_VERSION, mark: None };
    server.store.put_stored(request().key, stored);
    let (over, _) = add_one(&mut update(Known::Nothing), &mut server);
    assert!(matches!(over, Updated::Failed(Operation::Write, _)), "{over:?}");
    let swapped = server.do_now(Deed::Swap(bytes("6"), LAST_VERSION));
    assert!(matches!(swapped, Outcome::Failed(_)), "{swapped:?}");
    assert!(matches!(server.do_now(Deed::Overwrite(bytes("6"))), Outcome::Failed(_)));
    assert!(matches!(server.do_now(Deed::Remove(LAST_VERSION)), Outcome::Removed));
}

#[test]
fn an_expiry_is_said_and_kept() {
    let mut server = Server::default();
    server.create("5");
    let mut write = |expiry, now| {
        let request = request().expire(expiry).unwrap();
        let mut errand = Errand::of(&request, Deed::Overwrite(bytes("6")), LIMIT, 5, now);
        run(&mut errand, &mut server, now).expect("no wait");
        server.store.expires(&request.key, now)
    };
    assert_eq!(write(Expiry::After(ms(100)), at(0)), Some(at(100)));
    assert_eq!(write(Expiry::Keep, at(50)), Some(at(100)));
    assert_eq!(write(Expiry::Persist, at(60)), Some(Timestamp::NEVER));
    assert!(Expiry::After(Duration::ZERO).checked().is_err());
    assert!(Expiry::After(Duration::from_micros(999)).checked().is_err());
    assert!(Expiry::After(Duration::MAX).checked().is_err());
}
