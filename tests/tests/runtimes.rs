//! One client and several runtimes, with tokio and smol both compiled in.

use std::{sync::mpsc, thread, time::Duration};

use tairlock::{Client, LockGuard, Release};
use tairlock_tests::Server;
use tokio::runtime::{Builder, Runtime};

/// Far more than anything here takes.
const BOUND: Duration = Duration::from_secs(10);

/// Long enough for several renewals of [`TTL`], and for its end without them.
const RENEWALS: Duration = Duration::from_millis(1_000);
const TTL: Duration = Duration::from_millis(300);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn server() -> Server {
    Server::redis7().start().expect("a server")
}

async fn take(client: &Client, key: &str) -> LockGuard {
    client.lock(key).ttl(TTL).wait(BOUND).acquire().await.expect("a lock that is free, or soon is")
}

async fn give_back(guard: LockGuard) {
    assert_eq!(guard.release().await.expect("release"), Release::Released);
}

#[test]
fn a_client_made_on_tokio_is_used_from_smol_on_another_thread() {
    let (server, tokio) = (server(), runtime());
    let client = tokio.block_on(Client::connect(server.url())).expect("a client");
    let on_tokio = tokio.block_on(take(&client, "a"));

    // That runtime has one thread, and nobody is in it: nothing on smol may depend on it.
    let there = client.clone();
    let (on_tokio, on_smol) = thread::spawn(move || {
        smol::block_on(async {
            assert!(there.lock("a").try_acquire().await.expect("no fault").is_none());
            give_back(take(&there, "b").await).await;
            give_back(on_tokio).await;
            (take(&there, "a").await, take(&there, "c").await)
        })
    })
    .join()
    .expect("no panic");

    assert_eq!(on_smol.lease().wait_lost(RENEWALS), None);
    tokio.block_on(give_back(on_tokio));
    tokio.block_on(give_back(on_smol));
    assert!(tokio.block_on(client.close()));
    assert_eq!(keys(&server), 0);
}

#[test]
fn a_client_outlives_the_runtime_it_was_made_in() {
    let (server, first) = (server(), runtime());
    let client = first.block_on(Client::connect(server.url())).expect("a client");
    let guards = first.block_on(async { (take(&client, "a").await, take(&client, "b").await) });
    drop(first);

    assert_eq!(guards.0.lease().wait_lost(RENEWALS), None, "renewed without its runtime");
    let second = runtime();
    second.block_on(give_back(guards.0));
    second.block_on(async { give_back(take(&client, "a").await).await });
    drop(second);
    smol::block_on(give_back(guards.1));
    assert!(smol::block_on(client.close()));
    assert_eq!(keys(&server), 0);
}

#[test]
fn who_waits_on_smol_gets_what_tokio_gives_back() {
    let (server, tokio) = (server(), runtime());
    let client = tokio.block_on(Client::connect(server.url())).expect("a client");
    let held = tokio.block_on(take(&client, "a"));
    let (asked, asks) = mpsc::channel();
    let there = client.clone();
    let waiter = thread::spawn(move || {
        smol::block_on(async {
            let mut acquire = std::pin::pin!(take(&there, "a"));
            assert!(smol::future::poll_once(&mut acquire).await.is_none(), "it is held");
            asked.send(()).expect("the test waits");
            give_back(acquire.await).await;
        });
    });
    asks.recv().expect("asked");
    tokio.block_on(give_back(held));
    waiter.join().expect("granted");
}

#[test]
fn a_guard_is_dropped_where_there_is_no_runtime() {
    let (server, tokio) = (server(), runtime());
    let client = tokio.block_on(Client::connect(server.url())).expect("a client");
    let guards = [tokio.block_on(take(&client, "a")), smol::block_on(take(&client.clone(), "b"))];
    drop(tokio);
    thread::spawn(move || drop(guards)).join().expect("no panic");
    assert!(smol::block_on(client.close()), "released");
    assert_eq!(keys(&server), 0);
}

/// redis-rs asks tokio's context which runtime it is in, whoever polls; so do we.
#[test]
fn smol_inside_of_tokio_is_tokio() {
    let server = server();
    let tokio = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let tokio = tokio.expect("a runtime");
    let entered = tokio.enter();
    let client = smol::block_on(Client::connect(server.url())).expect("a client");
    let guard = smol::block_on(take(&client, "a"));
    assert_eq!(guard.lease().wait_lost(RENEWALS), None);
    drop(entered);
    smol::block_on(give_back(guard));
    let used = tokio.spawn_blocking(move || {
        smol::block_on(async { give_back(take(&client, "a").await).await });
    });
    tokio.block_on(used).expect("no panic");
    assert_eq!(keys(&server), 0);
}

fn keys(server: &Server) -> u64 {
    redis::cmd("DBSIZE").query(&mut server.cli()).expect("DBSIZE")
}
