//! How a client is told about a server that sentinels watch.

use std::sync::Arc;

use tairlock::ConfigError;

use crate::{
    ClientBuilder,
    node::redis::{Connector, sentinel::Sentinels},
};

/// Where the sentinels are.
impl ClientBuilder {
    /// On the primary that these sentinels know by a name, whichever server that is.
    ///
    /// `primary` is that name, or a URL as for [`Client::connect`](crate::Client::connect) with the name in place of the
    /// host, for its user, password, database, TLS and protocol: `rediss://user:password@main/3`.
    /// `sentinels` are URLs that say where the sentinels are, and how to log in there.
    ///
    /// They are asked whenever a connection is opened. One that leads to a replica is given up, so that
    /// after a failover the next attempt, within the caller's deadline, finds the new primary. A
    /// failover can lose what was written last, as replication is not waited for: a lock that is lost
    /// so is noticed at its next renewal.
    ///
    /// [`ClientBuilder::build`] fails as for one server, and with [`ConfigError::Address`] if there is
    /// no sentinel, or one that has a database or is a unix socket; with a fault of the kind
    /// [`FaultKind::Config`](tairlock::FaultKind::Config) where no sentinel knows the name.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), tairlock_sync::Error> {
    /// let client = tairlock_sync::Client::builder()
    ///     .sentinel("main", ["redis://10.0.0.1:26379", "redis://10.0.0.2:26379"])
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn sentinel(
        self,
        primary: impl AsRef<str>,
        sentinels: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Self {
        let primary = tairlock::redis::watched(primary.as_ref());
        self.watched(primary, tairlock::redis::sentinels(sentinels))
    }

    /// As [`ClientBuilder::sentinel`], by these `redis::Client`s: for certificates of your own, and
    /// whatever else a URL cannot say. The host of `primary` is the name that the sentinels know.
    pub fn sentinel_clients(
        self,
        primary: redis::Client,
        sentinels: impl IntoIterator<Item = redis::Client>,
    ) -> Self {
        let sentinels = tairlock::redis::several(sentinels.into_iter().collect(), "sentinels");
        self.watched(Ok(primary), sentinels)
    }

    fn watched(
        self,
        primary: Result<redis::Client, ConfigError>,
        sentinels: Result<Vec<redis::Client>, ConfigError>,
    ) -> Self {
        self.by_connector(|site| {
            let (primary, sentinels) = (primary?, sentinels?);
            let name = tairlock::redis::name(&primary)?;
            let (prefix, within) = (Arc::clone(&site.prefix), site.limits.connect);
            let sentinels = Sentinels::new(name, sentinels, primary.clone(), within);
            let connector = Connector::new(&primary, prefix, within);
            let connector =
                connector.map_err(|error| ConfigError::Address(error.category().to_owned()))?;
            Ok(connector.located(Arc::new(sentinels)))
        })
    }
}
