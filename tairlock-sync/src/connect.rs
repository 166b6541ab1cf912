//! How a client is told about a server of the Redis family: by URL, or by the caller's own pool.

use std::sync::Arc;

use tairlock::{ConfigError, Error};

use crate::{
    Client, ClientBuilder,
    builder::Site,
    node::{
        Member, Node, SharedLine,
        redis::{Connector, GivenPool, OwnLine, OwnPool, SpareLines},
    },
};

impl Client {
    /// Connects to the server at `url`, and finds out what it can do.
    ///
    /// `redis://[user:password@]host[:port][/database]`, `rediss://…` for TLS (feature `rustls` or
    /// `native-tls`), `unix:///path[?db=…&user=…&pass=…]`. Everything else is at its default; see
    /// [`Client::builder`].
    ///
    /// # Errors
    /// [`Error::Config`] for an address that cannot be used, [`Error::Backend`] where the server
    /// cannot be reached within the connect deadline (1 s) or refuses user or password. No error
    /// shows a password.
    pub fn connect(url: impl AsRef<str>) -> Result<Self, Error> {
        Self::builder().url(url).build()
    }
}

/// Where the server is.
impl ClientBuilder {
    /// At this URL; see [`Client::connect`].
    ///
    /// `TCP_NODELAY` is on. A connection carries one command at a time, so there is nothing to gather:
    /// on loopback a pair of acquire and release takes as long with it as without (41 µs at best), and
    /// between two hosts the end of a long batch of renewals does not wait for an acknowledgement.
    pub fn url(self, url: impl AsRef<str>) -> Self {
        self.reach(tairlock::redis::open(url.as_ref()))
    }

    /// Where this `redis::Client` connects to: for certificates of your own, and whatever else a URL
    /// cannot say. Its TCP settings are used as they are; `TCP_NODELAY` should be on.
    pub fn redis_client(self, client: redis::Client) -> Self {
        self.reach(Ok(client))
    }

    /// Over the connections of this pool.
    ///
    /// With [`ClientBuilder::url`] or [`ClientBuilder::redis_client`] beside it, which must lead to the
    /// same server and database, the pool serves callers, and the keeper has a connection of its own.
    /// Without, renewals go through the pool too, and code that holds all of its connections for long
    /// makes leases run out.
    ///
    /// A connection is waited for for at most the response deadline, whatever the pool was told. Its
    /// timeouts are set for each command and cleared after it. One that fails or times out is closed.
    /// `test_on_check_out(false)` saves a round trip per command.
    pub fn pool(self, pool: r2d2::Pool<redis::Client>) -> Self {
        self.with_given(Box::new(|site| {
            Arc::new(GivenPool::new(pool, Arc::clone(&site.prefix), site.limits.connect))
        }))
    }

    /// How many connections the client's own pool may open, the keeper's not counted. Defaults to 10.
    ///
    /// They are opened as they are needed, and closed after ten idle minutes. A command holds one for a
    /// round trip; waiting for a lock and holding one take none.
    pub const fn pool_size(mut self, size: u32) -> Self {
        self.pool_size = Some(size);
        self
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
            urls.into_iter().map(|url| tairlock::redis::open(url.as_ref())).collect();
        self.members(opened)
    }

    /// As [`ClientBuilder::quorum`], of the servers that these clients connect to.
    pub fn quorum_clients(self, clients: impl IntoIterator<Item = redis::Client>) -> Self {
        self.members(Ok(clients.into_iter().collect()))
    }

    fn members(self, clients: Result<Vec<redis::Client>, ConfigError>) -> Self {
        self.with_members(Box::new(|site| {
            let clients = clients?;
            tairlock::redis::all_different(&clients)?;
            let member = |client: &redis::Client| {
                let prefix = Arc::clone(&site.prefix);
                let connector = Connector::new(client, prefix, site.limits.connect);
                let connector = Arc::new(connector.map_err(unusable)?.identifying());
                let commands = Arc::new(OwnPool::new(Arc::clone(&connector), site.pool_size));
                let keeper = Arc::new(OwnLine::new(connector));
                let place = tairlock::redis::address(client.get_connection_info());
                let node = Node { commands, keeper, confirm: None, listen: None };
                Ok(Member { node, place })
            };
            clients.iter().map(member).collect()
        }))
    }

    fn reach(self, client: Result<redis::Client, ConfigError>) -> Self {
        self.by_connector(|site| {
            let connector = Connector::new(&client?, Arc::clone(&site.prefix), site.limits.connect);
            connector.map_err(unusable)
        })
    }

    pub(crate) fn by_connector(
        self,
        make: impl FnOnce(&Site) -> Result<Connector, ConfigError> + Send + Sync + 'static,
    ) -> Self {
        self.with_server(Box::new(|site| {
            let connector = Arc::new(make(site)?);
            let commands: SharedLine = match &site.given {
                Some(given) => Arc::clone(given),
                None => Arc::new(OwnPool::new(Arc::clone(&connector), site.pool_size)),
            };
            let listen = Some(Arc::clone(&connector) as _);
            let confirm = Some(Arc::new(SpareLines::new(Arc::clone(&connector))) as _);
            Ok(Node { commands, keeper: Arc::new(OwnLine::new(connector)), confirm, listen })
        }))
    }
}

fn unusable(error: redis::RedisError) -> ConfigError {
    ConfigError::Address(error.category().to_owned())
}
