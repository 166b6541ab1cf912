//! Tasks that block every thread of their executor for two TTLs: the keeper renews from a thread of its own.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use tairlock::{Client, Error, Lease, LeaseState, LossReason, distributed_lock};
use tairlock_tests::Server;
use tokio::runtime::{Builder, Runtime};

/// That of the attributes below.
const TTL: Duration = Duration::from_secs(1);
/// What a body does first, while it holds the lock.
type First = Box<dyn FnOnce() + Send>;

/// What is seen of the server from outside of the executor, while its threads are blocked.
struct Watch {
    server: Server,
}

impl Watch {
    fn start() -> Self {
        Self { server: Server::redis7().start().expect("a server") }
    }

    /// Whose the lock is now.
    fn holder(cli: &mut redis::Connection) -> Option<Vec<u8>> {
        redis::cmd("GET").arg("k").query(cli).expect("GET")
    }

    /// Sees one token under the key for two TTLs on end, from when it is first there.
    fn one_token(&self) {
        let mut cli = self.server.cli();
        let began = Instant::now();
        let first = loop {
            if let Some(token) = Self::holder(&mut cli) {
                break token;
            }
            assert!(began.elapsed() < TTL * 10, "nobody took it");
            thread::yield_now();
        };
        let began = Instant::now();
        while began.elapsed() < TTL * 2 {
            assert_eq!(Self::holder(&mut cli).as_ref(), Some(&first), "{:?}", began.elapsed());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Deletes the key once it is there.
    fn delete(&self) {
        let mut cli = self.server.cli();
        let began = Instant::now();
        while redis::cmd("DEL").arg("k").query::<u8>(&mut cli).expect("DEL") == 0 {
            assert!(began.elapsed() < TTL * 10, "nobody took it");
            thread::yield_now();
        }
    }
}

/// Blocks its thread for a little more than two TTLs, and says what is known right after.
fn block(lease: &Lease) -> LeaseState {
    thread::sleep(TTL * 2 + TTL / 4);
    lease.state()
}

#[distributed_lock(key = "k", ttl = 1, using = client, lease = lease)]
async fn blocks(client: &Client, first: First) -> Result<LeaseState, Error> {
    first();
    let state = block(&lease);
    tokio::task::yield_now().await;
    Ok(state)
}

#[distributed_lock(key = "k", ttl = 1, using = client, lease = lease)]
async fn blocks_on_async_std(client: &Client, first: First) -> Result<LeaseState, Error> {
    first();
    let state = block(&lease);
    async_std::task::yield_now().await;
    Ok(state)
}

/// Something to do first: block so many threads more, by tasks that `spawn` is given.
fn block_others(others: usize, spawn: impl Fn(First) + Send + 'static) -> First {
    Box::new(move || {
        // Not from a thread of the executor, which might keep them to itself.
        let spawner = thread::spawn(move || {
            let (blocks, blocked) = mpsc::channel();
            for _ in 0..others {
                let blocks = blocks.clone();
                spawn(Box::new(move || {
                    blocks.send(()).expect("waited for");
                    thread::sleep(TTL * 2 + TTL / 4);
                }));
            }
            for _ in 0..others {
                blocked.recv_timeout(TTL * 2).expect("each blocks a thread of its own");
            }
        });
        spawner.join().expect("all are blocked");
    })
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn two_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

#[test]
fn a_blocked_runtime_of_one_thread_costs_no_lease() {
    let watch = Watch::start();
    let url = watch.server.url();
    let body = thread::spawn(move || {
        current_thread().block_on(async {
            let client = Client::connect(url).await?;
            blocks(&client, Box::new(|| {})).await
        })
    });
    watch.one_token();
    assert_eq!(body.join().expect("no panic").expect("it ended"), LeaseState::Held);
}

#[test]
fn a_runtime_whose_every_worker_is_blocked_costs_no_lease() {
    let watch = Watch::start();
    let runtime = two_threads();
    let client = runtime.block_on(Client::connect(watch.server.url())).expect("a client");
    let handle = runtime.handle().clone();
    let first = block_others(1, move |block| {
        handle.spawn(async move { block() });
    });
    let body = runtime.spawn(async move { blocks(&client, first).await });
    watch.one_token();
    assert_eq!(runtime.block_on(body).expect("no panic").expect("it ended"), LeaseState::Held);
}

#[test]
fn a_blocked_async_std_costs_no_lease() {
    let watch = Watch::start();
    let url = watch.server.url();
    let all = std::env::var("ASYNC_STD_THREAD_COUNT").ok().and_then(|count| count.parse().ok());
    let all = all.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let first = block_others(all - 1, |block| {
        async_std::task::spawn(async move { block() });
    });
    let body = thread::spawn(move || {
        async_std::task::block_on(async {
            let client = Client::connect(url).await?;
            let body = async move { blocks_on_async_std(&client, first).await };
            async_std::task::spawn(body).await
        })
    });
    watch.one_token();
    assert_eq!(body.join().expect("no panic").expect("it ended"), LeaseState::Held);
}

#[test]
fn a_blocked_thread_in_blocking_code_costs_no_lease() {
    let watch = Watch::start();
    let url = watch.server.url();
    let body = thread::spawn(move || {
        let client = tairlock_sync::Client::connect(url).expect("a client");
        let guard = client.lock("k").ttl(TTL).acquire().expect("a free lock");
        let state = block(guard.lease());
        (state, guard.release().expect("release"))
    });
    watch.one_token();
    let told = body.join().expect("no panic");
    assert_eq!(told, (LeaseState::Held, tairlock::Release::Released));
}

/// What the keeper learns while the body blocks its thread, the body is not to outlive.
#[test]
fn a_body_that_blocked_goes_no_further_than_its_next_await_if_the_lock_was_lost() {
    for runtime in [current_thread, two_threads] {
        let watch = Watch::start();
        let url = watch.server.url();
        let body = thread::spawn(move || {
            runtime().block_on(async {
                let client = Client::connect(url).await?;
                blocks(&client, Box::new(|| {})).await
            })
        });
        watch.delete();
        let told = body.join().expect("no panic");
        let vanished = LossReason::Vanished;
        assert!(
            matches!(&told, Err(Error::Lost { reason, .. }) if *reason == vanished),
            "{told:?}"
        );
    }
}
