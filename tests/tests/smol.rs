//! Where smol is not the one that people expect: its global executor blocked, another executor, an
//! executor that goes away. `.ci/run` runs this with smol alone too: with tokio compiled in, the keeper is
//! tokio's.

use std::{
    sync::{Mutex, MutexGuard, PoisonError, mpsc},
    time::Duration,
};

use tairlock::{Client, LockGuard, Release, distributed_lock};
use tairlock_tests::Server;

/// Long enough for several renewals of [`TTL`], and for its end without them.
const RENEWALS: Duration = Duration::from_millis(1_200);
const TTL: Duration = Duration::from_millis(300);

/// There is one global executor, and a test here blocks it: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connected() -> (Server, Client) {
    let server = Server::redis7().start().expect("a server");
    let client = smol::block_on(Client::connect(server.url())).expect("a client");
    (server, client)
}

async fn take(client: &Client, key: &str) -> LockGuard {
    client.lock(key).ttl(TTL).acquire().await.expect("a free lock")
}

/// Blocks every thread of smol's global executor until dropped.
struct Blocked {
    _unblock: Vec<mpsc::Sender<()>>,
}

fn block_global_executor() -> Blocked {
    let threads = std::env::var("SMOL_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let block = |_| {
        let (blocks, blocked) = mpsc::channel();
        let (unblock, unblocked) = mpsc::channel::<()>();
        smol::spawn(async move {
            blocks.send(()).expect("the test waits");
            _ = unblocked.recv();
        })
        .detach();
        blocked.recv().expect("blocked");
        unblock
    };
    Blocked { _unblock: (0..threads).map(block).collect() }
}

#[test]
fn a_blocked_global_executor_stops_no_renewal_and_no_drop() {
    let _alone = alone();
    for unix in [false, true] {
        let server = Server::redis7().unix_socket().start().expect("a server");
        let url = if unix { server.unix_url() } else { server.url() };
        let client = smol::block_on(Client::connect(url)).expect("a client");
        let (kept, dropped) =
            smol::block_on(async { (take(&client, "kept").await, take(&client, "dropped").await) });
        let blocked = block_global_executor();
        assert_eq!(kept.lease().wait_lost(RENEWALS), None, "unix: {unix}");
        drop(dropped);
        // The release goes ahead of the next renewal, on the same connection.
        assert_eq!(kept.lease().wait_lost(TTL), None);
        let left: u64 = redis::cmd("DBSIZE").query(&mut server.cli()).expect("DBSIZE");
        assert_eq!(left, 1, "unix: {unix}");
        drop(blocked);
        let released = smol::block_on(kept.release()).expect("release");
        assert_eq!(released, Release::Released, "unix: {unix}");
    }
}

#[test]
fn an_executor_that_is_none_of_smols_will_do() {
    let _alone = alone();
    let (_server, client) = connected();
    // A parked thread, with no reactor and no timers of its own.
    let guard = smol::future::block_on(take(&client, "k"));
    assert_eq!(guard.lease().wait_lost(RENEWALS), None);
    let released = smol::future::block_on(guard.release()).expect("release");
    assert_eq!(released, Release::Released);
}

#[test]
fn an_executor_that_goes_away_gives_back_what_its_tasks_held() {
    let _alone = alone();
    let (server, client) = connected();
    let executor = smol::Executor::new();
    let (holds, held) = mpsc::channel();
    let there = client.clone();
    let task = executor.spawn(async move {
        let _guard = take(&there, "k").await;
        holds.send(()).expect("the test waits");
        std::future::pending::<()>().await;
    });
    while held.try_recv().is_err() {
        smol::block_on(executor.tick());
    }
    drop(executor);
    drop(task);
    assert!(smol::block_on(client.close()), "released");
    let left: u64 = redis::cmd("DBSIZE").query(&mut server.cli()).expect("DBSIZE");
    assert_eq!(left, 0);
}

#[test]
fn the_attribute_is_the_same() {
    #[distributed_lock(key = "order:{id}", ttl = 5, using = client, lease = lease)]
    async fn settle(client: &Client, id: u64) -> Result<u64, tairlock::Error> {
        assert!(lease.is_held());
        assert!(client.lock(format!("order:{id}")).try_acquire().await?.is_none());
        Ok(id)
    }
    let _alone = alone();
    let (_server, client) = connected();
    let both = smol::future::zip(settle(&client, 7), settle(&client, 7));
    let (one, other) = smol::block_on(both);
    assert_eq!((one.expect("granted"), other.expect("granted")), (7, 7));
}
