//! How a client is told about a server of the Redis family: by URL, or by the caller's own connection.

use std::sync::Arc;

use redis::aio::{ConnectionManager, MultiplexedConnection};

use crate::{
    Client, ClientBuilder, ConfigError, Error,
    builder::Site,
    node::{
        Node,
        redis::{RedisNode, Settings, Source},
    },
};

impl Client {
    /// Connects to the server at `url`, and finds out what it can do.
    ///
    /// `redis://[user:password@]host[:port][/database]`, `rediss://…` for TLS (feature `rustls` or
    /// `native-tls`), `unix:///path[?db=…&user=…&pass=…]`. Everything else is at its default; see
    /// [`Client::builder`]. `TCP_NODELAY` is on: measured on loopback that costs many tasks on one
    /// connection about an eighth of their throughput, and between two hosts it saves a round trip;
    /// [`ClientBuilder::redis_client`] takes other settings.
    ///
    /// # Errors
    /// [`Error::Config`] for an address that cannot be used, [`Error::Backend`] where the server
    /// cannot be reached within the connect deadline (1 s) or refuses user or password. No error
    /// shows a password.
    ///
    /// # Cancel safety
    /// Dropping the future closes what was opened.
    pub async fn connect(url: impl AsRef<str>) -> Result<Self, Error> {
        Self::builder().url(url).build().await
    }
}

/// Where the server is.
impl ClientBuilder {
    /// At this URL; see [`Client::connect`].
    pub fn url(self, url: impl AsRef<str>) -> Self {
        let opened = crate::redis::open(url.as_ref());
        self.reach(opened.map(Source::Client))
    }

    /// Where this `redis::Client` connects to: for certificates of your own, and whatever else a URL
    /// cannot say. Its TCP settings are used as they are.
    pub fn redis_client(self, client: redis::Client) -> Self {
        self.reach(Ok(Source::Client(client)))
    }

    /// At the other end of this connection.
    ///
    /// Everything goes down it, renewals too, and when it breaks the client does not come back:
    /// prefer [`ClientBuilder::redis_client`], or a connection manager. It must have been opened in
    /// a runtime that lives as long as the client does.
    pub fn connection(self, connection: MultiplexedConnection) -> Self {
        self.reach(Ok(Source::Connection(connection)))
    }

    /// At the other end of this connection, which reconnects by itself.
    ///
    /// Everything goes down it, renewals too. It must have been made in a runtime that lives as long
    /// as the client does.
    pub fn connection_manager(self, manager: ConnectionManager) -> Self {
        self.reach(Ok(Source::Manager(manager)))
    }

    /// On a quorum (Redlock) of the servers at these URLs: a lock is held while more than half of them
    /// ([`ClientBuilder::quorum_size`]) say so.
    ///
    /// For servers that know nothing of each other and fail independently: no replicas of each other, and
    /// no nodes of one cluster. A minority may be down, slow, or gone, also while this client is built. A
    /// server has a third of the response deadline, and of a third of the TTL, for its answer. A lock
    /// survives what a single server does not, at the price of a command to each server.
    ///
    /// What it may not survive is one server that loses its data and is back at once: with the lock on a
    /// bare majority, that server may give it to somebody else. So let them persist each write
    /// (`appendfsync always`), or keep a server that lost its data away for the longest TTL, or let one more
    /// than a bare majority agree (four of five): then it takes three such losses within two TTLs.
    ///
    /// Waiters poll, as no one server knows when a lock is free. Fences and values are refused
    /// ([`FaultKind::Unsupported`](crate::FaultKind)): they need one place that counts.
    ///
    /// An odd number of servers, three or five: a fourth bears no failure more than three do.
    pub fn quorum<U: AsRef<str>>(self, urls: impl IntoIterator<Item = U>) -> Self {
        let opened: Result<Vec<_>, _> =
            urls.into_iter().map(|url| crate::redis::open(url.as_ref())).collect();
        self.members(opened)
    }

    /// As [`ClientBuilder::quorum`], of the servers that these clients connect to.
    pub fn quorum_clients(self, clients: impl IntoIterator<Item = redis::Client>) -> Self {
        self.members(Ok(clients.into_iter().collect()))
    }

    fn members(self, clients: Result<Vec<redis::Client>, ConfigError>) -> Self {
        self.with_members(Box::new(move |site: &Site| {
            let clients = clients?;
            crate::redis::all_different(&clients)?;
            let node = |client| {
                let settings = Settings { identify: true, ..settings(site) };
                Arc::new(RedisNode::new(Source::Client(client), settings)) as Arc<dyn Node>
            };
            Ok(clients.into_iter().map(node).collect())
        }))
    }

    fn reach(self, source: Result<Source, ConfigError>) -> Self {
        self.with_node(Box::new(move |site: &Site| {
            Ok(Arc::new(RedisNode::new(source?, settings(site))) as Arc<dyn Node>)
        }))
    }
}

/// How a node of the client of `site` connects.
pub(crate) fn settings(site: &Site) -> Settings {
    crate::tls::choose_cryptography();
    let (connect_within, prefix) = (site.limits.connect, Arc::clone(&site.prefix));
    Settings { connect_within, prefix, identify: false }
}
