//! Dropping what the async driver gives, after each of its polls: nothing is left behind, on the server or here.

mod executor;
#[cfg(feature = "tokio")]
mod leaving;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use tairlock::{Client, LockGuard, Release, Versioned, Wake};
use tairlock_tests::{Proxy, Server, polls::every_cut, proxy::Fault, server::Builder};

use self::executor::{Executor, for_each_executor};
use crate::BOUND;

for_each_executor!(
    o29_an_acquire_leaves_nothing_whichever_poll_was_its_last,
    o29_an_acquire_that_connects_leaves_nothing_whichever_poll_was_its_last,
    o29_an_acquire_that_reconnects_leaves_nothing_whichever_poll_was_its_last,
    o30_a_waiting_acquire_leaves_nothing_whichever_poll_was_its_last,
    t4_a_release_goes_on_whichever_poll_was_its_last,
    t4_an_update_is_done_or_not_whichever_poll_was_its_last,
    o27_close_goes_on_whichever_poll_was_its_last,
    o22_a_guard_dropped_during_its_renewal_is_renewed_no_more,
    o28_the_callers_own_connection_answers_in_step,
);

/// Far longer than any test: a key that is gone was released.
const TTL: Duration = Duration::from_secs(300);

struct Stage<'a, E> {
    executor: &'a E,
    server: Server,
    /// Who looks whether the lock is free, and stays connected.
    other: Client,
    alone: BTreeMap<String, String>,
}

impl<'a, E: Executor> Stage<'a, E> {
    fn new(executor: &'a E) -> Self {
        Self::on(Server::redis7(), executor)
    }

    fn on(server: Builder, executor: &'a E) -> Self {
        let server = server.start().expect("a server");
        // It polls: a listener of its own would come and go.
        let polls = Client::builder().url(server.url()).wake(Wake::Poll).build();
        let other = executor.block_on(polls).expect("a client");
        executor.block_on(give_back(take(&other, "warm")));
        let alone = registered(&server);
        Self { executor, server, other, alone }
    }

    fn client(&self) -> Client {
        self.executor.block_on(connect(&self.server.url()))
    }

    /// Whoever waits for `k` gets it, long before its TTL has passed.
    async fn soon_free(&self) {
        give_back(take(&self.other, "k")).await;
    }

    /// The client ends: its connections, tasks, registrations and keys are gone with it.
    fn nothing_remains_of(&self, client: Client) {
        assert!(self.executor.block_on(client.close()), "every release is answered");
        drop(client);
        self.nothing_remains();
    }

    fn nothing_remains(&self) {
        let until = Instant::now() + BOUND;
        // The others' runtime has to run for its tasks to end.
        while self.executor.tasks().is_some_and(|tasks| tasks > 1) {
            assert!(Instant::now() < until, "tasks: {:?}", self.executor.tasks());
            self.executor.block_on(executor::yield_once());
        }
        let mut now = registered(&self.server);
        while now != self.alone {
            assert!(Instant::now() < until, "{now:?}, and {:?} before", self.alone);
            self.executor.block_on(executor::yield_once());
            now = registered(&self.server);
        }
        assert_eq!(keys(&self.server), Vec::<String>::new());
    }
}

async fn connect(url: &str) -> Client {
    Client::connect(url).await.expect("a client")
}

async fn take(client: &Client, key: &str) -> LockGuard {
    client.lock(key).ttl(TTL).wait(BOUND).acquire().await.expect("free, or soon is")
}

async fn give_back(guard: impl Future<Output = LockGuard>) {
    assert_eq!(guard.await.release().await.expect("release"), Release::Released);
}

/// What the server knows of its clients.
fn registered(server: &Server) -> BTreeMap<String, String> {
    const FIELDS: [&str; 5] = [
        "connected_clients",
        "blocked_clients",
        "tracking_clients",
        "pubsub_channels",
        "pubsub_patterns",
    ];
    let info: String = redis::cmd("INFO").query(&mut server.cli()).expect("INFO");
    let fields = info.lines().filter_map(|line| line.split_once(':'));
    let of_clients = fields.filter(|(name, _)| FIELDS.contains(name));
    of_clients.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// All keys but that of the counter which the updates are about.
fn keys(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut server.cli()).expect("KEYS");
    keys.retain(|key| key != "counter");
    keys
}

fn o29_an_acquire_leaves_nothing_whichever_poll_was_its_last(executor: &impl Executor) {
    let stage = Stage::new(executor);
    let client = stage.client();
    every_cut(|cut| {
        executor.block_on(async {
            let done = cut.short(client.lock("k").ttl(TTL).acquire()).await;
            let done = done.map(|guard| guard.expect("a free lock")).is_some();
            stage.soon_free().await;
            done
        })
    });
    stage.nothing_remains_of(client);
}

fn o29_an_acquire_that_connects_leaves_nothing_whichever_poll_was_its_last(
    executor: &impl Executor,
) {
    let stage = Stage::new(executor);
    let url = stage.server.url();
    every_cut(|cut| {
        let first = async { connect(&url).await.lock("k").ttl(TTL).acquire().await };
        let done = executor.block_on(async {
            let done = cut.short(first).await.map(|guard| guard.expect("a free lock")).is_some();
            stage.soon_free().await;
            done
        });
        // The client was dropped with the future, wherever it was.
        stage.nothing_remains();
        done
    });
}

fn o29_an_acquire_that_reconnects_leaves_nothing_whichever_poll_was_its_last(
    executor: &impl Executor,
) {
    let stage = Stage::new(executor);
    // What may be under way on two connections is undone a response deadline later once more.
    let response = Duration::from_millis(250);
    every_cut(|cut| {
        let proxy = Proxy::start(stage.server.addr()).expect("a proxy");
        let build = Client::builder().url(proxy.url()).response_deadline(response).build();
        let client = executor.block_on(build).expect("a client");
        proxy.cut();
        let done = executor.block_on(async {
            let done = cut.short(client.lock("k").ttl(TTL).wait(BOUND).acquire()).await;
            let done = done.map(|guard| guard.expect("a free lock")).is_some();
            stage.soon_free().await;
            done
        });
        drop(client);
        stage.nothing_remains();
        done
    });
}

fn o30_a_waiting_acquire_leaves_nothing_whichever_poll_was_its_last(executor: &impl Executor) {
    let stage = Stage::new(executor);
    let client = stage.client();
    every_cut(|cut| {
        executor.block_on(async {
            let holder = take(&stage.other, "k").await;
            let lock = client.lock("k").ttl(TTL).wait(Duration::from_millis(200));
            let done = cut.short(lock.acquire()).await;
            assert!(matches!(done, None | Some(Err(tairlock::Error::TimedOut { .. }))));
            give_back(std::future::ready(holder)).await;
            stage.soon_free().await;
            // Nobody is left in the line of that client either.
            give_back(take(&client, "k")).await;
            done.is_some()
        })
    });
    stage.nothing_remains_of(client);
}

fn t4_a_release_goes_on_whichever_poll_was_its_last(executor: &impl Executor) {
    let stage = Stage::new(executor);
    let client = stage.client();
    every_cut(|cut| {
        executor.block_on(async {
            let guard = take(&client, "k").await;
            let lease = guard.lease().clone();
            let done = cut.short(guard.release()).await;
            assert!(!lease.is_held(), "given back, whatever came of it");
            stage.soon_free().await;
            assert!(matches!(done, None | Some(Ok(Release::Released))), "{done:?}");
            done.is_some()
        })
    });
    stage.nothing_remains_of(client);
}

fn t4_an_update_is_done_or_not_whichever_poll_was_its_last(executor: &impl Executor) {
    let stage = Stage::new(executor);
    let client = stage.client();
    let counter: Versioned<i64> = client.versioned::<i64>("counter").integer();
    executor.block_on(counter.create(&0)).expect("create");
    let mut before = 0;
    every_cut(|cut| {
        executor.block_on(async {
            let add = counter.update(|count| {
                *count += 1;
                Ok::<_, tairlock::Error>(())
            });
            let done = cut.short(add).await.map(|updated| updated.expect("update")).is_some();
            // The line of updates in this client is not blocked, and what it remembers is not false.
            let after = counter
                .update(|count| Ok::<_, tairlock::Error>(std::mem::replace(count, *count + 1)));
            let after = after.await.expect("update");
            let added = after - before;
            assert!(added == 1 || (added == 0 && !done), "{added} by {cut:?}");
            before = after + 1;
            done
        })
    });
    drop(counter);
    stage.nothing_remains_of(client);
}

fn o27_close_goes_on_whichever_poll_was_its_last(executor: &impl Executor) {
    let stage = Stage::new(executor);
    every_cut(|cut| {
        let client = stage.client();
        let done = executor.block_on(async {
            let guards = (take(&client, "k").await, take(&client, "also").await);
            let done = cut.short(client.close()).await.is_some();
            assert!(!guards.0.is_held() && !guards.1.is_held(), "closing began at the first poll");
            stage.soon_free().await;
            drop(guards);
            done
        });
        stage.nothing_remains_of(client);
        done
    });
}

fn o22_a_guard_dropped_during_its_renewal_is_renewed_no_more(executor: &impl Executor) {
    // Renewal is one command there, and not that of the release.
    let stage = Stage::on(Server::valkey9(), executor);
    let proxy = Proxy::start(stage.server.addr()).expect("a proxy");
    let late = Fault::Delay(Duration::from_millis(500));
    for fault in [late, Fault::Swallow, Fault::SwallowAndCut, Fault::LoseRequest] {
        for client_too in [false, true] {
            let client = executor.block_on(connect(&proxy.url()));
            let lock = client.lock("k").ttl(Duration::from_millis(1_500));
            let guard = executor.block_on(lock.acquire()).expect("a free lock");
            proxy.clear();
            proxy.once("SET k", fault.clone());
            assert!(proxy.wait_for("SET k", 1, BOUND), "renewed");
            drop((guard, lock));
            if client_too {
                drop(client);
                executor.block_on(stage.soon_free());
                stage.nothing_remains();
            } else {
                executor.block_on(stage.soon_free());
                stage.nothing_remains_of(client);
            }
            assert_eq!(proxy.count("SET k"), 1, "{fault:?}: {:?}", proxy.texts());
        }
    }
}

fn o28_the_callers_own_connection_answers_in_step(executor: &impl Executor) {
    let stage = Stage::new(executor);
    let url = stage.server.url();
    let opened = redis::Client::open(url).expect("an address");
    let connect = async { opened.get_multiplexed_async_connection().await };
    let mut own = executor.block_on(connect).expect("a connection");
    let build = Client::builder().connection(own.clone()).build();
    let client = executor.block_on(build).expect("a client");
    let mut number = 0_u32;
    every_cut(|cut| {
        executor.block_on(async {
            let done = cut.short(client.lock("k").ttl(TTL).acquire()).await;
            number += 1;
            let echo: u32 =
                redis::cmd("ECHO").arg(number).query_async(&mut own).await.expect("echo");
            assert_eq!(echo, number, "its own reply, and no other: {cut:?}");
            let done = done.map(|guard| guard.expect("a free lock")).is_some();
            stage.soon_free().await;
            done
        })
    });
    drop(own);
    stage.nothing_remains_of(client);
}
