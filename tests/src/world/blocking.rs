//! The blocking driver.

use tairlock::{doctor::Report, Codec, Error, Holder, Lease, Release, Snapshot, Wake, Written};
use tairlock_sync::{Client, Lock, LockGuard, Versioned};

use super::{
    Ask, Config, Held, Locks, Value, Wish, World,
    values::{told, value},
};
use crate::place::{At, Place};

/// The blocking driver.
#[derive(Debug, Default)]
pub struct Blocking;

impl World for Blocking {
    fn name(&self) -> &'static str {
        "blocking"
    }

    fn client(&self, place: &Place, config: &Config) -> Result<Box<dyn Locks>, Error> {
        let mut builder = Client::builder().prefix(&config.prefix);
        if let Some(label) = config.label {
            builder = builder.label(label);
        }
        if let Some(limit) = config.response {
            builder = builder.response_deadline(limit);
        }
        if config.polls {
            builder = builder.wake(Wake::Poll);
        }
        if let Some(confirm) = config.confirm.or_else(|| place.confirm()) {
            builder = builder.confirm(confirm);
        }
        builder = match config.at().unwrap_or_else(|| place.at()) {
            At::Store(store) => builder.store(store),
            At::Url(url) => builder.url(url),
            At::Cluster(urls) => builder.cluster(urls),
            At::Sentinel(primary, sentinels) => builder.sentinel(primary, sentinels),
            At::Quorum(urls) => builder.quorum(urls),
        };
        Ok(Box::new(BlockingLocks(builder.build()?)))
    }
}

#[derive(Clone)]
struct BlockingLocks(Client);

impl BlockingLocks {
    fn lock(&self, ask: &Ask) -> Lock {
        asked!(self.0, ask)
    }
}

impl Locks for BlockingLocks {
    fn another(&self) -> Box<dyn Locks> {
        Box::new(self.clone())
    }

    fn acquire(&self, ask: &Ask) -> Result<Box<dyn Held>, Error> {
        Ok(Box::new(BlockingHeld(self.lock(ask).acquire()?)))
    }

    fn try_acquire(&self, ask: &Ask) -> Result<Option<Box<dyn Held>>, Error> {
        let guard = self.lock(ask).try_acquire()?;
        Ok(guard.map(|guard| Box::new(BlockingHeld(guard)) as Box<dyn Held>))
    }

    fn inspect(&self, key: &[u8]) -> Result<Option<Holder>, Error> {
        self.0.inspect(key)
    }

    fn force_release(&self, key: &[u8]) -> Result<Option<Holder>, Error> {
        self.0.force_release(key)
    }

    fn fenced_get(&self, key: &[u8]) -> Result<Option<Written<Vec<u8>>>, Error> {
        self.0.fenced_with(key, Codec::BYTES).get()
    }

    fn fenced_set(&self, key: &[u8], value: &[u8], fence: u64) -> Result<(), Error> {
        self.0.fenced::<()>(key).bytes().set(&value.to_vec(), fence)
    }

    fn value(&self, wish: &Wish) -> Box<dyn Value> {
        let value = told!(self.0.versioned_with(&wish.key, Codec::BYTES), wish);
        Box::new(BlockingValue { value, client: self.0.clone(), wish: wish.clone() })
    }

    fn doctor(&self) -> Result<Report, Error> {
        self.0.doctor()
    }

    fn close(&self) -> bool {
        self.0.close()
    }
}

#[derive(Clone)]
struct BlockingValue {
    value: Versioned<Vec<u8>>,
    client: Client,
    wish: Wish,
}

impl BlockingValue {
    fn json(&self) -> Versioned<u64> {
        told!(self.client.versioned(&self.wish.key), self.wish)
    }
}

value!(BlockingValue, |_this, answer| answer);

struct BlockingHeld(LockGuard);

impl Held for BlockingHeld {
    fn lease(&self) -> &Lease {
        self.0.lease()
    }

    fn fence(&self) -> Option<u64> {
        self.0.fence()
    }

    fn release(self: Box<Self>) -> Result<Release, Error> {
        self.0.release()
    }
}
