//! A function under the attribute that cannot get its lock never runs its body: for every error there is,
//! on real servers where they can be brought to it, in async and in blocking code.

use std::{
    any::Any,
    sync::Arc,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tairlock::{Confirm, Error, FaultKind, distributed_lock};
use tairlock_tests::{Proxy, Server, proxy::Fault};

static RUNS: AtomicU32 = AtomicU32::new(0);

#[distributed_lock(key = "denied", ttl = "300ms", wait = "300ms", using = client)]
async fn body(client: &tairlock::Client) -> Result<(), Error> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

#[distributed_lock(keys = ["denied:too", "denied"], ttl = "300ms", wait = "300ms", using = client)]
async fn several(client: &tairlock::Client) -> Result<(), Error> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

#[distributed_lock(key = "denied", ttl = "300ms", on_busy = skip, using = client)]
async fn skipped(client: &tairlock::Client) {
    RUNS.fetch_add(1, Ordering::Relaxed);
}

#[distributed_lock(key = "denied", ttl = "300ms", wait = "300ms", using = client)]
fn body_blocking(client: &tairlock_sync::Client) -> Result<(), Error> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// A server and what stands in front of it, which has something to say against locks.
struct Trouble {
    url: String,
    /// What makes it so, once clients are connected.
    begin: Box<dyn FnOnce()>,
    _alive: Box<dyn Any>,
}

fn proxied(words: &'static str, fault: Fault) -> Trouble {
    let server = Server::redis7().start().expect("a server");
    let proxy = Arc::new(Proxy::start(server.addr()).expect("a proxy"));
    let (url, alive) = (proxy.url(), Arc::clone(&proxy));
    Trouble {
        url,
        begin: Box::new(move || proxy.always(words, fault)),
        _alive: Box::new((alive, server)),
    }
}

fn answered(reply: &str) -> Trouble {
    proxied("SET", Fault::Answer(format!("{reply}\r\n").into_bytes()))
}

fn told(server: Server, words: &'static [&'static str]) -> Trouble {
    let (url, mut cli) = (server.url(), server.cli());
    let begin = move || redis::cmd(words[0]).arg(&words[1..]).exec(&mut cli).expect("a command");
    Trouble { url, begin: Box::new(begin), _alive: Box::new(server) }
}

fn trouble(kind: FaultKind) -> Trouble {
    let start = || Server::redis7().start().expect("a server");
    match kind {
        FaultKind::Unreachable => {
            let mut server = start();
            Trouble {
                url: server.url(),
                begin: Box::new(move || server.kill()),
                _alive: Box::new(()),
            }
        }
        FaultKind::NoReply => proxied("SET", Fault::Swallow),
        FaultKind::Auth => {
            let server = start();
            let url = server.url();
            let mut cli = server.cli();
            let begin = move || {
                let config = ["SET", "requirepass", "right"];
                redis::cmd("CONFIG").arg(&config).exec(&mut cli).expect("CONFIG SET");
                redis::cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]).exec(&mut cli).expect("KILL");
            };
            Trouble { url, begin: Box::new(begin), _alive: Box::new(server) }
        }
        FaultKind::Permission => {
            let rules = "worker on >secret ~other:* +set +get +hello +ping +select +client";
            let server = Server::redis7().user(rules).start().expect("a server");
            let url = format!("redis://worker:secret@127.0.0.1:{}/", server.port());
            Trouble { url, begin: Box::new(|| ()), _alive: Box::new(server) }
        }
        FaultKind::ReadOnly => told(start(), &["REPLICAOF", "127.0.0.1", "1"]),
        FaultKind::NotReady => answered("-LOADING Redis is loading the dataset in memory"),
        FaultKind::OutOfMemory => told(start(), &["CONFIG", "SET", "maxmemory", "1"]),
        FaultKind::WrongType => told(start(), &["LPUSH", "denied", "x"]),
        FaultKind::Cluster => {
            let server = Server::redis7().cluster().start().expect("a server");
            Trouble { url: server.url(), begin: Box::new(|| ()), _alive: Box::new(server) }
        }
        FaultKind::Unsupported => proxied("SET", Fault::Unknown),
        FaultKind::Protocol => answered(":7"),
        FaultKind::Server => answered("-ERR something new"),
        other => panic!("{other:?}"),
    }
}

/// All but [`FaultKind::Config`], which connecting meets, before there is a client.
const FAULTS: [FaultKind; 12] = [
    FaultKind::Unreachable,
    FaultKind::NoReply,
    FaultKind::Auth,
    FaultKind::Permission,
    FaultKind::ReadOnly,
    FaultKind::NotReady,
    FaultKind::OutOfMemory,
    FaultKind::WrongType,
    FaultKind::Cluster,
    FaultKind::Unsupported,
    FaultKind::Protocol,
    FaultKind::Server,
];

#[track_caller]
fn is_fault(outcome: Result<(), Error>, kind: FaultKind) {
    let error = outcome.expect_err("the body ran");
    assert!(!error.is_busy(), "{kind:?}: {error}");
    let found = error.fault().map(tairlock::Fault::kind);
    // A missing reply costs the connection, and the next one meets the same silence.
    let silent = kind == FaultKind::NoReply && found == Some(FaultKind::Unreachable);
    assert!(silent || found == Some(kind), "{kind:?}: {error}");
}

#[test]
fn no_body_runs_whatever_is_wrong() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for kind in FAULTS {
        let Trouble { url, begin, _alive } = trouble(kind);
        let connected = runtime.block_on(tairlock::Client::connect(&url)).expect("a client");
        let blocking = tairlock_sync::Client::connect(&url).expect("a client");
        begin();
        is_fault(runtime.block_on(body(&connected)), kind);
        is_fault(runtime.block_on(several(&connected)), kind);
        runtime.block_on(skipped(&connected));
        is_fault(body_blocking(&blocking), kind);
    }
    without_copies(&runtime);
    without_a_quorum(&runtime);
    without_a_server(&runtime);
    assert_eq!(RUNS.load(Ordering::Relaxed), 0, "a body ran without its lock");
}

/// A server that has no replica to confirm the lock.
fn without_copies(runtime: &tokio::runtime::Runtime) {
    const BY_ONE: Confirm = Confirm::replicas(1).within(Duration::from_millis(100));

    #[distributed_lock(key = "denied", wait = 0, confirm = BY_ONE, using = client)]
    async fn confirmed(client: &tairlock::Client) -> Result<(), Error> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    #[distributed_lock(key = "denied", wait = 0, confirm = BY_ONE, using = client)]
    fn confirmed_blocking(client: &tairlock_sync::Client) -> Result<(), Error> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    let server = Server::redis7().start().expect("a server");
    let client = runtime.block_on(tairlock::Client::connect(server.url())).expect("a client");
    let blocking = tairlock_sync::Client::connect(server.url()).expect("a client");
    let error = runtime.block_on(confirmed(&client)).expect_err("the body ran");
    assert!(matches!(error, Error::NotReplicated { .. }), "{error}");
    let error = confirmed_blocking(&blocking).expect_err("the body ran");
    assert!(matches!(error, Error::NotReplicated { .. }), "{error}");
}

/// Three servers of which two are gone.
fn without_a_quorum(runtime: &tokio::runtime::Runtime) {
    let mut servers = [(); 3].map(|()| Server::redis7().start().expect("a server"));
    let urls: Vec<_> = servers.iter().map(Server::url).collect();
    let client = tairlock::Client::builder().quorum(&urls);
    let client = runtime.block_on(client.build()).expect("a client");
    let blocking = tairlock_sync::Client::builder().quorum(&urls).build().expect("a client");
    servers[1..].iter_mut().for_each(Server::kill);
    let error = runtime.block_on(body(&client)).expect_err("the body ran");
    assert!(matches!(error, Error::NoQuorum { .. }), "{error}");
    let error = body_blocking(&blocking).expect_err("the body ran");
    assert!(matches!(error, Error::NoQuorum { .. }), "{error}");
    runtime.block_on(skipped(&client));
}

/// The errors that are no fault of a server.
fn without_a_server(runtime: &tokio::runtime::Runtime) {
    let (client, blocking) = (tairlock::Client::in_memory(), tairlock_sync::Client::in_memory());
    let held = runtime.block_on(client.lock("denied").acquire()).expect("free");
    let held_blocking = blocking.lock("denied").acquire().expect("free");
    assert!(matches!(runtime.block_on(body(&client)), Err(Error::TimedOut { .. })));
    assert!(matches!(runtime.block_on(several(&client)), Err(Error::TimedOut { .. })));
    assert!(matches!(body_blocking(&blocking), Err(Error::TimedOut { .. })));
    runtime.block_on(skipped(&client));

    #[distributed_lock(key = "denied", wait = 0, using = client)]
    async fn busy(client: &tairlock::Client) -> Result<(), Error> {
        body(client).await
    }
    #[distributed_lock(key = key, ttl = ttl, using = client)]
    async fn config(client: &tairlock::Client, key: &[u8], ttl: Duration) -> Result<(), Error> {
        body(client).await
    }
    #[distributed_lock(keys = keys, using = client)]
    fn config_blocking(client: &tairlock_sync::Client, keys: &[&[u8]]) -> Result<(), Error> {
        body_blocking(client)
    }
    assert!(matches!(runtime.block_on(busy(&client)), Err(Error::Busy { .. })));
    let long = vec![b'k'; tairlock::Key::MAX_LEN + 1];
    let second = Duration::from_secs(1);
    for (key, ttl) in [(&b""[..], second), (&long, second), (b"k", Duration::ZERO)] {
        assert!(matches!(runtime.block_on(config(&client, key, ttl)), Err(Error::Config(_))));
    }
    for keys in [&[][..], &[&b"k"[..], b""], &[&long]] {
        assert!(matches!(config_blocking(&blocking, keys), Err(Error::Config(_))));
    }
    drop((held, held_blocking));

    #[distributed_lock(key = "denied", using = client)]
    async fn outer(client: &tairlock::Client) -> Result<(), Error> {
        body(client).await
    }
    assert!(matches!(runtime.block_on(outer(&client)), Err(Error::WouldDeadlock { .. })));

    #[distributed_lock(key = "denied")]
    async fn no_default() -> Result<(), Error> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    #[distributed_lock(keys = ["denied"])]
    fn no_default_blocking() -> Result<(), Error> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    assert!(matches!(runtime.block_on(no_default()), Err(Error::NoDefaultClient)));
    assert!(matches!(no_default_blocking(), Err(Error::NoDefaultClient)));

    runtime.block_on(client.close());
    blocking.close();
    assert!(matches!(runtime.block_on(body(&client)), Err(Error::Closed)));
    assert!(matches!(runtime.block_on(several(&client)), Err(Error::Closed)));
    assert!(matches!(body_blocking(&blocking), Err(Error::Closed)));
    runtime.block_on(skipped(&client));
}
