//! A [`World`] is one of tairlock's drivers behind one face, so that a law is written once.

#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
mod asynchronous;
mod values;

use std::{sync::Arc, time::Duration};

use tairlock::{Confirm, Error, Holder, Lease, Release, Written, doctor::Report};
pub use values::{Change, Value, Wish};

/// The lock that `$ask` asks `$client` for.
macro_rules! asked {
    ($client:expr, $ask:expr) => {{
        let ask: &super::Ask = $ask;
        let mut lock = $client.lock(&ask.key).ttl(ask.ttl).wait(ask.wait).renew(ask.renew);
        lock = lock.fence(ask.fence);
        if let Some(name) = ask.name {
            lock = lock.name(name);
        }
        if let Some(max) = ask.max_hold {
            lock = lock.max_hold(max);
        }
        if let Some(min) = ask.min_hold {
            lock = lock.min_hold(min);
        }
        if let Some(confirm) = ask.confirm {
            lock = lock.confirm(confirm);
        }
        lock
    }};
}
use asked;

use crate::place::{At, Place};

/// Declares the worlds: a module each, [`all`] of them, and `for_each_world!`. The first argument is a
/// dollar sign, for the macro that this one makes.
macro_rules! worlds {
    ($d:tt $($(#[$with:meta])* $module:ident: $World:ident,)*) => {
        $($(#[$with])* mod $module; $(#[$with])* pub use $module::$World;)*

        /// Every driver, each in a runtime of its own.
        #[must_use]
        pub fn all() -> Vec<Arc<dyn World>> {
            let all: &[Arc<dyn World>] = &[$($(#[$with])* Arc::new($World::default()),)*];
            all.to_vec()
        }

        /// Makes a test of each function for each driver.
        #[macro_export]
        macro_rules! for_each_world {
            ($d($d name:ident),* $d(,)?) => {
                $($(#[$with])* mod $module {
                    $d(#[test] fn $d name() {
                        super::$d name(&$crate::world::$World::default());
                    })*
                })*
            };
        }
    };
}

// A driver is a file in this folder, and a line here.
worlds! { $
    #[cfg(feature = "tokio")] tokio: Tokio,
    #[cfg(feature = "smol")] smol: Smol,
    #[cfg(feature = "async-std")] async_std: AsyncStd,
    blocking: Blocking,
}

/// A driver.
pub trait World: Send + Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// A new client at `place`.
    fn client(&self, place: &Place, config: &Config) -> Result<Box<dyn Locks>, Error>;
}

/// What a client is told, besides where the server is.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// In front of every key.
    pub prefix: Vec<u8>,
    /// In every token.
    pub label: Option<&'static str>,
    /// Instead of the place's own address.
    pub url: Option<String>,
    /// The same, of several servers.
    pub at: Option<At>,
    /// Instead of the default response deadline.
    pub response: Option<Duration>,
    /// It polls for locks that others hold.
    pub polls: bool,
    /// What its locks are confirmed by.
    pub confirm: Option<Confirm>,
}

impl Config {
    fn at(&self) -> Option<At> {
        self.url.clone().map(At::Url).or_else(|| self.at.clone())
    }
}

/// A client.
pub trait Locks: Send + Sync {
    /// Another handle on the same client.
    fn another(&self) -> Box<dyn Locks>;

    /// As the driver's `acquire`.
    fn acquire(&self, ask: &Ask) -> Result<Box<dyn Held>, Error>;

    /// As the driver's `try_acquire`.
    fn try_acquire(&self, ask: &Ask) -> Result<Option<Box<dyn Held>>, Error>;

    /// As the driver's `inspect`.
    fn inspect(&self, key: &[u8]) -> Result<Option<Holder>, Error>;

    /// As the driver's `force_release`.
    fn force_release(&self, key: &[u8]) -> Result<Option<Holder>, Error>;

    /// As `get` of the driver's `fenced`, as bytes.
    fn fenced_get(&self, key: &[u8]) -> Result<Option<Written<Vec<u8>>>, Error>;

    /// As `set` of the driver's `fenced`, as bytes.
    fn fenced_set(&self, key: &[u8], value: &[u8], fence: u64) -> Result<(), Error>;

    /// A handle on a versioned value, as the driver's `versioned`.
    fn value(&self, wish: &Wish) -> Box<dyn Value>;

    /// As the driver's `doctor`.
    fn doctor(&self) -> Result<Report, Error>;

    /// As the driver's `close`.
    fn close(&self) -> bool;
}

/// A guard; dropping it is dropping the guard.
pub trait Held: Send {
    /// The guard's lease.
    fn lease(&self) -> &Lease;

    /// As the guard's `fence`.
    fn fence(&self) -> Option<u64>;

    /// As the guard's `release`.
    fn release(self: Box<Self>) -> Result<Release, Error>;
}

/// A lock as it is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The key, without the client's prefix.
    pub key: Vec<u8>,
    /// See the driver's `Lock`.
    pub ttl: Duration,
    /// See the driver's `Lock`.
    pub wait: Duration,
    /// See the driver's `Lock`.
    pub renew: bool,
    /// See the driver's `Lock`.
    pub fence: bool,
    /// See the driver's `Lock`.
    pub max_hold: Option<Duration>,
    /// See the driver's `Lock`.
    pub min_hold: Option<Duration>,
    /// See the driver's `Lock`.
    pub confirm: Option<Confirm>,
    /// See the driver's `Lock`.
    pub name: Option<&'static str>,
}

impl Ask {
    /// A lease of 10 s, renewed, without waiting.
    #[must_use]
    pub fn new(key: impl AsRef<[u8]>) -> Self {
        let (ttl, wait) = (Duration::from_secs(10), Duration::ZERO);
        let (max_hold, min_hold) = (None, None);
        Self {
            key: key.as_ref().to_vec(),
            ttl,
            wait,
            renew: true,
            fence: false,
            max_hold,
            min_hold,
            confirm: None,
            name: None,
        }
    }

    /// Under this name in spans and metrics.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// With this TTL, in milliseconds.
    #[must_use]
    pub fn ttl(self, ms: u64) -> Self {
        Self { ttl: Duration::from_millis(ms), ..self }
    }

    /// With this wait, in milliseconds.
    #[must_use]
    pub fn wait(self, ms: u64) -> Self {
        Self { wait: Duration::from_millis(ms), ..self }
    }

    /// With a fence.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self { fence: true, ..self }
    }

    /// Held for so many milliseconds at most.
    #[must_use]
    pub fn max_hold(self, ms: u64) -> Self {
        Self { max_hold: Some(Duration::from_millis(ms)), ..self }
    }

    /// Held for so many milliseconds at least.
    #[must_use]
    pub fn min_hold(self, ms: u64) -> Self {
        Self { min_hold: Some(Duration::from_millis(ms)), ..self }
    }

    /// Confirmed so.
    #[must_use]
    pub fn confirm(self, confirm: Confirm) -> Self {
        Self { confirm: Some(confirm), ..self }
    }

    /// Not to be renewed.
    #[must_use]
    pub fn fixed(self) -> Self {
        Self { renew: false, ..self }
    }
}
