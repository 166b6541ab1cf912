//! [`ClientBuilder`]: where the server is, and what else a client can be told.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    Client, ConfigError, Confirm, Error, Label,
    memory::SharedStore,
    node::{MemoryNode, Node, QuorumNode},
    options::{self, Limits, Wake},
    proto::Quorum,
};

/// Builds a [`Client`]. Begin with [`Client::builder`].
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
/// let client = tairlock::Client::builder()
///     .in_memory() // or .url("redis://…")
///     .prefix("billing:")
///     .label("worker-3")
///     .build()
///     .await?;
/// let guard = client.lock("7").acquire().await?;
/// assert_eq!(guard.key().as_bytes(), b"billing:7");
/// # Ok(()) }
/// ```
#[derive(Default)]
#[must_use]
pub struct ClientBuilder {
    server: Option<MakeNode>,
    said_twice: bool,
    quorum_size: Option<usize>,
    is_quorum: bool,
    prefix: Vec<u8>,
    label: Option<Result<Label, ConfigError>>,
    limits: Limits,
    wake: Wake,
    confirm: Option<Confirm>,
}

/// Makes the node once everything has been said.
pub(crate) type MakeNode = Box<dyn FnOnce(&Site) -> Result<Arc<dyn Node>, ConfigError> + Send>;

/// Makes the nodes of a quorum.
pub(crate) type MakeMembers =
    Box<dyn FnOnce(&Site) -> Result<Vec<Arc<dyn Node>>, ConfigError> + Send>;

/// What a node needs to know of its client.
pub(crate) struct Site {
    pub(crate) prefix: Arc<[u8]>,
    pub(crate) limits: Limits,
    quorum_size: Option<usize>,
}

impl ClientBuilder {
    /// Locks on an embedded server inside this process.
    pub fn in_memory(self) -> Self {
        self.on(Arc::default())
    }

    /// As [`ClientBuilder::in_memory`], on a store that others hold too: other clients of this
    /// process, or a test that looks at it.
    pub fn store(self, store: Arc<SharedStore>) -> Self {
        self.on(store)
    }

    /// Locks on a quorum of these stores; see [`ClientBuilder::quorum`].
    pub fn quorum_stores(self, stores: impl IntoIterator<Item = Arc<SharedStore>>) -> Self {
        let stores: Vec<_> = stores.into_iter().collect();
        self.with_members(Box::new(move |_| {
            let twice = (1..stores.len())
                .any(|at| stores[..at].iter().any(|other| Arc::ptr_eq(other, &stores[at])));
            if twice {
                return Err(ConfigError::SameServer { place: "an embedded server".to_owned() });
            }
            let node = |store| Arc::new(MemoryNode::new(store)) as Arc<dyn Node>;
            Ok(stores.into_iter().map(node).collect())
        }))
    }

    /// How many servers of a quorum must agree: more than half of them, which is the default.
    ///
    /// More than that bear fewer failures, and more servers that forget: with 3 of 5 one that restarts
    /// empty may vote twice; with 4 of 5 that alone gives no lock to two.
    pub const fn quorum_size(mut self, needed: usize) -> Self {
        self.quorum_size = Some(needed);
        self
    }

    /// Puts `prefix` in front of every key. Defaults to nothing, so that keys can be shared with
    /// other programs.
    pub fn prefix(mut self, prefix: impl AsRef<[u8]>) -> Self {
        self.prefix = prefix.as_ref().to_vec();
        self
    }

    /// What tokens say of their holder, for whoever looks at a key: 1 to [`Label::MAX_LEN`] bytes.
    /// Defaults to `host:pid`.
    pub fn label(mut self, label: impl AsRef<str>) -> Self {
        self.label = Some(Label::new(label.as_ref()));
        self
    }

    /// Tokens say nothing of their holder: they are a bare UUID.
    pub fn no_label(mut self) -> Self {
        self.label = Some(Ok(Label::off()));
        self
    }

    /// How long a command waits for its reply; never above a third of the lock's TTL. Defaults to 1 s.
    pub const fn response_deadline(mut self, limit: Duration) -> Self {
        self.limits.response = limit;
        self
    }

    /// How long it may take to connect, log in, and find out what the server can do. Defaults to 1 s.
    pub const fn connect_deadline(mut self, limit: Duration) -> Self {
        self.limits.connect = limit;
        self
    }

    /// How the client learns that a lock which another client held is free. Defaults to [`Wake::Push`]:
    /// where the server tracks keys (`CLIENT TRACKING`) and lets this user do so, it says so on a
    /// connection that is opened when it is first needed.
    pub const fn wake(mut self, wake: Wake) -> Self {
        self.wake = wake;
        self
    }

    /// Which copies must have a grant, and every renewal, before it counts, for every lock of this client
    /// that says nothing else ([`Lock::confirm`](crate::Lock::confirm)). Defaults to none.
    pub const fn confirm(mut self, confirm: Confirm) -> Self {
        self.confirm = Some(confirm);
        self
    }

    /// Connects, and finds out what the server can do.
    ///
    /// # Errors
    /// [`Error::Config`] if what was said makes no sense; [`Error::Backend`] if the server cannot be
    /// reached within the connect deadline, or refuses user or password.
    ///
    /// # Cancel safety
    /// Dropping the future closes what was opened.
    pub async fn build(self) -> Result<Client, Error> {
        self.client()?.ready().await
    }

    pub(crate) fn build_in_memory(self) -> Client {
        let node = Arc::new(MemoryNode::new(Arc::default()));
        Client::new(node, self.prefix.into(), Label::default(), self.limits, self.wake, None)
    }

    pub(crate) fn with_node(mut self, server: MakeNode) -> Self {
        self.said_twice |= self.server.is_some();
        self.server = Some(server);
        self
    }

    pub(crate) fn with_members(mut self, members: MakeMembers) -> Self {
        self.said_twice |= self.server.is_some();
        self.is_quorum = true;
        self.server = Some(Box::new(move |site| {
            let members = members(site)?;
            let quorum = Quorum::new(members.len(), site.quorum_size)?;
            Ok(Arc::new(QuorumNode::new(members, quorum)))
        }));
        self
    }

    fn on(self, store: Arc<SharedStore>) -> Self {
        self.with_node(Box::new(|_| Ok(Arc::new(MemoryNode::new(store)))))
    }

    fn client(self) -> Result<Client, ConfigError> {
        if self.said_twice {
            return Err(ConfigError::Builder("a client has one server; say where it is once"));
        }
        let Some(server) = self.server else {
            return Err(ConfigError::Builder(
                "where is the server? say `.url(…)`, or `.in_memory()`",
            ));
        };
        if self.quorum_size.is_some() && !self.is_quorum {
            return Err(ConfigError::Builder("`quorum_size` is for a client of a quorum"));
        }
        let limits = self.limits.checked()?;
        let confirm = options::confirmed_by(self.confirm)?;
        let label = self.label.transpose()?.unwrap_or_default();
        let site = Site { prefix: self.prefix.into(), limits, quorum_size: self.quorum_size };
        let node = server(&site)?;
        Ok(Client::new(node, site.prefix, label, site.limits, self.wake, confirm))
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("label", &self.label)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
