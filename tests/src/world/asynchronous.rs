//! The async driver under any executor, each call of which blocks the test's thread.

use std::future::Future;

use tairlock::{
    Client, Codec, Error, Holder, Lease, Lock, LockGuard, Release, Snapshot, Versioned, Wake,
    Written, doctor::Report,
};

use super::{
    Ask, Config, Held, Locks, Value, Wish, asked,
    values::{told, value},
};
use crate::place::{At, Place};

/// Something that runs a future to its end.
pub(super) trait Executor: Clone + Send + Sync + 'static {
    fn block_on<F: Future>(&self, future: F) -> F::Output;
}

/// A client that is made, and used, under `executor`.
pub(super) fn client<E: Executor>(
    executor: E,
    place: &Place,
    config: &Config,
) -> Result<Box<dyn Locks>, Error> {
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
    let client = executor.block_on(builder.build())?;
    Ok(Box::new(AsyncLocks { client, executor }))
}

#[derive(Clone)]
struct AsyncLocks<E> {
    client: Client,
    executor: E,
}

impl<E: Executor> AsyncLocks<E> {
    fn lock(&self, ask: &Ask) -> Lock {
        asked!(self.client, ask)
    }

    fn held(&self, guard: LockGuard) -> Box<dyn Held> {
        Box::new(AsyncHeld { guard, executor: self.executor.clone() })
    }
}

impl<E: Executor> Locks for AsyncLocks<E> {
    fn another(&self) -> Box<dyn Locks> {
        Box::new(self.clone())
    }

    fn acquire(&self, ask: &Ask) -> Result<Box<dyn Held>, Error> {
        let guard = self.executor.block_on(self.lock(ask).acquire())?;
        Ok(self.held(guard))
    }

    fn try_acquire(&self, ask: &Ask) -> Result<Option<Box<dyn Held>>, Error> {
        let guard = self.executor.block_on(self.lock(ask).try_acquire())?;
        Ok(guard.map(|guard| self.held(guard)))
    }

    fn inspect(&self, key: &[u8]) -> Result<Option<Holder>, Error> {
        self.executor.block_on(self.client.inspect(key))
    }

    fn force_release(&self, key: &[u8]) -> Result<Option<Holder>, Error> {
        self.executor.block_on(self.client.force_release(key))
    }

    fn fenced_get(&self, key: &[u8]) -> Result<Option<Written<Vec<u8>>>, Error> {
        self.executor.block_on(self.client.fenced_with(key, Codec::BYTES).get())
    }

    fn fenced_set(&self, key: &[u8], value: &[u8], fence: u64) -> Result<(), Error> {
        let fenced = self.client.fenced::<()>(key).bytes();
        self.executor.block_on(fenced.set(&value.to_vec(), fence))
    }

    fn value(&self, wish: &Wish) -> Box<dyn Value> {
        let value = told!(self.client.versioned_with(&wish.key, Codec::BYTES), wish);
        let (client, wish, executor) = (self.client.clone(), wish.clone(), self.executor.clone());
        Box::new(AsyncValue { value, client, wish, executor })
    }

    fn doctor(&self) -> Result<Report, Error> {
        self.executor.block_on(self.client.doctor())
    }

    fn close(&self) -> bool {
        self.executor.block_on(self.client.close())
    }
}

#[derive(Clone)]
struct AsyncValue<E> {
    value: Versioned<Vec<u8>>,
    client: Client,
    wish: Wish,
    executor: E,
}

impl<E> AsyncValue<E> {
    fn json(&self) -> Versioned<u64> {
        told!(self.client.versioned(&self.wish.key), self.wish)
    }
}

value!(AsyncValue<E> where E: Executor, |this, answer| this.executor.block_on(answer));

struct AsyncHeld<E> {
    guard: LockGuard,
    executor: E,
}

impl<E: Executor> Held for AsyncHeld<E> {
    fn lease(&self) -> &Lease {
        self.guard.lease()
    }

    fn fence(&self) -> Option<u64> {
        self.guard.fence()
    }

    fn release(self: Box<Self>) -> Result<Release, Error> {
        self.executor.block_on(self.guard.release())
    }
}
