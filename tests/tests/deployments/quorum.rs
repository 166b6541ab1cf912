//! A quorum of five servers: any two of them down, silent, slow, or restarted empty, at every moment of a lock.

use std::{
    thread,
    time::{Duration, Instant},
};

use redis::Commands;
use tairlock::{ConfigError, Error, FaultKind, LeaseState, LossReason, Release};
use tairlock_tests::{
    Proxy, Server, fleet, for_each_world,
    place::{At, Place},
    world::{Ask, Config, Locks, Wish, World},
};

use crate::{BOUND, take};

for_each_world!(
    it_holds_and_gives_back_on_every_server,
    who_is_away_is_not_waited_for,
    who_is_silent_costs_no_more_than_a_deadline,
    any_two_may_fail_while_it_is_held,
    a_server_that_restarted_empty_is_joined_again,
    two_never_hold_it_however_they_race,
    without_a_majority_nothing_is_granted_or_left,
    a_majority_that_is_gone_is_a_loss,
    a_server_counts_once,
    what_it_cannot_do_is_refused_and_nothing_sent,
    a_minority_may_be_away_when_it_is_built,
);

/// Five servers, and how clients find them.
pub(crate) struct Five(fleet::Five);

impl std::ops::Deref for Five {
    type Target = fleet::Five;

    fn deref(&self) -> &fleet::Five {
        &self.0
    }
}

impl std::ops::DerefMut for Five {
    fn deref_mut(&mut self) -> &mut fleet::Five {
        &mut self.0
    }
}

impl Five {
    pub(crate) fn start() -> Self {
        Self(fleet::Five::start(Server::redis7).expect("five servers"))
    }

    pub(crate) fn client(&self, world: &dyn World) -> Box<dyn Locks> {
        self.try_client(world).unwrap_or_else(|error| panic!("connecting: {error}"))
    }

    fn try_client(&self, world: &dyn World) -> Result<Box<dyn Locks>, Error> {
        let quorum = self.0.urls();
        world
            .client(&Place::memory(), &Config { at: Some(At::Quorum(quorum)), ..Config::default() })
    }

    /// On how many servers something stands under `key`.
    fn standing(&self, key: &str) -> usize {
        let stands = |server: &&Server| server.cli().exists::<_, bool>(key).expect("EXISTS");
        self.0.servers().iter().filter(stands).count()
    }

    /// Waits until so many servers have something under `key`.
    #[track_caller]
    pub(crate) fn wait_standing(&self, key: &str, count: usize) {
        let began = Instant::now();
        while self.standing(key) != count {
            assert!(began.elapsed() < BOUND, "{} servers have {key}", self.standing(key));
            thread::yield_now();
        }
    }

    pub(crate) fn heal(&self) {
        self.0.proxies().iter().for_each(Proxy::heal);
    }
}

/// A third of a second, which is a third of the response deadline, and what the machine adds.
pub(crate) const NODE_DEADLINE: Duration = Duration::from_millis(334);
pub(crate) const SLACK: Duration = Duration::from_millis(250);

fn it_holds_and_gives_back_on_every_server(world: &dyn World) {
    let five = Five::start();
    let (mine, theirs) = (five.client(world), five.client(world));
    let guard = take(&*mine, &Ask::new("k"));
    five.wait_standing("k", 5);
    assert!(theirs.try_acquire(&Ask::new("k")).expect("an answer").is_none(), "it is busy");
    assert_eq!(five.standing("k"), 5, "who was refused has changed nothing");
    assert_eq!(guard.release().unwrap(), Release::Released);
    five.wait_standing("k", 0);
    drop(take(&*theirs, &Ask::new("k").wait(5_000)));
    five.wait_standing("k", 0);
    let waited = thread::scope(|scope| {
        let guard = take(&*mine, &Ask::new("k"));
        let waiter = scope.spawn(|| theirs.acquire(&Ask::new("k").wait(10_000)).map(drop));
        drop(guard);
        waiter.join().expect("no panic")
    });
    waited.expect("it became free");
}

fn who_is_away_is_not_waited_for(world: &dyn World) {
    let mut five = Five::start();
    let client = five.client(world);
    five.0.servers_mut()[1].stop();
    five.0.servers_mut()[3].stop();
    let began = Instant::now();
    let guard = take(&*client, &Ask::new("k"));
    assert!(began.elapsed() < NODE_DEADLINE, "{:?}", began.elapsed());
    assert_eq!(guard.release().unwrap(), Release::Released);
    assert!(began.elapsed() < NODE_DEADLINE, "{:?}", began.elapsed());
}

/// O42: each server has a deadline of its own.
fn who_is_silent_costs_no_more_than_a_deadline(world: &dyn World) {
    let five = Five::start();
    let client = five.client(world);
    five.0.proxies()[0].black_hole(true);
    five.0.proxies()[4].black_hole(true);
    let began = Instant::now();
    let guard = take(&*client, &Ask::new("k"));
    assert!(began.elapsed() < NODE_DEADLINE * 2 + SLACK, "{:?}", began.elapsed());
    assert_eq!(guard.release().unwrap(), Release::Released);
    let began = Instant::now();
    assert_eq!(take(&*client, &Ask::new("k")).release().unwrap(), Release::Released);
    assert!(began.elapsed() < NODE_DEADLINE * 2 + SLACK, "{:?}", began.elapsed());
    five.heal();
    five.wait_standing("k", 0);
}

fn any_two_may_fail_while_it_is_held(world: &dyn World) {
    let mut five = Five::start();
    let client = five.client(world);
    let guard = take(&*client, &Ask::new("k").ttl(1_500));
    // A restart without persistence forgets everything.
    five.0.servers_mut()[2].kill();
    five.0.proxies()[0].black_hole(true);
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(3_200) {
        assert!(
            guard.lease().is_held(),
            "after {:?}: {:?}",
            began.elapsed(),
            guard.lease().state()
        );
        thread::yield_now();
    }
    let (other, began) = (five.client(world), Instant::now());
    assert!(other.try_acquire(&Ask::new("k")).expect("three answer").is_none(), "it is busy");
    assert!(began.elapsed() < NODE_DEADLINE * 2 + SLACK, "{:?}", began.elapsed());
    assert_eq!(guard.release().unwrap(), Release::Released);
    five.heal();
    five.0.servers_mut()[2].restart().expect("a server");
    five.wait_standing("k", 0);
    drop(take(&*other, &Ask::new("k")));
}

fn a_server_that_restarted_empty_is_joined_again(world: &dyn World) {
    let mut five = Five::start();
    let client = five.client(world);
    let guard = take(&*client, &Ask::new("k").ttl(1_500));
    five.wait_standing("k", 5);
    five.0.servers_mut()[1].kill();
    five.0.servers_mut()[1].restart().expect("a server");
    five.wait_standing("k", 5);
    assert!(guard.lease().is_held());
    assert_eq!(guard.release().unwrap(), Release::Released);
    five.wait_standing("k", 0);
}

fn two_never_hold_it_however_they_race(world: &dyn World) {
    let five = Five::start();
    let counter = std::sync::atomic::AtomicU32::new(0);
    let clients: Vec<_> = (0..4).map(|_| five.client(world)).collect();
    thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| {
                for _ in 0..10 {
                    let guard = take(&**client, &Ask::new("k").wait(60_000));
                    let inside = counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    assert_eq!(inside, 0, "somebody else is inside");
                    counter.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    assert_eq!(guard.release().expect("a release"), Release::Released);
                }
            });
        }
    });
    five.wait_standing("k", 0);
}

fn without_a_majority_nothing_is_granted_or_left(world: &dyn World) {
    let mut five = Five::start();
    let client = five.client(world);
    for at in [0, 2, 4] {
        five.0.servers_mut()[at].stop();
    }
    let error = client.try_acquire(&Ask::new("k")).map(drop).unwrap_err();
    let Error::NoQuorum { fault, .. } = &error else { panic!("{error}") };
    assert_eq!(fault.kind(), FaultKind::NoQuorum);
    assert!(error.is_transient());
    let text = error.to_string();
    assert!(text.contains("3 of 5 servers failed"), "{text}");
    assert!(text.contains(&five.0.proxies()[0].addr().to_string()), "{text}");
    let left: usize = [1, 3]
        .iter()
        .filter(|at| five.0.servers()[**at].cli().exists::<_, bool>("k").expect("EXISTS"))
        .count();
    assert_eq!(left, 0, "what was granted in part was taken back");
}

fn a_majority_that_is_gone_is_a_loss(world: &dyn World) {
    let five = Five::start();
    let client = five.client(world);
    let guard = take(&*client, &Ask::new("k").ttl(900));
    five.wait_standing("k", 5);
    for server in &five.0.servers()[..3] {
        server.cli().del::<_, ()>("k").expect("DEL");
    }
    assert_eq!(guard.lease().wait_lost(BOUND), Some(LossReason::Vanished));
    assert_eq!(guard.lease().state(), LeaseState::Lost(LossReason::Vanished));
    assert_eq!(guard.release().unwrap(), Release::Expired);
    five.wait_standing("k", 0);
}

/// O57: one server under two names.
fn a_server_counts_once(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxies: Vec<_> = (0..2).map(|_| Proxy::start(server.addr()).expect("a proxy")).collect();
    let twice = vec![server.url(), server.url(), "redis://127.0.0.1:1".to_owned()];
    let connect = |quorum: Vec<String>| {
        world
            .client(&Place::memory(), &Config { at: Some(At::Quorum(quorum)), ..Config::default() })
            .map(drop)
    };
    let error = connect(twice).unwrap_err();
    assert!(matches!(error, Error::Config(ConfigError::SameServer { .. })), "{error}");
    // Two names for one server.
    let error =
        connect(proxies.iter().map(Proxy::url).chain([server.url()]).collect()).unwrap_err();
    assert!(error.to_string().contains("the same server as"), "{error}");
}

fn what_it_cannot_do_is_refused_and_nothing_sent(world: &dyn World) {
    let five = Five::start();
    let client = five.client(world);
    five.0.proxies().iter().for_each(Proxy::clear);
    let error = client.try_acquire(&Ask::new("k").fenced()).map(drop).unwrap_err();
    assert_eq!(error.fault().map(tairlock::Fault::kind), Some(FaultKind::Unsupported));
    assert!(error.to_string().contains("fence"), "{error}");
    let error = client.value(&Wish::new("v")).read().map(drop).unwrap_err();
    assert_eq!(error.fault().map(tairlock::Fault::kind), Some(FaultKind::Unsupported));
    let error = client.fenced_set(b"f", b"1", 1).unwrap_err();
    assert_eq!(error.fault().map(tairlock::Fault::kind), Some(FaultKind::Unsupported));
    let sent: usize = five.0.proxies().iter().map(|proxy| proxy.texts().len()).sum();
    assert_eq!(sent, 0);
}

fn a_minority_may_be_away_when_it_is_built(world: &dyn World) {
    let mut five = Five::start();
    five.0.servers_mut()[0].stop();
    five.0.proxies()[1].black_hole(true);
    let client = five.client(world);
    assert_eq!(take(&*client, &Ask::new("k")).release().unwrap(), Release::Released);
    // Who comes back takes part without being asked to.
    five.heal();
    five.0.servers_mut()[0].restart().expect("a server");
    let began = Instant::now();
    loop {
        let guard = take(&*client, &Ask::new("k"));
        let all = five.standing("k") == 5;
        assert_eq!(guard.release().expect("a release"), Release::Released);
        if all {
            break;
        }
        assert!(began.elapsed() < BOUND, "it never took part");
    }
    five.0.servers_mut()[2].stop();
    five.0.servers_mut()[3].stop();
    five.0.servers_mut()[4].stop();
    let error = five.try_client(world).map(drop).unwrap_err();
    assert_eq!(error.fault().map(tairlock::Fault::kind), Some(FaultKind::NoQuorum), "{error}");
}
