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

    fn reach(self, source: Result<Source, ConfigError>) -> Self {
        self.with_node(Box::new(move |site: &Site| {
            Ok(Arc::new(RedisNode::new(source?, settings(site))) as Arc<dyn Node>)
        }))
    }
}

/// How a node of the client of `site` connects.
pub(crate) fn settings(site: &Site) -> Settings {
    crate::tls::choose_cryptography();
    Settings { connect_within: site.limits.connect, prefix: Arc::clone(&site.prefix) }
}
