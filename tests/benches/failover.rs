//! What a deployment costs: a pair of acquire and release, a hand-off, and the time from a killed
//! primary to the next grant. `cargo bench -p tairlock-tests --bench failover`.
#![allow(clippy::print_stdout, reason = "the figures are the point")]

use std::{
    thread,
    time::{Duration, Instant},
};

use tairlock_tests::{
    Server,
    fleet::{Cluster, Replicated, Sentinels},
    place::{At, Place},
    world::{Ask, Blocking, Config, Locks, Tokio, World},
};

const PAIRS: usize = 3_000;
const HAND_OFFS: usize = 200;
const KILLS: usize = 5;

fn main() {
    let worlds: [&dyn World; 2] = [&Tokio::default(), &Blocking];
    for world in worlds {
        let name = world.name();
        let single = Server::valkey9().start().expect("a server");
        let alone = At::Url(single.url());
        let replicated = Replicated::start(Server::valkey9, 1).expect("a replica");
        let copied = At::Url(replicated.primary().url());
        let cluster = Cluster::start(Server::valkey9).expect("a cluster");
        let parted = At::Cluster(cluster.urls());
        for (what, at) in
            [("one server", &alone), ("with a replica", &copied), ("cluster", &parted)]
        {
            println!("{name}, {what}: a pair takes {}", told(pairs(world, at)));
        }
        for (what, at) in [("one server", &alone), ("cluster", &parted)] {
            println!("{name}, {what}: a hand-off takes {}", told(hand_offs(world, at)));
        }
        drop((single, replicated, cluster));
        println!("{name}, sentinels: from the kill to a grant {}", told(sentinel_kills(world)));
        println!("{name}, cluster: from the kill to a grant {}", told(cluster_kills(world)));
    }
}

fn client(world: &dyn World, at: &At) -> Box<dyn Locks> {
    let config = Config { at: Some(at.clone()), ..Config::default() };
    world.client(&Place::memory(), &config).expect("a client")
}

fn pair(client: &dyn Locks, ask: &Ask) {
    _ = client.acquire(ask).expect("a lock").release().expect("released");
}

fn pairs(world: &dyn World, at: &At) -> Vec<Duration> {
    let client = client(world, at);
    let timed = (0..PAIRS + 200).map(|number| {
        let began = Instant::now();
        pair(&*client, &Ask::new(format!("k{number}")));
        began.elapsed()
    });
    timed.skip(200).collect()
}

fn hand_offs(world: &dyn World, at: &At) -> Vec<Duration> {
    let (holder, waiter) = (client(world, at), client(world, at));
    let timed = (0..HAND_OFFS).map(|number| {
        let guard = holder.acquire(&Ask::new(format!("h{number}"))).expect("a lock");
        let waiter = waiter.another();
        let waiting = thread::spawn(move || {
            let guard =
                waiter.acquire(&Ask::new(format!("h{number}")).wait(20_000)).expect("served");
            let served = Instant::now();
            drop(guard.release());
            served
        });
        // Long enough to be in line by then.
        _ = guard.lease().wait_lost(Duration::from_millis(20));
        let began = Instant::now();
        drop(guard.release());
        waiting.join().expect("served").saturating_duration_since(began)
    });
    timed.collect()
}

fn sentinel_kills(world: &dyn World) -> Vec<Duration> {
    let timed = (0..KILLS).map(|_| {
        let mut fleet = Sentinels::start(Server::redis7, 1).expect("sentinels");
        let client = client(world, &At::Sentinel(fleet.name().to_owned(), fleet.urls()));
        pair(&*client, &Ask::new("a"));
        let began = Instant::now();
        fleet.servers_mut()[0].kill();
        pair(&*client, &Ask::new("b").wait(30_000));
        began.elapsed()
    });
    timed.collect()
}

fn cluster_kills(world: &dyn World) -> Vec<Duration> {
    let timed = (0..KILLS).map(|_| {
        let mut cluster = Cluster::start(Server::redis7).expect("a cluster");
        let client = client(world, &At::Cluster(cluster.urls()));
        pair(&*client, &Ask::new("a"));
        let owner = cluster.owner(b"a").expect("an owner");
        let began = Instant::now();
        cluster.nodes_mut()[owner].kill();
        pair(&*client, &Ask::new("{a}b").wait(30_000));
        began.elapsed()
    });
    timed.collect()
}

fn told(mut all: Vec<Duration>) -> String {
    all.sort_unstable();
    let at = |percent: usize| all[(all.len() * percent / 100).min(all.len() - 1)];
    format!("p50 {:?}, p99 {:?}", at(50), at(99))
}
