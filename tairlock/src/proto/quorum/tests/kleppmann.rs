//! The scenarios of Martin Kleppmann's critique of Redlock, each with what holds and what only a fence saves:
//! <https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html>.

use super::*;
use crate::{options::Request, proto};

/// The first holder has a bare majority, as two servers are away, which then come back.
fn held_by_a_bare_majority() -> Servers {
    let mut servers = Servers::new(5);
    (servers.links[3], servers.links[4]) = (Link::Down, Link::Down);
    assert_eq!(servers.ask(&acquire("a")).unwrap(), Verdict::Granted);
    servers.links = vec![Link::Up; 5];
    servers.unheard = Unheard::none(servers.quorum);
    servers
}

/// One more than a bare majority must agree: then one server that forgets gives the lock to nobody else.
fn one_more_is_needed(servers: &mut Servers) {
    servers.quorum = Quorum::new(5, Some(4)).unwrap();
}

#[test]
fn k1_a_server_whose_clock_jumps_may_vote_twice_and_the_holder_hears_of_it() {
    let mut servers = held_by_a_bare_majority();
    servers.ahead[2] = Duration::from_secs(60);
    // What only the fence saves: until its next renewal the first holder does not know.
    assert_eq!(servers.ask(&acquire("b")).unwrap(), Verdict::Granted);
    // What holds: it is told then, and joins nobody again.
    assert_eq!(each(servers.ask(&renew("a"))).unwrap(), Verdict::Taken);
    assert_eq!((servers.holders("a"), servers.holders("b")), (2, 3));
}

#[test]
fn k2_a_server_that_restarts_empty_may_vote_twice_unless_one_more_is_needed() {
    let mut servers = held_by_a_bare_majority();
    servers.stores[2] = Store::new();
    assert_eq!(servers.ask(&acquire("b")).unwrap(), Verdict::Granted);
    assert_eq!(each(servers.ask(&renew("a"))).unwrap(), Verdict::Taken);
    // With four of five the same gives it to nobody else, and the holder keeps it.
    let mut servers = Servers::new(5);
    one_more_is_needed(&mut servers);
    servers.links[4] = Link::Down;
    assert_eq!(servers.ask(&acquire("a")).unwrap(), Verdict::Granted);
    servers.links[4] = Link::Up;
    servers.stores[2] = Store::new();
    servers.unheard = Unheard::none(servers.quorum);
    assert_eq!(servers.ask(&acquire("b")).unwrap(), Verdict::Busy);
    assert_eq!((servers.holders("a"), servers.holders("b")), (3, 0));
}

#[test]
fn k3_a_pause_between_the_question_and_its_answer_grants_nothing_and_leaves_nothing() {
    let mut servers = Servers::new(5);
    let request = Request::new(key()).wait(Duration::ZERO).unwrap();
    let token = Token::from_bytes("a");
    let mut asked = proto::Acquire::new(&request, token, WITHIN, 7, servers.now);
    let Step::Send { id, op, .. } = asked.poll(servers.now) else { panic!("to be asked") };
    let reply = servers.ask(&op);
    assert_eq!(reply.as_ref().unwrap(), &Verdict::Granted);
    // The client stands still for a TTL before it hears that.
    servers.now = servers.now + request.ttl.certain();
    asked.handle(Event::Reply(id, reply), servers.now);
    let Step::Send { id, op, .. } = asked.poll(servers.now) else { panic!("to be taken back") };
    let reply = servers.ask(&op);
    asked.handle(Event::Reply(id, reply), servers.now);
    let Step::Done(proto::Acquired::Failed(fault)) = asked.poll(servers.now) else {
        panic!("to have failed")
    };
    assert!(fault.to_string().contains("the ttl is too short"), "{fault}");
    assert_eq!(servers.holders("a"), 0);
}

/// A pause after the check is every lock's (K4): `stopped.rs` shows it on a real server, and that the
/// store which is written to must refuse it, by a fence. A quorum has none to give.
#[test]
fn k5_no_fence_is_issued_that_a_lost_server_could_issue_again() {
    let mut servers = Servers::new(5);
    let Op::Acquire { key, token, ttl } = acquire("a") else { unreachable!() };
    let fault = servers.ask(&Op::AcquireFenced { key, token, ttl }).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unsupported);
    assert!(servers.sent.is_empty());
}

#[test]
fn k6_two_who_split_the_vote_try_again_at_different_times() {
    let servers = Servers::new(4);
    let request = Request::new(key()).wait(Duration::from_secs(60)).unwrap();
    let mut again = Vec::new();
    for seed in 0..8 {
        let token = Token::from_bytes(seed.to_string());
        let mut asked = proto::Acquire::new(&request, token, WITHIN, seed, servers.now);
        let Step::Send { id, .. } = asked.poll(servers.now) else { panic!("to be asked") };
        asked.handle(Event::Reply(id, Ok(Verdict::Busy)), servers.now);
        // A quorum has nobody to listen to.
        let Step::Send { id, .. } = asked.poll(servers.now) else { panic!("to listen") };
        let nobody = Fault::new(FaultKind::Unsupported, "nobody");
        asked.handle(Event::Reply(id, Err(nobody)), servers.now);
        let Step::Wait(until) = asked.poll(servers.now) else { panic!("to pause") };
        again.push(until);
    }
    again.sort_unstable();
    again.dedup();
    assert!(again.len() > 6, "{again:?}");
}
