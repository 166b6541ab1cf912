//! Many leases of one client: none is lost, and one keeper renews them on one connection, many at a time.

use std::{collections::BTreeSet, time::Duration};

use tairlock::LeaseState;
use tairlock_tests::{
    Proxy, Server,
    world::{Ask, World},
};

use crate::{client_at, for_each_driver, take};

for_each_driver!(two_thousand_leases_are_kept_by_one_keeper_in_few_batches,);

const LEASES: usize = 2_000;
const TTL_MS: u64 = 3_000;
/// Renewed every second.
const ROUNDS: usize = 3;

fn two_thousand_leases_are_kept_by_one_keeper_in_few_batches(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    let guards: Vec<_> =
        (0..LEASES).map(|at| take(&*client, &Ask::new(format!("k{at}")).ttl(TTL_MS))).collect();
    proxy.clear();
    let lost = guards[0].lease().wait_lost(Duration::from_millis(TTL_MS / 3) * ROUNDS as u32);
    assert_eq!(lost, None);

    let commands = proxy.commands();
    let renewals: Vec<_> = commands.iter().filter(|command| command.is("EVALSHA")).collect();
    // Those that are due at the edges are renewed once less.
    assert!(renewals.len() > LEASES * (ROUNDS - 1), "{} renewals", renewals.len());
    assert!(renewals.len() <= LEASES * (ROUNDS + 1), "{} renewals", renewals.len());
    let connections: BTreeSet<_> = renewals.iter().map(|command| command.connection).collect();
    assert_eq!(connections.len(), 1, "one keeper, one connection");
    // A hundred to a batch. Those that are taken one by one fall due one by one, and fill no batch at first.
    let batches: BTreeSet<_> = renewals.iter().map(|command| command.round_trip).collect();
    assert!(batches.len() <= renewals.len() / 50, "{} for {}", batches.len(), renewals.len());

    let held = guards.iter().filter(|guard| guard.lease().state() == LeaseState::Held).count();
    let keys: usize = redis::cmd("DBSIZE").query(&mut server.cli()).expect("DBSIZE");
    assert_eq!((held, keys), (LEASES, LEASES));
    drop(guards);
    assert!(client.close(), "all given back");
    let keys: usize = redis::cmd("DBSIZE").query(&mut server.cli()).expect("DBSIZE");
    assert_eq!(keys, 0);
}
