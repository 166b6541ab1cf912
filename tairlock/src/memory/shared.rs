//! A store that several threads and clients share, and its listeners.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::Store;
use crate::{
    Fault, Key,
    proto::{Op, Verdict},
};

/// A store that several threads and clients share.
pub struct SharedStore {
    store: Mutex<Store>,
    ears: Mutex<Ears>,
}

impl Default for SharedStore {
    fn default() -> Self {
        let mut store = Store::new();
        let unix_micros = u64::try_from(crate::time::unix_ms()).unwrap_or(0).saturating_mul(1_000);
        store.set_wall_clock(unix_micros, crate::time::now());
        Self { store: Mutex::new(store), ears: Mutex::default() }
    }
}

type Hear = Arc<dyn Fn(&Key) + Send + Sync>;

#[derive(Default)]
struct Ears {
    next: u64,
    all: BTreeMap<u64, Hear>,
}

impl SharedStore {
    /// As [`Store::apply`], at this moment.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn apply(&self, op: &Op) -> Result<Verdict, Fault> {
        self.with(|store| store.apply(op, crate::time::now()))
    }

    /// Looks at the store, or changes it.
    pub fn with<T>(&self, look: impl FnOnce(&mut Store) -> T) -> T {
        let (looked, news) = {
            let mut store = lock(&self.store);
            let looked = look(&mut store);
            (looked, store.news())
        };
        for (listener, key) in news {
            let hear = lock(&self.ears).all.get(&listener).cloned();
            if let Some(hear) = hear {
                hear(&key);
            }
        }
        looked
    }

    /// Listens: `hear` is called when a key changes that was asked about through the [`Ear`].
    #[must_use]
    pub fn listen(self: &Arc<Self>, hear: Hear) -> Ear {
        let mut ears = lock(&self.ears);
        let listener = ears.next;
        ears.next += 1;
        ears.all.insert(listener, hear);
        Ear { store: Arc::clone(self), listener }
    }
}

/// Listens to a store for as long as it lives.
#[derive(Debug)]
pub struct Ear {
    store: Arc<SharedStore>,
    listener: u64,
}

impl Ear {
    /// As [`Store::apply_for`], at this moment.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn apply(&self, op: &Op) -> Result<Verdict, Fault> {
        self.store.with(|store| store.apply_for(self.listener, op, crate::time::now()))
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        lock(&self.store.ears).all.remove(&self.listener);
        self.store.with(|store| store.deafen(self.listener));
    }
}

impl fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedStore").field(&*lock(&self.store)).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
