//! Rounds against embedded servers of which some are down, silent, or forgetful.

mod kleppmann;

use super::*;
use crate::{
    Key, Token, Ttl,
    memory::Store,
    proto::{Renewal, Verdict},
};

const WITHIN: Duration = Duration::from_millis(300);

fn key() -> Key {
    Key::new("k").unwrap()
}

fn acquire(token: &str) -> Op {
    let (token, ttl) = (Token::from_bytes(token), Ttl::new(Duration::from_secs(9)).unwrap());
    Op::Acquire { key: key(), token, ttl }
}

fn release(token: &str) -> Op {
    Op::Release { key: key(), token: Token::from_bytes(token) }
}

fn renew(token: &str) -> Op {
    let (token, ttl) = (Token::from_bytes(token), Ttl::new(Duration::from_secs(9)).unwrap());
    Op::RenewMany(vec![Renewal { key: key(), token, ttl, of: None }])
}

/// What befalls a question on its way to one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Up,
    /// Refuses connections.
    Down,
    /// Executes, and its answer is lost.
    Mute,
    /// Neither.
    Deaf,
}

struct Servers {
    stores: Vec<Store>,
    links: Vec<Link>,
    quorum: Quorum,
    unheard: Unheard,
    now: Timestamp,
    /// How far each server's clock is ahead.
    ahead: Vec<Duration>,
    sent: Vec<(usize, Op)>,
}

impl Servers {
    fn new(nodes: usize) -> Self {
        let quorum = Quorum::new(nodes, None).unwrap();
        Self {
            stores: (0..nodes).map(|_| Store::new()).collect(),
            links: vec![Link::Up; nodes],
            quorum,
            unheard: Unheard::none(quorum),
            now: Timestamp::from_nanos(1_000_000_000),
            ahead: vec![Duration::ZERO; nodes],
            sent: Vec::new(),
        }
    }

    /// Asks for as long as it takes. Who is silent is so until the deadline.
    fn ask(&mut self, op: &Op) -> Result<Verdict, Fault> {
        let mut round = Round::new(op, self.quorum, WITHIN, self.unheard.clone());
        let (mut ready, mut silent) = (Vec::new(), Vec::new());
        loop {
            match round.poll(self.now) {
                Step::Send { id, route: node, op, within } => {
                    self.sent.push((node, op.clone()));
                    let silence = Fault::ambiguous(FaultKind::NoReply, "silence");
                    let then = self.now + self.ahead[node];
                    match self.links[node] {
                        Link::Up => ready.push((id, self.stores[node].apply(&op, then))),
                        Link::Down => {
                            ready.push((id, Err(Fault::new(FaultKind::Unreachable, "down"))));
                        }
                        Link::Mute => {
                            _ = self.stores[node].apply(&op, then);
                            silent.push((self.now + within, id, silence));
                        }
                        Link::Deaf => silent.push((self.now + within, id, silence)),
                    }
                }
                Step::Wait(until) => {
                    if let Some((id, reply)) = ready.pop() {
                        round.handle(Event::Reply(id, reply), self.now);
                        continue;
                    }
                    let next = silent.iter().map(|(at, ..)| *at).min();
                    self.now = until.min(next.expect("something is waited for"));
                    silent.retain(|(at, id, fault)| {
                        let still = *at > self.now;
                        if !still {
                            round.handle(Event::Reply(*id, Err(fault.clone())), self.now);
                        }
                        still
                    });
                }
                Step::Done(output) => {
                    self.unheard = round.unheard();
                    return output;
                }
            }
        }
    }

    fn holders(&mut self, token: &str) -> usize {
        let now = self.now;
        self.stores
            .iter_mut()
            .filter_map(|store| store.apply(&Op::Inspect(key()), now).ok())
            .filter(|seen| matches!(seen, Verdict::Seen(seen) if seen.token == Token::from_bytes(token)))
            .count()
    }
}

fn each(verdict: Result<Verdict, Fault>) -> Result<Verdict, Fault> {
    let Ok(Verdict::Many(mut each)) = verdict else { panic!("{verdict:?}") };
    each.remove(0)
}

#[test]
fn more_than_half_are_needed() {
    for (nodes, needed, fits) in [
        (5, 3, true),
        (5, 5, true),
        (5, 2, false),
        (4, 2, false),
        (4, 3, true),
        (3, 4, false),
        (0, 0, false),
    ] {
        assert_eq!(Quorum::new(nodes, Some(needed)).is_ok(), fits, "{needed} of {nodes}");
    }
    assert_eq!(Quorum::new(4, None).unwrap().needed(), 3);
    assert_eq!(Quorum::new(1, None).unwrap().needed(), 1);
}

#[test]
fn a_minority_may_be_away() {
    for link in [Link::Down, Link::Mute, Link::Deaf] {
        let mut servers = Servers::new(5);
        servers.links[1] = link;
        servers.links[3] = link;
        let began = servers.now;
        let (granted, refused) = (Verdict::Granted, link == Link::Down);
        let granted = if refused { granted } else { Verdict::Open(Box::new(granted)) };
        assert_eq!(servers.ask(&acquire("a")).unwrap(), granted, "{link:?}");
        assert!(servers.now.since(began) <= AT_ONCE, "nobody waits for who is away");
        assert_eq!(each(servers.ask(&renew("a"))).unwrap(), Verdict::Renewed, "{link:?}");
        let open = Verdict::Open(Box::new(Verdict::Released));
        assert_eq!(servers.ask(&release("a")).unwrap(), open, "{link:?}");
    }
}

#[test]
fn without_a_majority_nothing_is_granted_or_left() {
    for link in [Link::Down, Link::Deaf] {
        let mut servers = Servers::new(5);
        for node in [0, 2, 4] {
            servers.links[node] = link;
        }
        let fault = servers.ask(&acquire("a")).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::NoQuorum);
        assert_eq!(servers.holders("a"), 0, "{link:?}");
        // What was sent and not answered may stand there.
        assert_eq!(fault.is_ambiguous(), link == Link::Deaf);
    }
}

#[test]
fn what_is_held_is_busy_and_stays() {
    let mut servers = Servers::new(5);
    servers.ask(&acquire("a")).unwrap();
    servers.unheard = Unheard::none(servers.quorum);
    assert_eq!(servers.ask(&acquire("b")).unwrap(), Verdict::Busy);
    assert_eq!((servers.holders("a"), servers.holders("b")), (5, 0));
}

#[test]
fn a_split_vote_is_taken_back() {
    let mut servers = Servers::new(5);
    for node in 0..3 {
        let now = servers.now;
        servers.stores[node].apply(&acquire("a"), now).unwrap();
    }
    assert_eq!(servers.ask(&acquire("b")).unwrap(), Verdict::Busy);
    assert_eq!((servers.holders("a"), servers.holders("b")), (3, 0));
    // One of five away, and two each: contention, and no outage.
    let mut servers = Servers::new(5);
    servers.links[4] = Link::Down;
    for node in 0..2 {
        let now = servers.now;
        servers.stores[node].apply(&acquire("a"), now).unwrap();
    }
    assert_eq!(servers.ask(&acquire("b")).unwrap(), Verdict::Busy);
    assert_eq!(servers.holders("b"), 0);
}

/// Two servers are somebody else's, and the third grants, and does not answer when that is taken back.
fn granted_by_a_mute_server() -> Servers {
    let mut servers = Servers::new(3);
    let now = servers.now;
    for node in 0..2 {
        servers.stores[node].apply(&acquire("else"), now).unwrap();
    }
    servers.links[2] = Link::Mute;
    let open = Verdict::Open(Box::new(Verdict::Busy));
    assert_eq!(servers.ask(&acquire("a")).unwrap(), open);
    servers.sent.clear();
    servers
}

#[test]
fn who_has_not_answered_a_release_is_asked_for_nothing_else_before() {
    let mut servers = granted_by_a_mute_server();
    // What is sent to it is the release, so nothing of the new token can be left there.
    assert_eq!(servers.ask(&acquire("a.1")).unwrap(), Verdict::Busy);
    let third: Vec<_> = servers.sent.drain(..).filter(|(node, _)| *node == 2).collect();
    let [(2, Op::Release { token, .. })] = &third[..] else { panic!("{third:?}") };
    assert_eq!(*token, Token::from_bytes("a"));
    // It answers, and is asked in the same round.
    servers.links[2] = Link::Up;
    let now = servers.now;
    servers.stores[0].apply(&release("else"), now).unwrap();
    assert_eq!(servers.ask(&acquire("a.1")).unwrap(), Verdict::Granted);
    assert_eq!((servers.holders("a"), servers.holders("a.1")), (0, 2));
}

#[test]
fn a_token_whose_release_was_not_answered_is_not_asked_for_again() {
    let servers = granted_by_a_mute_server();
    let request = crate::options::Request::new(key()).wait(Duration::from_secs(9)).unwrap();
    let token = Token::from_bytes("a");
    let fault = || Fault::ambiguous(FaultKind::NoQuorum, "2 of 3 servers failed");
    for reply in [Ok(Verdict::Open(Box::new(Verdict::Busy))), Err(fault())] {
        let mut asked = crate::proto::Acquire::new(&request, token.clone(), WITHIN, 7, servers.now);
        let mut now = servers.now;
        let mut tokens = Vec::new();
        let mut replies = vec![Ok(Verdict::Granted), Ok(Verdict::Busy), reply];
        let grant = loop {
            match asked.poll(now) {
                Step::Send { id, op: Op::Acquire { token, .. }, .. } => {
                    tokens.push(token);
                    asked.handle(Event::Reply(id, replies.pop().unwrap()), now);
                }
                Step::Send { id, .. } => {
                    let nobody = Fault::new(FaultKind::Unsupported, "nobody");
                    asked.handle(Event::Reply(id, Err(nobody)), now);
                }
                Step::Wait(until) => now = until,
                Step::Done(acquired) => break acquired,
            }
        };
        // One that was answered is asked for again; what the first left behind is to be released.
        let next = Token::from_bytes("a.1");
        assert_eq!(tokens, [token.clone(), next.clone(), next.clone()]);
        assert_eq!(asked.residue(), std::slice::from_ref(&token));
        let crate::proto::Acquired::Granted { token: granted, .. } = grant else { panic!() };
        assert_eq!(granted, next);
    }
}

#[test]
fn a_grant_of_before_begins_before() {
    let mut servers = Servers::new(3);
    let now = servers.now;
    servers.stores[0].apply(&acquire("a"), now).unwrap();
    servers.links[1] = Link::Down;
    assert_eq!(servers.ask(&acquire("a")).unwrap(), Verdict::Ours);
    servers.links[1] = Link::Up;
    assert_eq!(servers.ask(&acquire("a")).unwrap(), Verdict::Ours);
}

#[test]
fn a_server_that_restarted_empty_is_joined_again() {
    let mut servers = Servers::new(5);
    servers.ask(&acquire("a")).unwrap();
    servers.stores[2] = Store::new();
    let open = Verdict::Open(Box::new(Verdict::Renewed));
    assert_eq!(each(servers.ask(&renew("a"))).unwrap(), open);
    assert_eq!(servers.holders("a"), 5);
}

#[test]
fn who_was_away_at_the_grant_counts_once_it_is_joined() {
    let mut servers = Servers::new(5);
    servers.links[3] = Link::Down;
    servers.links[4] = Link::Down;
    servers.ask(&acquire("a")).unwrap();
    // A minority is in trouble at any moment, and it is another one now.
    servers.links = vec![Link::Deaf, Link::Down, Link::Up, Link::Up, Link::Up];
    let open = Verdict::Open(Box::new(Verdict::Renewed));
    assert_eq!(each(servers.ask(&renew("a"))).unwrap(), open);
    assert_eq!(servers.holders("a"), 5);
    // Who has somebody else there is not joined, and one is not enough.
    let mut servers = Servers::new(3);
    servers.links[2] = Link::Down;
    servers.ask(&acquire("a")).unwrap();
    servers.links = vec![Link::Down, Link::Up, Link::Up];
    let now = servers.now;
    servers.stores[2].apply(&acquire("b"), now).unwrap();
    let fault = each(servers.ask(&renew("a"))).unwrap_err();
    assert_eq!((fault.kind(), fault.is_ambiguous()), (FaultKind::NoQuorum, true));
}

#[test]
fn what_most_have_forgotten_is_lost_and_does_not_come_back() {
    let mut servers = Servers::new(5);
    servers.ask(&acquire("a")).unwrap();
    for node in 0..3 {
        servers.stores[node] = Store::new();
    }
    assert_eq!(each(servers.ask(&renew("a"))).unwrap(), Verdict::Gone);
    assert_eq!(servers.holders("a"), 2);
    for node in 0..3 {
        let now = servers.now;
        servers.stores[node].apply(&acquire("b"), now).unwrap();
    }
    assert_eq!(each(servers.ask(&renew("a"))).unwrap(), Verdict::Taken);
}

#[test]
fn a_renewal_that_too_few_confirm_is_open() {
    let mut servers = Servers::new(5);
    servers.ask(&acquire("a")).unwrap();
    servers.links = vec![Link::Deaf, Link::Mute, Link::Down, Link::Up, Link::Up];
    let fault = each(servers.ask(&renew("a"))).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::NoQuorum);
    assert!(fault.is_ambiguous());
    assert!(servers.ask(&release("a")).unwrap_err().is_ambiguous());
}

#[test]
fn both_phases_fit_into_the_time() {
    let mut servers = Servers::new(3);
    let began = servers.now;
    servers.links = vec![Link::Up, Link::Deaf, Link::Deaf];
    servers.ask(&acquire("a")).unwrap_err();
    assert!(servers.now.since(began) <= WITHIN);
    assert_eq!(servers.holders("a"), 0);
}

#[test]
fn what_time_does_not_cure_is_said() {
    let quorum = Quorum::new(3, None).unwrap();
    let mut round = Round::new(&acquire("a"), quorum, WITHIN, Unheard::none(quorum));
    let now = Timestamp::from_nanos(1);
    let mut ids = Vec::new();
    while let Step::Send { id, .. } = round.poll(now) {
        ids.push(id);
    }
    for id in ids {
        let denied = Fault::new(FaultKind::Permission, "NOPERM");
        round.handle(Event::Reply(id, Err(denied)), now);
    }
    let Step::Done(Err(fault)) = round.poll(now) else { panic!("to be over") };
    assert_eq!(fault.kind(), FaultKind::Permission);
    assert!(!fault.is_transient() && !fault.is_ambiguous());
}

#[test]
fn what_a_quorum_cannot_do_is_refused_before_anything_is_sent() {
    let mut servers = Servers::new(3);
    let Op::Acquire { key, token, ttl } = acquire("a") else { unreachable!() };
    let fault = servers.ask(&Op::AcquireFenced { key, token, ttl }).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unsupported);
    assert!(servers.sent.is_empty());
}

#[test]
fn a_grant_is_taken_back_on_one_connection_only() {
    let quorum = Quorum::new(3, None).unwrap();
    let mut round = Round::new(&acquire("a"), quorum, WITHIN, Unheard::none(quorum));
    let now = Timestamp::from_nanos(1);
    let replies = [Ok(Verdict::Granted), Ok(Verdict::Busy), Ok(Verdict::Busy)];
    for reply in replies {
        let Step::Send { id, .. } = round.poll(now) else { panic!("to be asked") };
        round.handle(Event::Reply(id, reply), now);
    }
    let Step::Send { id, op: Op::Release { .. }, .. } = round.poll(now) else {
        panic!("to be taken back")
    };
    let broke = Fault::ambiguous(FaultKind::Unreachable, "broken");
    round.handle(Event::Reply(id, Err(broke)), now);
    let open = Verdict::Open(Box::new(Verdict::Busy));
    let Step::Done(Ok(verdict)) = round.poll(now) else { panic!("not to be sent again") };
    assert_eq!(verdict, open);
}
