//! Five servers that know nothing of each other, each behind a proxy.

use super::{Error, start_all};
use crate::{
    Proxy,
    server::{Builder, Server},
};

/// Five independent servers; faults are played by the proxies in front of them.
#[derive(Debug)]
pub struct Five {
    proxies: Vec<Proxy>,
    servers: Vec<Server>,
}

impl Five {
    /// Starts them, each built by `with`.
    ///
    /// # Errors
    ///
    /// [`Error`], if one does not start.
    pub fn start(with: impl Fn() -> Builder) -> Result<Self, Error> {
        let servers = start_all((0..5).map(|_| with()).collect())?;
        let proxies = servers.iter().map(|server| Proxy::start(server.addr()));
        Ok(Self { proxies: proxies.collect::<Result<_, _>>()?, servers })
    }

    /// The URLs for clients, through the proxies.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.proxies.iter().map(Proxy::url).collect()
    }

    /// The proxies, in the servers' order.
    #[must_use]
    pub fn proxies(&self) -> &[Proxy] {
        &self.proxies
    }

    /// The servers themselves.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The servers, to stop, kill or restart.
    pub fn servers_mut(&mut self) -> &mut [Server] {
        &mut self.servers
    }
}
