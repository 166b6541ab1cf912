//! A primary is killed, and its replica takes its place: with confirmation no lock is handed out twice.
//!
//! `TAIRLOCK_FAILOVERS=n` says how many times, for each driver.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tairlock::{Confirm, Error, Lease};
use tairlock_tests::{
    Server,
    fleet::Replicated,
    for_each_world,
    place::Place,
    world::{Ask, Config, Held, Locks, World},
};

for_each_world!(without_confirmation_a_lock_has_two_holders, with_confirmation_it_has_one);

/// How many failovers there are, unless told otherwise.
const FAILOVERS: u32 = 10;
const TTL: u64 = 1_200;
const BOUND: Duration = Duration::from_secs(30);

fn client_of(world: &dyn World, server: &Server) -> Box<dyn Locks> {
    let config = Config { url: Some(server.url()), ..Config::default() };
    world.client(&Place::memory(), &config).unwrap_or_else(|error| panic!("connecting: {error}"))
}

fn by_one() -> Confirm {
    Confirm::replicas(1).within(Duration::from_millis(150))
}

fn pair(of: u32) -> Replicated {
    let server = if of.is_multiple_of(2) { Server::redis7 } else { Server::valkey9 };
    Replicated::start(server, 1).unwrap_or_else(|error| panic!("{error}"))
}

/// The primary dies without another word to its replica, which takes its place.
fn fail_over(fleet: &mut Replicated) {
    fleet.link(0).cut();
    fleet.primary_mut().kill();
    fleet.promote(0).expect("promoted");
}

/// The first holder counts on its lease and the second was granted the lock; then only the store that is
/// written to can tell them apart, by their fences.
fn without_confirmation_a_lock_has_two_holders(world: &dyn World) {
    let mut fleet = pair(0);
    let (old, new) = (client_of(world, fleet.primary()), client_of(world, fleet.replica(0)));
    let ask = Ask::new("k").fenced();
    fleet.link(0).stall();
    let first = old.acquire(&ask).expect("a free lock");
    // Whoever asked for confirmation was told that there is none.
    let other = old.acquire(&Ask::new("other").fenced().confirm(by_one())).map(drop);
    assert!(matches!(other, Err(Error::NotReplicated { .. })), "{other:?}");

    fail_over(&mut fleet);
    let second = new.acquire(&ask).expect("nobody holds it there");
    assert!(first.lease().is_held() && second.lease().is_held(), "two holders");
    let (before, after) = (first.fence().expect("a fence"), second.fence().expect("a fence"));
    assert!(before < after, "{before} and {after}");
    new.fenced_set(b"v", b"second", after).expect("written");
    let late = new.fenced_set(b"v", b"first", before);
    assert!(matches!(late, Err(Error::StaleFence { fence, newest, .. })
        if (fence, newest) == (before, after)));
    assert_eq!(new.fenced_get(b"v").expect("read").map(|it| it.value), Some(b"second".to_vec()));
}

#[expect(clippy::print_stderr, reason = "the figures of many failovers are a result")]
fn with_confirmation_it_has_one(world: &dyn World) {
    let failovers = std::env::var("TAIRLOCK_FAILOVERS").ok();
    let failovers = failovers.map_or(FAILOVERS, |text| text.parse().expect("a number"));
    let (mut total, mut nth) = (Tally::default(), 0);
    // Where nobody holds the lock when the primary dies, nothing is at stake: until a third had a holder.
    while nth < failovers || total.at_stake * 3 < failovers {
        let one = survive(world, nth);
        assert_eq!(one.twice, 0, "failover {nth}: handed out twice");
        total.add(&one);
        nth += 1;
        assert!(nth <= failovers * 4, "hardly ever held: {total:?}");
    }
    eprintln!("{}: {nth} failovers, {total:?}", world.name());
    assert!(total.granted >= failovers, "{total:?}");
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// How many grants there were.
    granted: u32,
    /// How many were refused, as the replica did not have them.
    refused: u32,
    /// How many leases were lost, as the replica did not have their renewals.
    lost: u32,
    /// How often somebody held the lock when the primary died.
    at_stake: u32,
    /// How often somebody was granted a lock that somebody else counted on.
    twice: u32,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.granted += other.granted;
        self.refused += other.refused;
        self.lost += other.lost;
        self.at_stake += other.at_stake;
        self.twice += other.twice;
    }
}

/// Who holds the lock, by the holders' own account.
#[derive(Default)]
struct Referee {
    holder: Mutex<Option<Lease>>,
    granted: AtomicU32,
    refused: AtomicU32,
    lost: AtomicU32,
    twice: AtomicU32,
    dead: AtomicBool,
}

impl Referee {
    fn holder(&self) -> std::sync::MutexGuard<'_, Option<Lease>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn grant(&self, lease: &Lease) {
        let before = self.holder().replace(lease.clone());
        self.granted.fetch_add(1, Ordering::Relaxed);
        if before.is_some_and(|before| before.is_held()) {
            self.twice.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The holder is about to give it back.
    fn end(&self, lease: &Lease) {
        let mut holder = self.holder();
        if holder.as_ref().is_some_and(|holder| holder.token() == lease.token()) {
            *holder = None;
        }
    }

    fn is_held(&self) -> bool {
        self.holder().as_ref().is_some_and(Lease::is_held)
    }
}

/// Several clients take and renew a lock whose replica comes and goes, until the primary is killed.
fn survive(world: &dyn World, nth: u32) -> Tally {
    let mut fleet = pair(nth);
    let referee = Referee::default();
    let clients: Vec<_> = (0..3).map(|_| client_of(world, fleet.primary())).collect();
    let heir = client_of(world, fleet.replica(0));
    let mut at_stake = 0;
    thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| work(&**client, &referee));
        }
        // Whatever happens here, they end.
        let _end = Ends(&referee.dead);
        let (began, trouble) = (Instant::now(), between(1_000, 2_500));
        while began.elapsed() < trouble {
            if chance(4) {
                fleet.link(0).cut();
            } else {
                fleet.link(0).stall();
            }
            last(between(20, 500));
            fleet.link(0).mend();
            last(between(50, 700));
        }
        // Half of the time it is cut off already.
        if chance(2) {
            fleet.link(0).stall();
            last(between(20, 800));
        }
        at_stake = u32::from(referee.is_held());
        fail_over(&mut fleet);
        referee.dead.store(true, Ordering::Relaxed);
        let heirs =
            heir.acquire(&Ask::new("k").ttl(TTL).wait(10_000)).expect("nobody has it for ever");
        referee.grant(heirs.lease());
        drop(heirs);
    });
    let count = |of: &AtomicU32| of.load(Ordering::Relaxed);
    let (granted, refused) = (count(&referee.granted), count(&referee.refused));
    Tally { granted, refused, lost: count(&referee.lost), at_stake, twice: count(&referee.twice) }
}

fn work(client: &dyn Locks, referee: &Referee) {
    let ask = Ask::new("k").ttl(TTL).wait(400).confirm(by_one());
    while !referee.dead.load(Ordering::Relaxed) {
        match client.acquire(&ask) {
            Ok(guard) => hold(&*guard, referee),
            Err(Error::NotReplicated { .. }) => {
                referee.refused.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
    }
}

/// Through several renewals; who holds it when the primary dies counts on it to the end.
fn hold(guard: &dyn Held, referee: &Referee) {
    let lease = guard.lease();
    referee.grant(lease);
    let mut lost = lease.wait_lost(between(0, 2_500)).is_some();
    if !lost && referee.dead.load(Ordering::Relaxed) {
        lost = lease.wait_lost(BOUND).is_some();
    }
    if lost {
        referee.lost.fetch_add(1, Ordering::Relaxed);
    }
    referee.end(lease);
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// So many milliseconds.
fn between(low: u64, high: u64) -> Duration {
    Duration::from_millis(low + random() % (high - low + 1))
}

/// Once in so many times.
fn chance(of: u64) -> bool {
    random().is_multiple_of(of)
}

/// How long a trouble lasts is all there is to it.
fn last(pause: Duration) {
    thread::park_timeout(pause);
}
