//! A primary and its replicas, each on a link of its own.

use redis::{Connection, cmd};

use super::{
    Cable, Error,
    patience::{field, until},
    start_all,
};
use crate::server::{Builder, Server};

/// A primary with replicas that follow it, each through a [`Cable`].
#[derive(Debug)]
pub struct Replicated {
    // Before the cables: a replica that is about to end need not look for its primary.
    replicas: Vec<Server>,
    cables: Vec<Cable>,
    primary: Server,
}

impl Replicated {
    /// Starts a primary and `replicas` replicas, each built by `with`, and returns when they are in sync.
    ///
    /// # Errors
    ///
    /// [`Error`], if one does not start or follow in 30 s.
    pub fn start(with: impl Fn() -> Builder, replicas: usize) -> Result<Self, Error> {
        // What was written before a replica was there is sent with the rest, however short the link was cut.
        let primary = with().config(["repl-backlog-size", "16mb"]).start()?;
        let cables = (0..replicas).map(|_| Cable::to(primary.addr()));
        let cables = cables.collect::<Result<Vec<_>, _>>()?;
        let follow = |cable: &Cable| {
            let port = cable.addr().port().to_string();
            with().config(["replicaof", "127.0.0.1", &port]).config(["repl-timeout", "60"])
        };
        let replicas = start_all(cables.iter().map(follow).collect())?;
        let fleet = Self { replicas, cables, primary };
        fleet.await_sync()?;
        Ok(fleet)
    }

    /// The primary that it was started with.
    #[must_use]
    pub fn primary(&self) -> &Server {
        &self.primary
    }

    /// The same, to stop, kill or restart it.
    pub fn primary_mut(&mut self) -> &mut Server {
        &mut self.primary
    }

    /// Replica number `at`, from 0.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    #[must_use]
    pub fn replica(&self, at: usize) -> &Server {
        &self.replicas[at]
    }

    /// The same, to stop, kill or restart it.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn replica_mut(&mut self, at: usize) -> &mut Server {
        &mut self.replicas[at]
    }

    /// All replicas.
    #[must_use]
    pub fn replicas(&self) -> &[Server] {
        &self.replicas
    }

    /// The link of replica number `at`, to cut, stall and mend.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    #[must_use]
    pub fn link(&self, at: usize) -> &Cable {
        &self.cables[at]
    }

    /// Waits until every replica has all that the primary has.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] after 30 s.
    pub fn await_sync(&self) -> Result<(), Error> {
        let mut primary = self.primary.cli();
        for (at, replica) in self.replicas.iter().enumerate() {
            let mut replica = replica.cli();
            until(&format!("replica {at} in sync"), || {
                let told = replication(&mut replica)?;
                let reached = field(&told, "slave_repl_offset");
                let link = field(&told, "master_link_status");
                let wanted = replication(&mut primary)?;
                let wanted = field(&wanted, "master_repl_offset");
                let number = |text: &str| text.parse::<i64>().unwrap_or(-1);
                let synced = link == "up" && number(reached) >= number(wanted);
                synced.then_some(()).ok_or_else(|| format!("link {link}, {reached} of {wanted}"))
            })?;
        }
        Ok(())
    }

    /// Makes replica number `at` a primary, which the old one learns nothing of.
    ///
    /// # Errors
    ///
    /// What the replica says.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn promote(&self, at: usize) -> Result<(), Error> {
        Ok(cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut self.replicas[at].cli())?)
    }
}

fn replication(server: &mut Connection) -> Result<String, String> {
    cmd("INFO").arg("replication").query(server).map_err(|error| error.to_string())
}
