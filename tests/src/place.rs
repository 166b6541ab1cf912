//! A [`Place`] is where locks are kept for a test, and a way to look at it that is not tairlock's.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tairlock::{Key, Token, Ttl, memory::SharedStore, proto::Op, time};

use crate::server::{Builder, Server};

/// Where locks are kept: the embedded server, or a real one that starts when it is first needed.
pub enum Place {
    /// The embedded server.
    Memory(Arc<SharedStore>),
    /// A real server.
    Real(Box<Lazy>),
}

/// A server that starts when it is first needed, and a connection to look at it with.
pub struct Lazy {
    start: fn() -> Builder,
    protocol: Protocol,
    up: OnceLock<(Server, Mutex<redis::Connection>)>,
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
        Self::Real(Box::new(Lazy { start, protocol, up: OnceLock::new() }))
    }

    /// Where clients find it; `None` for the embedded server, which has no address.
    #[must_use]
    pub fn url(&self) -> Option<String> {
        match self {
            Self::Memory(_) => None,
            Self::Real(real) => {
                let url = real.up().0.url();
                Some(if real.protocol == Protocol::Resp3 { url + "?protocol=resp3" } else { url })
            }
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
            Self::Real(real) => real.ask(redis::cmd("GET").arg(key)),
        }
    }

    /// Whether anything is under `key`.
    #[must_use]
    pub fn exists(&self, key: &[u8]) -> bool {
        match self {
            Self::Memory(store) => {
                store.with(|store| !matches!(store.token(&named(key), time::now()), Ok(None)))
            }
            Self::Real(real) => real.ask(redis::cmd("EXISTS").arg(key)),
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
            Self::Real(real) => match real.ask::<i64>(redis::cmd("PTTL").arg(key)) {
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
            Self::Real(real) => real.ask(redis::cmd("DEL").arg(key)),
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
            Self::Real(real) => real.ask(redis::cmd("SET").arg(key).arg(token).arg("EX").arg(60)),
        }
    }

    /// Puts something under `key` that is no lock.
    pub fn put_foreign(&self, key: &[u8]) {
        match self {
            Self::Memory(store) => store.with(|store| store.put_foreign(named(key))),
            Self::Real(real) => real.ask(redis::cmd("HSET").arg(key).arg("field").arg("value")),
        }
    }

    /// The real server, where it is one.
    #[must_use]
    pub fn server(&self) -> Option<&Server> {
        match self {
            Self::Memory(_) => None,
            Self::Real(real) => Some(&real.up().0),
        }
    }
}

impl Lazy {
    fn up(&self) -> &(Server, Mutex<redis::Connection>) {
        self.up.get_or_init(|| {
            let server = (self.start)().start().unwrap_or_else(|error| panic!("{error}"));
            let looking = Mutex::new(server.cli());
            (server, looking)
        })
    }

    fn ask<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> T {
        let mut connection = self.up().1.lock().unwrap_or_else(PoisonError::into_inner);
        command
            .query(&mut connection)
            .unwrap_or_else(|error| panic!("looking at the server: {error}"))
    }
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
