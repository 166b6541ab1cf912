//! How a connection of the client's own is opened, used, and given up.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use redis::{Client, Connection, ConnectionAddr, RedisError, RedisResult};
use tairlock::{
    Fault, FaultKind,
    dialect::{Batch, Reply, Speech},
    proto::{Op, Verdict},
    redis::{address, connect_fault, refuses_hello, resp2, speaks_resp3},
};

use super::{Outage, wire::Wire};

/// Opens connections to one server.
pub(crate) struct Connector {
    client: Client,
    /// Which database to turn to; `client` does not.
    db: u64,
    prefix: Arc<[u8]>,
    within: Duration,
    outage: Outage,
}

/// A place for a connection, which is opened when it is needed.
#[derive(Default)]
pub(super) struct Seat(Option<Open>);

/// A connection whose server's ways are known.
struct Open {
    connection: Connection,
    speech: Speech,
    patience: Option<Duration>,
    /// When it last worked.
    known: Instant,
}

impl Seat {
    /// Asks, if there is a connection, and gives it up if that fails.
    pub(super) fn call(&mut self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        let Some(Open { connection, speech, patience, .. }) = &mut self.0 else {
            return Err(Fault::new(FaultKind::Unreachable, "the connection was given up"));
        };
        let told = Wire { connection, patience }.exchange(op, speech, within);
        told.unwrap_or_else(|fault| {
            self.0 = None;
            Err(fault)
        })
    }
}

impl Connector {
    /// # Errors
    /// Whatever redis-rs finds wrong with `client`.
    pub(crate) fn new(client: &Client, prefix: Arc<[u8]>, within: Duration) -> RedisResult<Self> {
        if let ConnectionAddr::TcpTls { .. } = client.get_connection_info().addr() {
            tairlock::tls::choose_cryptography();
        }
        let (client, db) = terse(client)?;
        Ok(Self { client, db, prefix, within, outage: Outage::default() })
    }

    /// Whether a command can go down the connection in `seat` as it is.
    pub(super) fn is_open(&self, seat: &Seat) -> bool {
        seat.0.as_ref().is_some_and(|open| !self.outage.since(open.known))
    }

    /// Opens a connection, unless there is one.
    pub(super) fn open(&self, seat: &mut Seat) -> Result<(), Fault> {
        self.opened(seat).map(drop)
    }

    /// How long that may take.
    pub(super) const fn within(&self) -> Duration {
        self.within
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Says what is no operation, connecting first where that is needed.
    pub(super) fn say(&self, seat: &mut Seat, batch: &Batch) -> Result<Vec<Reply>, Fault> {
        let Open { connection, patience, .. } = self.opened(seat)?;
        Wire { connection, patience }.say(batch, self.within)
    }

    /// Asks, connecting first where that is needed.
    pub(super) fn call(
        &self,
        seat: &mut Seat,
        op: &Op,
        within: Duration,
    ) -> Result<Verdict, Fault> {
        let Open { connection, speech, patience, known } = self.opened(seat)?;
        let mut wire = Wire { connection, patience };
        match wire.exchange(op, speech, within) {
            Ok(answer) => {
                *known = Instant::now();
                answer
            }
            Err(fault) => {
                self.outage.note(&fault, *known);
                seat.0 = None;
                Err(fault)
            }
        }
    }

    fn opened<'a>(&self, seat: &'a mut Seat) -> Result<&'a mut Open, Fault> {
        let usable = seat.0.take().filter(|open| !self.outage.since(open.known));
        let open = match usable {
            Some(open) => open,
            None => self.connect()?,
        };
        Ok(seat.0.insert(open))
    }

    fn connect(&self) -> Result<Open, Fault> {
        let until = Instant::now() + self.within;
        let left = || until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let failed = |error: RedisError| self.failed(&error);
        let connection = match self.client.get_connection_with_timeout(left()) {
            Err(error) if speaks_resp3(&self.client) && refuses_hello(&error) => {
                let plain = resp2(&self.client).map_err(failed)?;
                plain.get_connection_with_timeout(left())
            }
            opened => opened,
        };
        let mut connection = connection.map_err(failed)?;
        let mut patience = None;
        let mut wire = Wire { connection: &mut connection, patience: &mut patience };
        let speech = wire.enter(self.db, &self.prefix, left()).map_err(failed)?;
        let speech = speech.map_err(|fault| {
            let place = address(self.client.get_connection_info());
            Fault::new(fault.kind(), format!("{place}: {fault}"))
        })?;
        Ok(Open { connection, speech, patience, known: Instant::now() })
    }

    fn failed(&self, error: &RedisError) -> Fault {
        let place = address(self.client.get_connection_info());
        if error.is_timeout() {
            let text = format!("{place}: no connection within {:?}", self.within);
            return Fault::new(FaultKind::Unreachable, text);
        }
        connect_fault(error, &place)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connector").field(&address(self.client.get_connection_info())).finish()
    }
}

/// `client` with as little to say on a new connection as can be, and the database to turn to then.
///
/// redis-rs waits for each of the replies there as long as for the connection itself, so that a server
/// that does not answer takes a multiple of it. What is left is one command at most: the login.
fn terse(client: &Client) -> RedisResult<(Client, u64)> {
    let info = client.get_connection_info().clone();
    let mut settings = info.redis_settings().clone();
    let db = u64::try_from(settings.db()).unwrap_or_default();
    if db != 0 {
        settings = settings.set_db(0);
    }
    if settings.lib_name().is_none() {
        settings = settings.set_skip_set_lib_name();
    }
    Ok((Client::open(info.set_redis_settings(settings))?, db))
}
