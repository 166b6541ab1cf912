//! A primary, its replicas, and three sentinels that watch them.

use redis::{Value, cmd, from_redis_value};

use super::{
    Error,
    patience::{field, until},
    start_all,
};
use crate::server::{Builder, Server};

/// The name that the sentinels know the primary by.
pub(super) const NAME: &str = "main";

/// A replicated server under three sentinels, two of which agree on a failover.
#[derive(Debug)]
pub struct Sentinels {
    // First to end: what follows needs no new primary any more.
    sentinels: Vec<Server>,
    servers: Vec<Server>,
}

impl Sentinels {
    /// Starts a primary with `replicas` replicas, all built by `with`, and three sentinels of the same
    /// kind, and returns when they know each other.
    ///
    /// # Errors
    ///
    /// [`Error`], if that takes more than 30 s.
    pub fn start(with: impl Fn() -> Builder, replicas: usize) -> Result<Self, Error> {
        let with = || {
            let server = with();
            match server.password.clone() {
                Some(password) => server.config(["masterauth", &password]),
                None => server,
            }
        };
        let primary = with().start()?;
        let follow = |_| with().replica_of(&primary);
        let replicas = start_all((0..replicas).map(follow).collect())?;
        let watch = |_| {
            let port = primary.port().to_string();
            let sentinel = with().sentinel();
            let password = sentinel.password.clone();
            let sentinel = sentinel.config(["sentinel", "monitor", NAME, "127.0.0.1", &port, "2"]);
            // One password for all, so that they can talk to each other.
            let sentinel = match password {
                Some(password) => sentinel
                    .config(["sentinel", "auth-pass", NAME, &password])
                    .config(["sentinel", "sentinel-pass", &password]),
                None => sentinel,
            };
            sentinel.config(["sentinel", "down-after-milliseconds", NAME, "500"]).config([
                "sentinel",
                "failover-timeout",
                NAME,
                "3000",
            ])
        };
        let sentinels = start_all((0..3).map(watch).collect())?;
        let servers = std::iter::once(primary).chain(replicas).collect();
        let fleet = Self { sentinels, servers };
        fleet.await_settled()?;
        Ok(fleet)
    }

    /// The name of what is watched.
    #[must_use]
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// The URLs of the sentinels.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.sentinels.iter().map(Server::url).collect()
    }

    /// The sentinels, to look at.
    #[must_use]
    pub fn sentinels(&self) -> &[Server] {
        &self.sentinels
    }

    /// The sentinels, to stop, kill or restart.
    pub fn sentinels_mut(&mut self) -> &mut [Server] {
        &mut self.sentinels
    }

    /// The servers that are watched.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The servers that are watched, to stop, kill or restart.
    pub fn servers_mut(&mut self) -> &mut [Server] {
        &mut self.servers
    }

    /// Who is the primary now, by what all sentinels say; its number in [`servers`](Self::servers).
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`], if they do not agree in 30 s.
    pub fn primary(&self) -> Result<usize, Error> {
        until("sentinels agree on a primary", || {
            let told = self.sentinels.iter().map(told_primary).collect::<Result<Vec<_>, _>>()?;
            let at =
                self.servers.iter().position(|one| told.iter().all(|&port| one.port() == port));
            at.ok_or_else(|| format!("ports {told:?}"))
        })
    }

    /// Lets the sentinels replace the primary, which stays up and becomes a replica. Returns when all
    /// of them name the new one, and it takes writes.
    ///
    /// # Errors
    ///
    /// [`Error`], if that takes more than 30 s.
    pub fn failover(&self) -> Result<usize, Error> {
        let old = self.primary()?;
        let mut sentinel = self.sentinels[0].cli();
        // Refused while a replica is not known to be good, or another failover is on.
        until("a failover begins", || {
            let asked = cmd("SENTINEL").arg("FAILOVER").arg(NAME).exec(&mut sentinel);
            asked.map_err(|error| error.to_string())
        })?;
        self.await_other_than(old)
    }

    /// Kills the primary, and returns when the sentinels have another one: its number, and that it
    /// takes writes.
    ///
    /// # Errors
    ///
    /// [`Error`], if that takes more than 30 s.
    pub fn kill_primary(&mut self) -> Result<usize, Error> {
        let old = self.primary()?;
        self.servers[old].kill();
        self.await_other_than(old)
    }

    /// Starts a killed server again; the sentinels make it a replica.
    ///
    /// # Errors
    ///
    /// [`Error`], if it does not start.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn restart(&mut self, at: usize) -> Result<(), Error> {
        Ok(self.servers[at].restart()?)
    }

    fn await_other_than(&self, old: usize) -> Result<usize, Error> {
        until("another primary that takes writes", || {
            let now = self.primary().map_err(|error| error.to_string())?;
            if now == old {
                return Err(format!("still the old one, number {old}"));
            }
            let role = role(&self.servers[now])?;
            (role == "master").then_some(now).ok_or(role)
        })
    }

    fn await_settled(&self) -> Result<(), Error> {
        let replicas = self.servers.len() - 1;
        until("the sentinels know each other and every replica is in sync", || {
            for sentinel in &self.sentinels {
                let told =
                    cmd("SENTINEL").arg("MASTER").arg(NAME).query::<Value>(&mut sentinel.cli());
                let told: std::collections::HashMap<String, String> = told
                    .and_then(|value| Ok(from_redis_value(value)?))
                    .map_err(|error| error.to_string())?;
                let number = |name: &str| told.get(name).and_then(|n| n.parse::<usize>().ok());
                let known = (number("num-slaves"), number("num-other-sentinels"));
                if known != (Some(replicas), Some(2)) {
                    return Err(format!("{known:?} replicas and sentinels"));
                }
            }
            for server in &self.servers[1..] {
                let told: String =
                    cmd("INFO").arg("replication").query(&mut server.cli()).map_err(text)?;
                if field(&told, "master_link_status") != "up" {
                    return Err(told);
                }
            }
            Ok(())
        })
    }
}

fn told_primary(sentinel: &Server) -> Result<u16, String> {
    let mut ask = cmd("SENTINEL");
    ask.arg("GET-MASTER-ADDR-BY-NAME").arg(NAME);
    let (_, port): (String, u16) = ask.query(&mut sentinel.cli()).map_err(text)?;
    Ok(port)
}

fn role(server: &Server) -> Result<String, String> {
    let role: Vec<Value> = cmd("ROLE").query(&mut server.cli()).map_err(text)?;
    let first = role.into_iter().next().unwrap_or(Value::Nil);
    from_redis_value(first).map_err(|error| error.to_string())
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn text(error: redis::RedisError) -> String {
    error.to_string()
}
