//! Operations in a cluster of two nodes that are only told about.

use super::*;
use crate::{Key, Token, Ttl, proto::Range};

const NOW: Timestamp = Timestamp::from_nanos(1 << 40);

fn node(port: u16) -> Address {
    Address::new("h", port)
}

/// Slots below 8,000 at 1, the others at 2.
fn known() -> Topology {
    let mut topology = Topology::new(vec![node(1)]);
    let range = |first, last, port| Range { first, last, nodes: vec![node(port)] };
    topology.learned(&[range(0, 7_999, 1), range(8_000, 16_383, 2)]);
    topology
}

fn renewal(name: &str) -> Renewal {
    let (key, token) = (Key::new(name).unwrap(), Token::from_bytes("t"));
    Renewal { key, token, ttl: Ttl::DEFAULT, of: None }
}

fn said(code: &str, detail: &str) -> Fault {
    Fault::from_server(code, detail)
}

fn owner(topology: &Topology, name: &str) -> Address {
    topology.primary(slot(name.as_bytes())).unwrap().clone()
}

#[test]
fn a_batch_goes_to_each_node_once_and_its_answers_keep_their_order() {
    let mut topology = known();
    let names: Vec<String> = (0..20).map(|number| format!("k{number}")).collect();
    let batch = Op::RenewMany(names.iter().map(|name| renewal(name)).collect());
    let mut journey = Journey::new(batch);
    let legs = journey.legs(&mut topology, NOW);
    assert_eq!(legs.iter().map(|leg| leg.to.port).collect::<Vec<_>>(), [1, 2]);
    for leg in &legs {
        let Op::RenewMany(some) = &leg.op else { panic!("{:?}", leg.op) };
        // Of node 2, all are gone.
        let verdict = if leg.to == node(1) { Verdict::Renewed } else { Verdict::Gone };
        assert!(some.iter().all(|one| owner(&topology, &one.key.to_string()) == leg.to));
        let many = Verdict::Many(vec![Ok(verdict); some.len()]);
        journey.hear(leg, Ok(many), &mut topology, NOW);
    }
    assert!(journey.legs(&mut topology, NOW).is_empty());
    let Ok(Verdict::Many(answers)) = journey.answer() else { panic!("not many") };
    for (name, answer) in names.iter().zip(answers) {
        let here = owner(&topology, name) == node(1);
        assert_eq!(answer, Ok(if here { Verdict::Renewed } else { Verdict::Gone }), "{name}");
    }
}

#[test]
fn it_goes_where_it_is_sent_and_asks_there_where_it_is_told_to_ask() {
    let mut topology = known();
    let name = "a";
    let at = slot(name.as_bytes());
    let mut journey =
        Journey::new(Op::Release { key: Key::new(name).unwrap(), token: Token::from_bytes("t") });
    let first = journey.legs(&mut topology, NOW).remove(0);
    journey.hear(&first, Err(said("MOVED", &format!("{at} h:7"))), &mut topology, NOW);
    assert!(topology.is_stale());
    let second = journey.legs(&mut topology, NOW).remove(0);
    assert_eq!((second.to.port, second.asking), (7, false));
    journey.hear(&second, Err(said("ASK", &format!("{at} h:8"))), &mut topology, NOW);
    let third = journey.legs(&mut topology, NOW).remove(0);
    assert_eq!((third.to.port, third.asking), (8, true));
    journey.hear(&third, Ok(Verdict::Released), &mut topology, NOW);
    assert!(journey.legs(&mut topology, NOW).is_empty());
    assert_eq!(journey.answer(), Ok(Verdict::Released));
    // Only a move is for good.
    assert_eq!(topology.primary(at), Some(&node(7)));
}

#[test]
fn it_goes_there_even_if_others_have_not_heard_of_the_move() {
    let mut topology = known();
    let at = slot(b"a");
    let mut journey = Journey::new(Op::Inspect(Key::new("a").unwrap()));
    let leg = journey.legs(&mut topology, NOW).remove(0);
    let moved = said("MOVED", &format!("{at} h:7"));
    journey.hear(&leg, Err(moved), &mut topology, NOW);
    topology.learned(&[Range { first: 0, last: 16_383, nodes: vec![leg.to] }]);
    assert_eq!(journey.legs(&mut topology, NOW).remove(0).to, node(7));
}

#[test]
fn it_is_not_sent_round_and_round() {
    let mut topology = known();
    let at = slot(b"a");
    let mut journey = Journey::new(Op::Inspect(Key::new("a").unwrap()));
    for hop in 0..=MOST_HOPS {
        let leg = journey.legs(&mut topology, NOW).remove(0);
        let to = if leg.to == node(1) { 2 } else { 1 };
        let moved = said("MOVED", &format!("{at} h:{to}"));
        journey.hear(&leg, Err(moved), &mut topology, NOW);
        assert_eq!(journey.legs(&mut topology, NOW).is_empty(), hop == MOST_HOPS);
    }
    assert_eq!(journey.answer().unwrap_err().kind(), FaultKind::Cluster);
}

#[test]
fn one_lease_of_a_batch_is_sent_on_alone() {
    let mut topology = known();
    let mut journey = Journey::new(Op::RenewMany(vec![renewal("a"), renewal("{a}b")]));
    let at = slot(b"a");
    let leg = journey.legs(&mut topology, NOW).remove(0);
    let sent_on = Err(said("ASK", &format!("{at} h:9")));
    journey.hear(&leg, Ok(Verdict::Many(vec![Ok(Verdict::Renewed), sent_on])), &mut topology, NOW);
    let leg = journey.legs(&mut topology, NOW).remove(0);
    assert!(
        matches!(&leg.op, Op::RenewMany(one) if one.len() == 1 && one[0].key.to_string() == "{a}b")
    );
    journey.hear(&leg, Ok(Verdict::Many(vec![Ok(Verdict::Renewed)])), &mut topology, NOW);
    let all = Verdict::Many(vec![Ok(Verdict::Renewed), Ok(Verdict::Renewed)]);
    assert_eq!(journey.answer(), Ok(all));
}

#[test]
fn a_fault_of_one_node_is_not_one_of_the_others_and_it_comes_last_from_then_on() {
    let mut topology = known();
    let batch = || Op::RenewMany((0..20).map(|number| renewal(&format!("k{number}"))).collect());
    let mut journey = Journey::new(batch());
    for leg in journey.legs(&mut topology, NOW) {
        let Op::RenewMany(some) = &leg.op else { panic!("{:?}", leg.op) };
        let reply = if leg.to == node(1) {
            Err(Fault::ambiguous(FaultKind::NoReply, "nothing"))
        } else {
            Ok(Verdict::Many(vec![Ok(Verdict::Renewed); some.len()]))
        };
        journey.hear(&leg, reply, &mut topology, NOW);
    }
    let Ok(Verdict::Many(answers)) = journey.answer() else { panic!("not many") };
    let failed = answers.iter().filter(|answer| answer.is_err()).count();
    assert!(failed > 0 && failed < 20, "{failed}");
    assert!(topology.is_stale());
    // It has cost nothing, so that it is tried again at once.
    let order: Vec<u16> =
        Journey::new(batch()).legs(&mut topology, NOW).iter().map(|leg| leg.to.port).collect();
    assert_eq!(order, [2, 1]);
}

#[test]
fn a_slot_that_nobody_serves_is_a_fault_that_time_may_cure() {
    let mut topology = Topology::new(vec![node(1)]);
    topology.learned(&[]);
    let mut journey = Journey::new(Op::Inspect(Key::new("a").unwrap()));
    assert!(journey.legs(&mut topology, NOW).is_empty() && topology.is_stale());
    assert!(journey.answer().unwrap_err().is_transient());
}

#[test]
fn renewals_wait_for_a_silent_node_for_half_of_the_time_at_most() {
    let mut topology = known();
    let batch = || Op::RenewMany((0..20).map(|number| renewal(&format!("k{number}"))).collect());
    let mut journey = Journey::new(batch());
    let second = Duration::from_secs(1);
    for leg in journey.legs(&mut topology, NOW) {
        assert_eq!(leg.share(second, true, 1), second / 2);
        let silent = Err(Fault::ambiguous(FaultKind::NoReply, "nothing"));
        if leg.to == node(1) {
            journey.hear(&leg, silent, &mut topology, NOW + second);
        }
    }
    let ports = |journey: &mut Journey, topology: &mut Topology, now| -> Vec<u16> {
        journey.legs(topology, now).iter().map(|leg| leg.to.port).collect()
    };
    let soon = NOW + second + second / 2;
    assert_eq!(ports(&mut Journey::new(batch()), &mut topology, soon), [2]);
    let later = Journey::new(batch()).legs(&mut topology, NOW + second * 2);
    assert_eq!(later.iter().map(|leg| leg.to.port).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(later[1].share(second, false, 0), second / 4);
    assert_eq!(later[1].share(second, true, 0), second);
    // Whoever asks for a lock there asks.
    let key = (0..).map(|n| n.to_string()).find(|key| owner(&topology, key) == node(1)).unwrap();
    let mut journey = Journey::new(Op::Inspect(Key::new(key).unwrap()));
    assert_eq!(ports(&mut journey, &mut topology, soon), [1]);
}

#[test]
fn copies_confirm_what_each_node_renewed() {
    let mut topology = known();
    let names: Vec<String> = (0..20).map(|number| format!("k{number}")).collect();
    let batch = Op::RenewMany(names.iter().map(|name| renewal(name)).collect());
    let confirm = Confirm::replicas(1).within(Duration::from_millis(7));
    let each = Duration::from_secs(1);
    let mut journey = Journey::new(batch.confirmed(Some(confirm), each));
    let few = Verdict::Unconfirmed { acked: 0, wanted: 1, stays: false };
    let legs = journey.legs(&mut topology, NOW);
    assert_eq!(legs.iter().map(|leg| leg.to.port).collect::<Vec<_>>(), [1, 2]);
    for leg in &legs {
        let Op::Confirmed(asked) = &leg.op else { panic!("{:?}", leg.op) };
        assert_eq!((asked.confirm, asked.each), (confirm, each));
        let Op::RenewMany(some) = &asked.op else { panic!("{asked:?}") };
        // Node 2 has lost its replica.
        let verdict = if leg.to == node(1) { Verdict::Renewed } else { few.clone() };
        let many = Verdict::Many(vec![Ok(verdict); some.len()]);
        journey.hear(leg, Ok(many), &mut topology, NOW);
    }
    let Ok(Verdict::Many(answers)) = journey.answer() else { panic!("not many") };
    for (name, answer) in names.iter().zip(answers) {
        let here = owner(&topology, name) == node(1);
        assert_eq!(answer, Ok(if here { Verdict::Renewed } else { few.clone() }), "{name}");
    }
}
