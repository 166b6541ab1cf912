//! A [`Place`] is where locks are kept for a test, and a way to look at it that is not tairlock's.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tairlock::{Confirm, Key, Token, Ttl, memory::SharedStore, proto::Op, time};

use crate::{
    fleet::{Cluster, Replicated, Sentinels},
    server::{Builder, Server},
};

/// Where locks are kept: the embedded server, or a real one that starts when it is first needed.
pub enum Place {
    /// The embedded server.
    Memory(Arc<SharedStore>),
    /// A real server.
    Real(Box<Lazy>),
}

/// A server, or several, that start when they are first needed, and connections to look at them with.
pub struct Lazy {
    start: fn() -> Builder,
    kind: Kind,
    protocol: Protocol,
    up: OnceLock<(Up, Vec<Looking>)>,
}

/// A connection to look with.
type Looking = Mutex<Box<dyn redis::ConnectionLike + Send>>;

/// What clients connect to.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Server,
    Cluster,
    Sentinels,
    Replicated,
    Quorum,
}

enum Up {
    Server(Server),
    Cluster(Cluster),
    Sentinels(Sentinels),
    Replicated(Replicated),
    Quorum(Vec<Server>),
}

/// Where a client is told to find its server.
#[derive(Clone, Debug)]
pub enum At {
    /// In this process.
    Store(Arc<SharedStore>),
    /// At this URL.
    Url(String),
    /// In the cluster of these.
    Cluster(Vec<String>),
    /// Where these sentinels say it is, under this name or as this URL says.
    Sentinel(String, Vec<String>),
    /// On a quorum of these.
    Quorum(Vec<String>),
}

/// What clients speak to a real server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The older one, and every client's default.
    Resp2,
    /// The newer one.
    Resp3,
}

impl Place {
    /// An embedded server of its own.
    #[must_use]
    pub fn memory() -> Self {
        Self::Memory(Arc::default())
    }

    /// A real server.
    #[must_use]
    pub fn real(start: fn() -> Builder, protocol: Protocol) -> Self {
        Self::lazy(Kind::Server, start, protocol)
    }

    /// A cluster of six.
    #[must_use]
    pub fn cluster(start: fn() -> Builder, protocol: Protocol) -> Self {
        Self::lazy(Kind::Cluster, start, protocol)
    }

    /// The primary of two servers that three sentinels watch.
    #[must_use]
    pub fn sentinels(start: fn() -> Builder, protocol: Protocol) -> Self {
        Self::lazy(Kind::Sentinels, start, protocol)
    }

    /// A primary whose replica confirms each grant and each renewal.
    #[must_use]
    pub fn confirmed(start: fn() -> Builder, protocol: Protocol) -> Self {
        Self::lazy(Kind::Replicated, start, protocol)
    }

    /// A quorum of three.
    #[must_use]
    pub fn quorum(start: fn() -> Builder, protocol: Protocol) -> Self {
        Self::lazy(Kind::Quorum, start, protocol)
    }

    /// Whether it is several servers for locks and nothing else.
    #[must_use]
    pub fn is_quorum(&self) -> bool {
        matches!(self, Self::Real(real) if matches!(real.kind, Kind::Quorum))
    }

    /// What its locks are confirmed by.
    #[must_use]
    pub fn confirm(&self) -> Option<Confirm> {
        let confirmed = matches!(self, Self::Real(real) if matches!(real.kind, Kind::Replicated));
        confirmed.then(|| Confirm::replicas(1))
    }

    fn lazy(kind: Kind, start: fn() -> Builder, protocol: Protocol) -> Self {
        Self::Real(Box::new(Lazy { start, kind, protocol, up: OnceLock::new() }))
    }

    /// Where clients find it.
    #[must_use]
    pub fn at(&self) -> At {
        match self {
            Self::Memory(store) => At::Store(Arc::clone(store)),
            Self::Real(real) => real.at(),
        }
    }

    /// The bytes under `key`, if it is there and holds a string.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Memory(store) => store.with(|store| {
                let token = store.token(&named(key), time::now());
                token.expect("a lock").map(|token| token.as_bytes().to_vec())
            }),
            Self::Real(real) => most(real.ask(redis::cmd("GET").arg(key))),
        }
    }

    /// Whether anything is under `key`.
    #[must_use]
    pub fn exists(&self, key: &[u8]) -> bool {
        match self {
            Self::Memory(store) => {
                store.with(|store| !matches!(store.token(&named(key), time::now()), Ok(None)))
            }
            Self::Real(real) => real.ask(redis::cmd("EXISTS").arg(key)).contains(&true),
        }
    }

    /// How long `key` has yet to live; `None` if it is gone, [`Duration::MAX`] if it is immortal.
    #[must_use]
    pub fn ttl(&self, key: &[u8]) -> Option<Duration> {
        match self {
            Self::Memory(store) => {
                let now = time::now();
                store.with(|store| store.expires(&named(key), now)).map(|at| at.since(now))
            }
            Self::Real(real) => match most(real.ask::<i64>(redis::cmd("PTTL").arg(key))) {
                -2 => None,
                -1 => Some(Duration::MAX),
                ms => Some(Duration::from_millis(ms.unsigned_abs())),
            },
        }
    }

    /// Deletes `key`, as an operator might.
    pub fn delete(&self, key: &[u8]) {
        match self {
            Self::Memory(store) => {
                store.with(|store| store.delete(&named(key), time::now()));
            }
            Self::Real(real) => real.say(redis::cmd("DEL").arg(key)),
        }
    }

    /// Puts another holder's token under `key`, for a minute, whatever was there.
    pub fn steal(&self, key: &[u8], token: &str) {
        match self {
            Self::Memory(store) => {
                let (key, ttl) = (named(key), Ttl::new(Duration::from_secs(60)));
                let (token, ttl) = (Token::from_bytes(token), ttl.expect("a minute is a TTL"));
                store.with(|store| store.delete(&key, time::now()));
                store.apply(&Op::Acquire { key, token, ttl }).expect("a free key can be taken");
            }
            Self::Real(real) => real.say(redis::cmd("SET").arg(key).arg(token).arg("EX").arg(60)),
        }
    }

    /// Puts something under `key` that is no lock.
    pub fn put_foreign(&self, key: &[u8]) {
        match self {
            Self::Memory(store) => store.with(|store| store.put_foreign(named(key))),
            Self::Real(real) => real.say(redis::cmd("HSET").arg(key).arg("field").arg("value")),
        }
    }
}

impl Lazy {
    fn up(&self) -> &(Up, Vec<Looking>) {
        self.up.get_or_init(|| match self.kind {
            Kind::Server => {
                let server = (self.start)().start().unwrap_or_else(|error| panic!("{error}"));
                let looking = look(&server);
                (Up::Server(server), vec![looking])
            }
            Kind::Cluster => {
                let fleet = Cluster::start(self.start).unwrap_or_else(|error| panic!("{error}"));
                let looking = redis::cluster::ClusterClient::new(fleet.urls());
                let looking = looking.and_then(|client| client.get_connection());
                let looking: Looking =
                    Mutex::new(Box::new(looking.unwrap_or_else(|error| panic!("{error}"))));
                (Up::Cluster(fleet), vec![looking])
            }
            Kind::Sentinels => {
                let fleet = Sentinels::start(self.start, 1);
                let fleet = fleet.unwrap_or_else(|error| panic!("{error}"));
                let looking = look(&fleet.servers()[0]);
                (Up::Sentinels(fleet), vec![looking])
            }
            Kind::Replicated => {
                let fleet = Replicated::start(self.start, 1);
                let fleet = fleet.unwrap_or_else(|error| panic!("{error}"));
                let looking = look(fleet.primary());
                (Up::Replicated(fleet), vec![looking])
            }
            Kind::Quorum => {
                let start = |_| (self.start)().start().unwrap_or_else(|error| panic!("{error}"));
                let servers: Vec<Server> = (0..3).map(start).collect();
                let looking = servers.iter().map(look).collect();
                (Up::Quorum(servers), looking)
            }
        })
    }

    fn at(&self) -> At {
        let spoken = match self.protocol {
            Protocol::Resp2 => "",
            Protocol::Resp3 => "?protocol=resp3",
        };
        match &self.up().0 {
            Up::Server(server) => At::Url(server.url() + spoken),
            Up::Cluster(cluster) => {
                At::Cluster(cluster.urls().into_iter().map(|url| url + spoken).collect())
            }
            Up::Sentinels(sentinels) => {
                At::Sentinel(format!("redis://{}/{spoken}", sentinels.name()), sentinels.urls())
            }
            Up::Replicated(fleet) => At::Url(fleet.primary().url() + spoken),
            Up::Quorum(servers) => {
                At::Quorum(servers.iter().map(|server| server.url() + spoken).collect())
            }
        }
    }

    /// What each server that is looked at answers.
    fn ask<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> Vec<T> {
        let ask = |looking: &Looking| {
            let mut connection = looking.lock().unwrap_or_else(PoisonError::into_inner);
            let told = connection.req_command(command).and_then(|told| told.extract_error());
            let told = told.and_then(|told| Ok(redis::from_redis_value(told)?));
            told.unwrap_or_else(|error| panic!("looking at the server: {error}"))
        };
        self.up().1.iter().map(ask).collect()
    }

    fn say(&self, command: &redis::Cmd) {
        self.ask::<redis::Value>(command);
    }
}

fn look(server: &Server) -> Looking {
    Mutex::new(Box::new(server.cli()))
}

/// The one in the middle: where most say the same, that.
fn most<T: Ord>(mut told: Vec<T>) -> T {
    told.sort_unstable();
    told.swap_remove(told.len() / 2)
}

fn named(key: &[u8]) -> Key {
    Key::new(key).expect("tests look at keys that exist")
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory(_) => "memory",
            Self::Real(_) => "a real server",
        })
    }
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lazy")
    }
}
