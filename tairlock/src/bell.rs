//! Who in this process waits for which lock, in order, and what rings when their turn comes.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use event_listener::{Event, EventListener};

use crate::{Key, proto::Event as Told};

/// One line of waiters per key. The first of a line is the only one who asks the server.
#[derive(Debug, Default)]
pub struct Queue {
    lines: Mutex<HashMap<Key, Line>>,
    next: AtomicU64,
}

type Line = BTreeMap<u64, Arc<Place>>;

#[derive(Debug, Default)]
struct Place {
    bell: Event,
    /// A server said that the key has changed, or may have said so unheard.
    changed: AtomicBool,
}

impl Place {
    fn ring(&self) {
        self.changed.store(true, Ordering::Release);
        self.bell.notify(1);
    }
}

impl Queue {
    /// Takes the last place in the line for `key`.
    pub fn enter(self: &Arc<Self>, key: &Key) -> Turn {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let place = Arc::<Place>::default();
        self.lock().entry(key.clone()).or_default().insert(ticket, Arc::clone(&place));
        Turn { queue: Arc::clone(self), key: key.clone(), ticket, place }
    }

    /// How many stand in line for `key`, the holder included.
    #[must_use]
    pub fn len(&self, key: &Key) -> usize {
        self.lock().get(key).map_or(0, BTreeMap::len)
    }

    /// Rings for the first in the line for `key`, which has changed: it may be worth asking the server now.
    pub fn ring(&self, key: &Key) {
        if let Some(first) = self.lock().get(key).and_then(|line| line.values().next()) {
            first.ring();
        }
    }

    /// Rings for the first in every line: nobody was told what changed, or what will.
    pub fn ring_all(&self) {
        let lines = self.lock();
        let mut first: Vec<_> =
            lines.iter().filter_map(|(key, line)| Some((key, line.values().next()?))).collect();
        // In the same order every time, so that a run replays.
        first.sort_unstable_by_key(|(key, _)| key.as_bytes());
        for (_, place) in first {
            place.ring();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the line for one key. Dropping it leaves the line and rings for who comes next.
pub struct Turn {
    queue: Arc<Queue>,
    key: Key,
    ticket: u64,
    place: Arc<Place>,
}

impl Turn {
    /// Whether everybody who came before has left.
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.queue
            .lock()
            .get(&self.key)
            .and_then(|line| line.keys().next())
            .is_some_and(|&first| first == self.ticket)
    }

    /// What rings for this place. Listen first, then ask [`Turn::has_come`] or [`Turn::told`].
    #[must_use]
    pub fn listen(&self) -> EventListener {
        self.place.bell.listen()
    }

    /// What there is to tell the machine that stands here, since the last time that was asked.
    #[must_use]
    pub fn told(&self) -> Option<Told> {
        if self.place.changed.swap(false, Ordering::Acquire) {
            return Some(Told::Changed);
        }
        self.has_come().then_some(Told::Rung)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lines = self.queue.lock();
        let Some(line) = lines.get_mut(&self.key) else { return };
        let was_first = line.keys().next() == Some(&self.ticket);
        line.remove(&self.ticket);
        match line.values().next() {
            None => {
                lines.remove(&self.key);
            }
            Some(next) if was_first => {
                next.bell.notify(1);
            }
            Some(_) => {}
        }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("key", &self.key).field("ticket", &self.ticket).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use event_listener::Listener;

    use super::*;

    #[test]
    fn in_order_and_without_residue() {
        let queue = Arc::new(Queue::default());
        let (key, other) = (Key::new("k").unwrap(), Key::new("o").unwrap());
        let (a, b, c) = (queue.enter(&key), queue.enter(&key), queue.enter(&key));
        assert!(queue.enter(&other).has_come());
        assert!(a.has_come() && !b.has_come() && !c.has_come());

        let rung = c.listen();
        drop(b);
        assert!(!c.has_come(), "leaving from the middle moves nobody to the front");
        drop(a);
        assert!(c.has_come());
        rung.wait_timeout(Duration::from_secs(10)).expect("rung when its turn came");
        drop(c);
        assert!(queue.lock().is_empty(), "nothing is kept for keys that nobody waits for");
    }
}
