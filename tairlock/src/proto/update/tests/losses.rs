//! What lost requests and lost replies leave of updates: nothing is doubled, and nothing is hidden.

use super::*;

#[test]
fn a_lost_reply_doubles_nothing_and_hides_nothing() {
    for fates in [
        vec![Fate::ReplyLost],
        vec![Fate::RequestLost],
        vec![Fate::ReplyLost, Fate::RequestLost],
        vec![Fate::RequestLost, Fate::ReplyLost],
        vec![Fate::RequestLost, Fate::Refused(FaultKind::NotReady), Fate::ReplyLost],
    ] {
        let mut server = Server::default();
        server.create("5");
        server.fates = [vec![Fate::Answered], fates.clone()].concat();
        let mut update = update(Known::Nothing);
        let (over, _) = add_one(&mut update, &mut server);
        assert!(matches!(over, Updated::Committed), "{fates:?}: {over:?}");
        let there = server.there().unwrap();
        assert_eq!(number(Some(&there)), 6, "{fates:?}");
        assert!(matches!(update.known(), Known::There(known) if *known == there), "{fates:?}");
    }
}

/// What becomes of an update whose swap is lost, and what others do before it is asked again.
fn lost_and_then(fate: Fate, markless: bool, others: &[&str]) -> (Updated, Server) {
    let mut server = Server { markless, ..Server::default() };
    let version = server.create("5");
    let mut machine = update(Known::Nothing);
    assert!(matches!(run(&mut machine, &mut server, at(0)), Ok(Updated::Compute(_))));
    machine.computed(Change::Write(bytes("6")), at(0));
    server.fates = vec![fate];
    let Step::Send { id, op, .. } = machine.poll(at(0)) else { panic!("sends") };
    let reply = server.answer(&op, at(0));
    for (text, version) in others.iter().zip(version..) {
        let taken = u64::from(fate == Fate::ReplyLost);
        let swapped = server.do_now(Deed::Swap(bytes(text), version + taken));
        assert!(matches!(swapped, Outcome::Written(_)), "{swapped:?}");
    }
    machine.handle(Event::Reply(id, reply), at(0));
    let (over, _) = add_one(&mut machine, &mut server);
    (over, server)
}

#[test]
fn a_swap_of_somebody_elses_is_not_taken_for_our_own() {
    // The others wrote the very value that we would have: they added one, too.
    let (over, mut server) = lost_and_then(Fate::RequestLost, false, &["6"]);
    assert!(matches!(over, Updated::Committed), "{over:?}");
    assert_eq!(number(server.there().as_ref()), 7, "theirs and ours");

    // Without marks nothing tells theirs from ours, and nothing is claimed.
    let (over, mut server) = lost_and_then(Fate::RequestLost, true, &["6"]);
    assert!(matches!(over, Updated::Unknown(_)), "{over:?}");
    assert_eq!(number(server.there().as_ref()), 6);

    // Another value at the version that ours would have is surely not ours.
    let (over, mut server) = lost_and_then(Fate::RequestLost, true, &["8"]);
    assert!(matches!(over, Updated::Committed), "{over:?}");
    assert_eq!(number(server.there().as_ref()), 9);
}

#[test]
fn what_was_overtaken_for_good_is_said_to_be_unknown() {
    for markless in [false, true] {
        for fate in [Fate::RequestLost, Fate::ReplyLost] {
            let (over, _) = lost_and_then(fate, markless, &["7", "8"]);
            assert!(matches!(over, Updated::Unknown(_)), "{fate:?} {over:?}");
        }
    }
}

#[test]
fn creations_overwrites_and_removals_are_settled_too() {
    let mut seeds = 0..;
    let mut ask = |server: &mut Server, deed: Deed| {
        let seed = seeds.next().unwrap_or_default();
        let mut errand = Errand::of(&request(), deed, LIMIT, seed, at(0));
        run(&mut errand, server, at(0)).expect("no wait")
    };
    let mut server = Server { fates: vec![Fate::ReplyLost], ..Server::default() };
    let Outcome::Written(version) = ask(&mut server, Deed::Create(bytes("1"))) else { panic!() };
    assert_eq!(server.there().unwrap().version, version);

    server.fates = vec![Fate::ReplyLost];
    let Outcome::Written(next) = ask(&mut server, Deed::Overwrite(bytes("2"))) else { panic!() };
    assert_eq!((next, server.there().unwrap().version), (version + 1, version + 1), "once");
    server.fates = vec![Fate::RequestLost];
    assert!(matches!(ask(&mut server, Deed::Overwrite(bytes("3"))), Outcome::Unknown(_)));

    server.fates = vec![Fate::RequestLost];
    assert!(matches!(ask(&mut server, Deed::Remove(next)), Outcome::Removed));
    let version = server.create("4");
    server.fates = vec![Fate::ReplyLost];
    // Gone, but by whom?
    assert!(matches!(ask(&mut server, Deed::Remove(version)), Outcome::Unknown(_)));
}

#[test]
fn faults_are_waited_out_where_time_cures_them() {
    let mut server = Server::default();
    server.create("5");
    server.fates = vec![Fate::Refused(FaultKind::NotReady); 5];
    let (over, ended) = add_one(&mut update(Known::Nothing), &mut server);
    assert!(matches!(over, Updated::Committed));
    assert!(ended > at(0));

    server.fates = vec![Fate::Refused(FaultKind::Unreachable); 100_000];
    server.asked.clear();
    let (over, ended) = add_one(&mut update(Known::Nothing), &mut server);
    assert!(matches!(over, Updated::Failed(Operation::Read, _)), "{over:?}");
    assert!(ended <= at(5_000) && ended > at(4_000), "{ended:?}");
    assert!(server.asked.len() < 200, "{} questions in 5 s", server.asked.len());

    server.fates = vec![Fate::Refused(FaultKind::Permission)];
    server.asked.clear();
    let (over, _) = add_one(&mut update(Known::Nothing), &mut server);
    assert!(matches!(over, Updated::Failed(Operation::Read, _)));
    assert_eq!(server.asked.len(), 1);

    server.fates = [vec![Fate::Answered], vec![Fate::RequestLost; 100_000]].concat();
    let (over, _) = add_one(&mut update(Known::Nothing), &mut server);
    assert!(matches!(over, Updated::Unknown(_)), "{over:?}");
}

/// Eight writers, whose commands arrive in any order and are lost at random, each of them adding one.
#[test]
fn interleaved_with_losses_the_account_is_right() {
    for seed in 0..60 {
        let mut random = SplitMix64(seed).fork();
        let markless = seed % 2 == 0;
        let mut server = Server { markless, ..Server::default() };
        server.create("0");
        let mut writers: Vec<_> = (0..8)
            .map(|n| {
                let seed = random.next() ^ n;
                Some(Update::new(&request(), Known::Nothing, LIMIT, seed, at(0)))
            })
            .collect();
        let (mut committed, mut unknown, mut last) = (0, 0, 0);
        let mut now = at(0);
        while writers.iter().any(Option::is_some) {
            now = now + Duration::from_micros(20);
            let slot = &mut writers[(random.next() % 8) as usize];
            let Some(writer) = slot else { continue };
            // One step of one writer.
            match writer.poll(now) {
                Step::Send { id, op, .. } => {
                    let fate = match random.next() % 10 {
                        0 => Fate::RequestLost,
                        1 => Fate::ReplyLost,
                        _ => Fate::Answered,
                    };
                    server.fates = vec![fate];
                    let reply = server.answer(&op, now);
                    writer.handle(Event::Reply(id, reply), now);
                }
                Step::Wait(_) => {}
                Step::Done(Updated::Compute(stored)) => {
                    let next = bytes(&(number(stored.as_ref()) + 1).to_string());
                    writer.computed(Change::Write(next), now);
                }
                Step::Done(over) => {
                    match over {
                        Updated::Committed => committed += 1,
                        Updated::Unknown(_) => unknown += 1,
                        Updated::Exhausted { .. } => {}
                        other => panic!("{other:?}"),
                    }
                    *slot = None;
                }
            }
            let version = server.there().unwrap().version;
            assert!(version >= last, "seed {seed}");
            last = version;
        }
        let sum = number(server.there().as_ref());
        let account = committed..=committed + unknown;
        assert!(account.contains(&sum), "seed {seed}: {sum} is not in {account:?}");
    }
}
