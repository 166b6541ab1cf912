//! How a client is told about a cluster.

use std::sync::Arc;

use crate::{
    ClientBuilder, ConfigError,
    builder::Site,
    connect::settings,
    node::{Node, cluster::ClusterNode},
};

/// Where the cluster is.
impl ClientBuilder {
    /// On the Redis or Valkey Cluster that these nodes belong to; the others are found by asking one of
    /// them.
    ///
    /// Each address is a URL as for [`Client::connect`](crate::Client::connect), without a database.
    /// All nodes are reached as the first of them is: by its user, password, TLS and protocol. Every
    /// lock, with its fence and all else that belongs to it, is in one slot, whatever bytes its key
    /// has.
    ///
    /// A command is sent on where the cluster says (`MOVED`, `ASK`). While slots move or a primary is
    /// replaced, it is tried again within the caller's deadline, by who serves the key then. A failover
    /// can lose what was written last, as replication is not waited for: a lock that is lost so is
    /// noticed at its next renewal.
    ///
    /// [`ClientBuilder::build`] fails as for one server, and with [`ConfigError::Address`] if there is
    /// no address, or one that has a database or is a unix socket; with a fault of the kind
    /// [`FaultKind::Config`](crate::FaultKind::Config) where the servers form no cluster.
    ///
    /// ```no_run
    /// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
    /// let client = tairlock::Client::builder()
    ///     .cluster(["redis://10.0.0.1:7000", "redis://10.0.0.2:7000"])
    ///     .build()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn cluster(self, urls: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.seeds(crate::redis::cluster(urls))
    }

    /// As [`ClientBuilder::cluster`], where these `redis::Client`s connect to: for certificates of your
    /// own, and whatever else a URL cannot say.
    pub fn cluster_clients(self, clients: impl IntoIterator<Item = redis::Client>) -> Self {
        let clients = clients.into_iter().collect();
        self.seeds(crate::redis::several(clients, "a cluster"))
    }

    fn seeds(self, seeds: Result<Vec<redis::Client>, ConfigError>) -> Self {
        self.with_node(Box::new(move |site: &Site| {
            let seeds = seeds?;
            let template = seeds[0].clone();
            Ok(Arc::new(ClusterNode::new(&seeds, template, settings(site))) as Arc<dyn Node>)
        }))
    }
}
