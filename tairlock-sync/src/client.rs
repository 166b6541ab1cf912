//! [`Client`]: one server, one keeper, and the lines of those who wait.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tairlock::{
    Confirm, Error, Key, Label, Operation,
    bell::Queue,
    core_private::Several,
    options::{Limits, Request, Wake},
    proto::Crowds,
    value::Values,
};

use crate::{
    ClientBuilder, Lock, LockAll,
    keep::Keep,
    listen::Listener,
    node::{Node, SharedLine},
};

/// A server to lock on. Cheap to clone; clones are one client.
///
/// All guards of a client are renewed from one place, and callers of one client who want the same lock
/// stand in one line, of which only the first asks the server.
///
/// ```
/// # fn main() -> Result<(), tairlock_sync::Error> {
/// let client = tairlock_sync::Client::in_memory();
/// let guard = client.lock("invoice:7").acquire()?;
/// assert!(guard.is_held());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) commands: SharedLine,
    pub(crate) keep: Arc<Keep>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) crowds: Arc<Crowds>,
    /// `None` where the client is to poll.
    pub(crate) listener: Option<Arc<Listener>>,
    pub(crate) values: Arc<Values>,
    pub(crate) label: Label,
    pub(crate) limits: Limits,
    /// Whether there are connections for what copies confirm.
    pub(crate) confirmable: bool,
    /// What locks are confirmed by unless they say otherwise.
    pub(crate) confirm: Option<Confirm>,
    prefix: Arc<[u8]>,
    seed: AtomicU64,
    closed: AtomicBool,
}

impl Client {
    /// A client of an embedded server inside this process: for tests, examples, and programs that run
    /// on one machine. It shares nothing with any other client; its clones do.
    #[must_use]
    pub fn in_memory() -> Self {
        ClientBuilder::default().build_in_memory()
    }

    /// Everything that a client can be told.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// The lock called `key`: any non-empty bytes, up to [`Key::MAX_LEN`] with the client's prefix.
    ///
    /// Nothing is sent before [`Lock::acquire`] or [`Lock::try_acquire`]; an unusable key is refused
    /// there.
    pub fn lock(&self, key: impl AsRef<[u8]>) -> Lock {
        let request = |key| Request { confirm: self.0.confirm, ..Request::new(key) };
        Lock::new(Ok(self.clone()), self.key(key.as_ref()).map(request))
    }

    /// Several locks together, all or none: taken in the order of their keys' bytes, whoever asks, so that
    /// two callers never wait for each other. A key that comes twice counts once; no key at all is
    /// refused.
    pub fn lock_all<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> LockAll {
        let keys = keys.into_iter().map(|key| self.key(key.as_ref()));
        let all = Several::new(keys).map(|all| {
            let request = all.request().clone();
            all.with(&Request { confirm: self.0.confirm, ..request })
        });
        LockAll::new(Ok(self.clone()), all)
    }

    /// Grants nothing any more, ends every renewal, and releases every lock that is held.
    ///
    /// Waits for the releases for at most two response deadlines, and says whether all were answered;
    /// what was not dies with its TTL. Guards that are still alive are released, and told nothing.
    ///
    /// ```
    /// # fn main() -> Result<(), tairlock_sync::Error> {
    /// let client = tairlock_sync::Client::in_memory();
    /// let guard = client.lock("job").acquire()?;
    /// assert!(client.close());
    /// assert!(!guard.is_held());
    /// assert!(client.lock("job").acquire().is_err());
    /// # Ok(()) }
    /// ```
    #[expect(clippy::must_use_candidate, reason = "what was not answered dies with its TTL")]
    pub fn close(&self) -> bool {
        self.0.closed.store(true, Ordering::Relaxed);
        self.0.hush();
        self.0.keep.close();
        self.0.keep.drained(self.0.limits.response * 2)
    }

    pub(crate) fn new(
        node: Node,
        prefix: Arc<[u8]>,
        label: Label,
        limits: Limits,
        wake: Wake,
        confirm: Option<Confirm>,
    ) -> Self {
        let Node { commands, keeper, confirm: confirms, listen } = node;
        let confirmable = confirms.is_some();
        let keep = Keep::new(keeper, confirms, limits.response);
        let (queue, values, crowds) = (Arc::<Queue>::default(), Arc::default(), Arc::default());
        let listen = listen.filter(|_| wake == Wake::Push);
        let listener = listen.map(|listen| Listener::new(listen, Arc::clone(&queue)));
        let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
        let (seed, closed) = (AtomicU64::new(seed), AtomicBool::new(false));
        Self(Arc::new(Inner {
            commands,
            keep,
            queue,
            crowds,
            listener,
            values,
            label,
            limits,
            confirmable,
            confirm,
            prefix,
            seed,
            closed,
        }))
    }

    /// Connects now, rather than at the first command.
    pub(crate) fn ready(self) -> Result<Self, Error> {
        let connect = |fault| Error::Backend { key: None, operation: Operation::Connect, fault };
        self.0.commands.ready().map_err(connect)?;
        Ok(self)
    }

    /// `key` behind the client's prefix.
    pub(crate) fn key(&self, key: &[u8]) -> Result<Key, Error> {
        Key::with_prefix(&self.0.prefix, key).map_err(Error::from)
    }

    /// A number that no other client has while this one lives.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }
}

impl Inner {
    /// Ends the listener.
    fn hush(&self) {
        if let Some(listener) = &self.listener {
            listener.close();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// A seed for one machine: no two are alike, and the first is the client's own.
    pub(crate) fn next_seed(&self) -> u64 {
        self.seed.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.hush();
        self.keep.close();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("commands", &self.0.commands).finish_non_exhaustive()
    }
}
