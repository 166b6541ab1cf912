//! Confirmation where a test needs the drivers themselves: whose connections, calls that are dropped, attributes.

use std::time::{Duration, Instant};

use tairlock::{Client, Confirm, Error, FaultKind, distributed_lock};
use tairlock_tests::{Proxy, Server, fleet::Replicated};

/// Far more than anything here takes.
const BOUND: Duration = Duration::from_secs(10);

const BY_ONE: Confirm = Confirm::replicas(1).within(Duration::from_millis(300));

struct Stage {
    fleet: Replicated,
    proxy: Proxy,
}

fn stage() -> Stage {
    let fleet = Replicated::start(Server::redis7, 1).expect("a replica");
    let proxy = Proxy::start(fleet.primary().addr()).expect("a proxy");
    Stage { fleet, proxy }
}

impl Stage {
    fn exists(&self, key: &str) -> bool {
        redis::cmd("EXISTS").arg(key).query(&mut self.fleet.primary().cli()).expect("EXISTS")
    }

    async fn client(&self) -> Client {
        Client::connect(self.proxy.url()).await.expect("a client")
    }
}

fn assert_unsupported(error: &Error, says: &str) {
    assert_eq!(error.fault().map(tairlock::Fault::kind), Some(FaultKind::Unsupported), "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

#[tokio::test]
async fn the_callers_own_connection_confirms_nothing() {
    let stage = stage();
    let redis = redis::Client::open(stage.proxy.url()).expect("a URL");
    let connection = redis.get_multiplexed_async_connection().await.expect("a connection");
    let manager = redis.get_connection_manager().await.expect("a connection");
    for builder in
        [Client::builder().connection(connection), Client::builder().connection_manager(manager)]
    {
        let client = builder.confirm(BY_ONE).build().await.expect("a client");
        let error = client.lock("k").try_acquire().await.map(drop).expect_err("confirmed");
        assert_unsupported(&error, "`url` or `redis_client`");
        assert_eq!(stage.proxy.count("SET k"), 0, "{:?}", stage.proxy.texts());
        let plain = client.lock("k").confirm(Confirm::none()).acquire().await.expect("free");
        assert!(plain.release().await.expect("release").was_held());
        stage.proxy.clear();
    }
}

#[test]
fn the_callers_own_pool_confirms_with_connections_beside_it() {
    let stage = stage();
    let redis = redis::Client::open(stage.proxy.url()).expect("a URL");
    let pool = || {
        let pool = r2d2::Pool::builder().max_size(2).test_on_check_out(false);
        pool.build(redis.clone()).expect("a pool")
    };
    let alone = tairlock_sync::Client::builder().pool(pool()).build().expect("a client");
    let error = alone.lock("k").confirm(BY_ONE).try_acquire().map(drop).expect_err("confirmed");
    assert_unsupported(&error, "beside the pool");
    assert_eq!(stage.proxy.count("SET k"), 0, "{:?}", stage.proxy.texts());

    let beside = tairlock_sync::Client::builder().pool(pool()).redis_client(redis.clone());
    let client = beside.confirm(BY_ONE).build().expect("a client");
    let guard = client.lock("k").ttl(Duration::from_millis(900)).acquire().expect("free");
    assert!(stage.proxy.wait_for("WAIT 1 300", 3, BOUND), "{:?}", stage.proxy.texts());
    assert!(guard.is_held());
    stage.fleet.link(0).stall();
    let error = client.lock("other").acquire().map(drop).expect_err("no replica");
    assert!(matches!(error, Error::NotReplicated { .. }), "{error}");
    // The connection is what it was: another user of the pool may wait for longer than copies had.
    stage.fleet.link(0).mend();
    drop(client.lock("other").acquire().expect("free"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_that_is_dropped_while_it_waits_leaves_nothing() {
    let stage = stage();
    let client = stage.client().await;
    // So that the connection is there.
    drop(client.lock("k").confirm(BY_ONE).acquire().await.expect("free"));
    stage.fleet.link(0).stall();
    let long = Confirm::replicas(1).within(Duration::from_secs(3));
    let attempt = tokio::spawn({
        let lock = client.lock("k").confirm(long);
        async move { lock.acquire().await.map(drop) }
    });
    assert!(stage.proxy.wait_for("WAIT 1 3000", 1, BOUND), "{:?}", stage.proxy.texts());
    assert!(stage.exists("k"));
    attempt.abort();
    assert!(attempt.await.expect_err("dropped").is_cancelled());
    // At once, and not when the time of the copies is over.
    let began = Instant::now();
    while stage.exists("k") {
        assert!(began.elapsed() < Duration::from_secs(1), "the key stays");
    }
    stage.fleet.link(0).mend();
    drop(client.lock("k").confirm(BY_ONE).wait(BOUND).acquire().await.expect("free"));
}

/// More callers than connections: all are served, and none longer than its turn takes.
#[tokio::test(flavor = "multi_thread")]
async fn many_share_a_few_connections() {
    let stage = stage();
    let client = stage.client().await;
    let tasks: Vec<_> = (0..100)
        .map(|task| {
            let lock = client.lock(format!("k{task}")).confirm(BY_ONE);
            tokio::spawn(async move { lock.acquire().await?.release().await })
        })
        .collect();
    for task in tasks {
        let released = task.await.expect("no panic").unwrap_or_else(|error| panic!("{error}"));
        assert!(released.was_held());
    }
    // The client's own, and its keeper's, beside those that are waited on.
    assert!(stage.proxy.accepted() <= 8 + 2, "{} connections", stage.proxy.accepted());
}

#[tokio::test]
async fn the_attribute_confirms() {
    #[distributed_lock(key = "attribute:{id}", confirm = BY_ONE, using = client, wait = 0)]
    async fn run(client: &Client, id: u64) -> Result<u64, Error> {
        Ok(id)
    }
    let stage = stage();
    let client = stage.client().await;
    assert_eq!(run(&client, 7).await.expect("confirmed"), 7);
    assert_eq!(stage.proxy.count("WAIT 1 300"), 1, "{:?}", stage.proxy.texts());
    let error = run(&Client::in_memory(), 7).await.expect_err("no replicas");
    assert_unsupported(&error, "no replicas");
}

#[test]
fn the_attribute_on_a_plain_function_confirms() {
    #[tairlock_sync::distributed_lock(
        key = "plain:{id}",
        confirm = Confirm::replicas(2).within(Duration::from_millis(100)),
        using = client,
    )]
    fn run(client: &tairlock_sync::Client, id: u64) -> Result<u64, Error> {
        Ok(id)
    }
    let stage = stage();
    let client = tairlock_sync::Client::connect(stage.proxy.url()).expect("a client");
    let error = run(&client, 7).expect_err("there is one");
    assert!(matches!(error, Error::NotReplicated { acked: 1, wanted: 2, .. }), "{error}");
}
