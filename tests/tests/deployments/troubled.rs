//! A quorum of five of which any two are in trouble of any kind, at each moment of a lock, and callers that
//! give up half-way.

use std::{
    thread,
    time::{Duration, Instant},
};

use tairlock::Release;
use tairlock_tests::{
    for_each_world,
    world::{Ask, World},
};

use crate::{
    quorum::{Five, NODE_DEADLINE, SLACK},
    take,
};

for_each_world!(at_the_acquire, at_a_renewal, at_the_release);

#[derive(Clone, Copy, Debug)]
enum Trouble {
    Down,
    /// Slower than its deadline.
    Slow,
    /// Restarted without its data.
    Empty,
    /// Nothing arrives, and nothing is refused.
    Silent,
}

const ALL: [(Trouble, [usize; 2]); 4] = [
    (Trouble::Down, [0, 1]),
    (Trouble::Slow, [1, 3]),
    (Trouble::Empty, [2, 4]),
    (Trouble::Silent, [0, 4]),
];

impl Trouble {
    fn begin(self, five: &mut Five, nodes: [usize; 2]) {
        for node in nodes {
            match self {
                Self::Down => five.servers_mut()[node].stop(),
                Self::Slow => five.proxies()[node].delay(NODE_DEADLINE * 2),
                Self::Silent => five.proxies()[node].black_hole(true),
                Self::Empty => {
                    five.servers_mut()[node].kill();
                    five.servers_mut()[node].restart().expect("a server");
                }
            }
        }
    }

    fn end(self, five: &mut Five, nodes: [usize; 2]) {
        five.heal();
        if let Self::Down = self {
            for node in nodes {
                five.servers_mut()[node].restart().expect("a server");
            }
        }
    }
}

/// Longer than any of this takes: a key that is gone before was released.
const LONG: u64 = 300_000;

/// T11: down, slow, emptied, silent.
fn at_the_acquire(world: &dyn World) {
    let mut five = Five::start();
    for (trouble, nodes) in ALL {
        let key = format!("{trouble:?}");
        let (mine, theirs) = (five.client(world), five.client(world));
        trouble.begin(&mut five, nodes);
        let began = Instant::now();
        let guard = take(&*mine, &Ask::new(&key).ttl(LONG));
        assert!(began.elapsed() < NODE_DEADLINE * 2 + SLACK, "{trouble:?}: {:?}", began.elapsed());
        let other = theirs.try_acquire(&Ask::new(&key)).expect("three answer");
        assert!(other.is_none(), "{trouble:?}: two hold it");
        assert!(guard.lease().is_held());
        assert_eq!(guard.release().expect("three answer"), Release::Released, "{trouble:?}");
        drop(take(&*theirs, &Ask::new(&key).ttl(LONG).wait(10_000)));
        trouble.end(&mut five, nodes);
        five.wait_standing(&key, 0);
    }
}

fn at_a_renewal(world: &dyn World) {
    let mut five = Five::start();
    for (trouble, nodes) in ALL {
        let key = format!("{trouble:?}");
        let (mine, theirs) = (five.client(world), five.client(world));
        let guard = take(&*mine, &Ask::new(&key).ttl(1_500));
        five.wait_standing(&key, 5);
        trouble.begin(&mut five, nodes);
        // Until what was granted has run out: from then on it is held by renewals alone.
        let lost = guard.lease().wait_lost(Duration::from_millis(1_700));
        assert_eq!(lost, None, "{trouble:?}");
        let other = theirs.try_acquire(&Ask::new(&key)).expect("three answer");
        assert!(other.is_none(), "{trouble:?}: two hold it");
        assert!(guard.lease().is_held(), "{trouble:?}");
        assert_eq!(guard.release().expect("three answer"), Release::Released, "{trouble:?}");
        trouble.end(&mut five, nodes);
        five.wait_standing(&key, 0);
    }
}

fn at_the_release(world: &dyn World) {
    let mut five = Five::start();
    for (trouble, nodes) in ALL {
        let key = format!("{trouble:?}");
        let (mine, theirs) = (five.client(world), five.client(world));
        let guard = take(&*mine, &Ask::new(&key).ttl(LONG));
        trouble.begin(&mut five, nodes);
        let began = Instant::now();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let next = theirs.acquire(&Ask::new(&key).ttl(LONG).wait(10_000));
                let next = next.unwrap_or_else(|error| panic!("{trouble:?}: {error}"));
                assert_eq!(next.release().expect("three answer"), Release::Released);
            });
            assert_eq!(guard.release().expect("three answer"), Release::Released, "{trouble:?}");
            let took = began.elapsed();
            assert!(took < NODE_DEADLINE * 2 + SLACK, "{trouble:?}: {took:?}");
            waiter.join().expect("it was served");
        });
        trouble.end(&mut five, nodes);
        five.wait_standing(&key, 0);
    }
}

#[cfg(feature = "tokio")]
#[test]
fn whoever_gives_up_half_way_leaves_nothing_on_any_server() {
    use tairlock::Client;
    use tairlock_tests::polls::every_cut;

    let five = Five::start();
    let runtime = ::tokio::runtime::Runtime::new().expect("a runtime");
    let connect =
        || runtime.block_on(Client::builder().quorum(five.urls()).build()).expect("a client");
    let (client, other) = (connect(), connect());
    let lock = client.lock("k").ttl(Duration::from_millis(LONG)).wait(crate::BOUND);
    let next = other.lock("k").ttl(Duration::from_millis(LONG)).wait(crate::BOUND);
    let soon_free = async || {
        let guard = next.acquire().await.expect("it is free, or soon is");
        assert!(guard.release().await.expect("a release").was_held());
    };
    every_cut(|cut| {
        runtime.block_on(async {
            let acquired = cut.short(lock.acquire()).await;
            let done = acquired.map(|guard| drop(guard.expect("a free lock"))).is_some();
            soon_free().await;
            done
        })
    });
    every_cut(|cut| {
        runtime.block_on(async {
            let guard = lock.acquire().await.expect("a free lock");
            let released = cut.short(guard.release()).await;
            soon_free().await;
            released.is_some()
        })
    });
    assert!(runtime.block_on(client.close()), "every release is answered");
    five.wait_standing("k", 0);
}
