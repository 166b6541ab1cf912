//! The caller's own pool, which other code may use too.

use std::{
    fmt, io,
    net::TcpListener,
    sync::Arc,
    time::{Duration, Instant},
};

use r2d2::{Pool, PooledConnection};
use redis::{
    Client, Connection, ConnectionAddr, ConnectionLike, IntoConnectionInfo, RedisError, RedisResult,
};
use tairlock::{
    Fault, FaultKind,
    dialect::Speech,
    proto::{Op, Verdict},
    redis::connect_fault,
};

use super::{super::Line, Outage, wire::Wire};

type Lent = PooledConnection<Client>;

/// Connections of the caller's, borrowed for one operation each.
pub(crate) struct GivenPool {
    pool: Pool<Client>,
    prefix: Arc<[u8]>,
    connect_within: Duration,
    outage: Outage,
}

/// What is known of a connection of the pool; kept beside it there.
#[derive(Clone)]
struct Known {
    speech: Arc<Speech>,
    /// When it last worked.
    at: Instant,
}

impl GivenPool {
    pub(crate) fn new(pool: Pool<Client>, prefix: Arc<[u8]>, connect_within: Duration) -> Self {
        Self { pool, prefix, connect_within, outage: Outage::default() }
    }

    /// A connection whose server's ways are known, waiting for a free one for at most `within`.
    fn checkout(&self, within: Duration) -> Result<(Lent, Known), Fault> {
        let until = Instant::now() + within;
        // Every connection of the pool may have died idle; the one after that is new.
        let mut dead = 0;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut lent = self.pool.get_timeout(left).map_err(|e| self.empty(&e, within))?;
            let fault = match self.known(&lent).map_or_else(|| self.detect(&mut lent), Ok) {
                Ok(known) => return Ok((lent, known)),
                Err(fault) => fault,
            };
            Self::discard(lent);
            dead += 1;
            if dead > self.pool.max_size() || Instant::now() >= until {
                return Err(fault);
            }
        }
    }

    fn known(&self, lent: &Lent) -> Option<Known> {
        let known = Lent::extensions(lent).get::<Known>();
        known.filter(|known| !self.outage.since(known.at)).cloned()
    }

    fn detect(&self, lent: &mut Lent) -> Result<Known, Fault> {
        let failed = |error: RedisError| connect_fault(&error, "the given pool");
        let mut wire = Wire { connection: lent, patience: &mut None };
        let speech = wire.enter(0, &self.prefix, self.connect_within).map_err(failed)??;
        clear_timeouts(lent).map_err(failed)?;
        let known = Known { speech: Arc::new(speech), at: Instant::now() };
        Lent::extensions_mut(lent).insert(known.clone());
        Ok(known)
    }

    fn carry(
        &self,
        mut lent: Lent,
        known: &Known,
        op: &Op,
        within: Duration,
    ) -> Result<Verdict, Fault> {
        let mut wire = Wire { connection: &mut lent, patience: &mut None };
        let (answer, lost) = wire.carry(op, &known.speech, false, within);
        // Other users of the pool expect a connection as redis-rs opens it: without timeouts.
        let clean = clear_timeouts(&lent);
        match lost {
            None if Verdict::is_from_a_replica(&answer) => {
                // After a failover none of the open ones leads to the primary.
                self.outage.declare(known.at);
                Self::discard(lent);
            }
            None if clean.is_ok() => {
                let known = Known { at: Instant::now(), ..known.clone() };
                Lent::extensions_mut(&mut lent).insert(known);
            }
            None => Self::discard(lent),
            Some(fault) => {
                self.outage.note(&fault, known.at);
                Self::discard(lent);
            }
        }
        answer
    }

    /// Gives a connection back so that the pool drops it. r2d2 asks redis-rs whether it is broken, and
    /// redis-rs has no way of being told; so a closed one takes its place.
    fn discard(mut lent: Lent) {
        if lent.is_open() {
            match closed() {
                Ok(closed) => *lent = closed,
                // Better one connection fewer than one whose replies belong to another question.
                Err(_) => std::mem::forget(lent),
            }
        }
    }

    /// Why there was no connection. r2d2 has the reason as text, if it has one.
    fn empty(&self, error: &r2d2::Error, within: Duration) -> Fault {
        let text = error.to_string();
        let (kind, text) = match text.split_once(": ") {
            Some((_, reason)) => {
                let refused = ["AuthenticationFailed", "WRONGPASS", "NOAUTH", "invalid password"];
                let auth = refused.iter().any(|word| reason.contains(word));
                let kind = if auth { FaultKind::Auth } else { FaultKind::Unreachable };
                (kind, format!("the given pool cannot connect: {reason}"))
            }
            None => {
                let size = self.pool.max_size();
                let text = format!(
                    "the given pool has {size} connections, and none was free within {within:?}"
                );
                (FaultKind::Unreachable, text)
            }
        };
        Fault::new(kind, text)
    }
}

impl Line for GivenPool {
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        let (lent, known) = self.checkout(op.patience(within))?;
        self.carry(lent, &known, op, within)
    }

    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>> {
        let lent = self.pool.try_get()?;
        let known = self.known(&lent)?;
        Some(self.carry(lent, &known, op, within))
    }

    fn ready(&self) -> Result<(), Fault> {
        self.checkout(self.connect_within).map(drop)
    }
}

impl fmt::Debug for GivenPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenPool").field("size", &self.pool.max_size()).finish_non_exhaustive()
    }
}

fn clear_timeouts(connection: &Connection) -> RedisResult<()> {
    connection.set_read_timeout(None)?;
    connection.set_write_timeout(None)
}

/// A connection that redis-rs knows to be closed.
fn closed() -> RedisResult<Connection> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (host, port) = ("127.0.0.1".to_owned(), listener.local_addr()?.port());
    let info = ConnectionAddr::Tcp(host, port).into_connection_info()?;
    // Nothing is said on it, not even who speaks.
    let settings = info.redis_settings().clone().set_skip_set_lib_name();
    let client = Client::open(info.set_redis_settings(settings))?;
    let mut connection = client.get_connection_with_timeout(Duration::from_secs(1))?;
    drop(listener.accept()?);
    // It reads that the other side is gone.
    match connection.recv_response() {
        Err(_) if !connection.is_open() => Ok(connection),
        _ => Err(io::Error::from(io::ErrorKind::Other).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_connection_is_known_to_be_closed() {
        assert!(!closed().unwrap().is_open());
    }
}
