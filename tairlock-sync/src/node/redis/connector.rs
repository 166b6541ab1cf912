//! How a connection of the client's own is opened, used, and given up.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use redis::{Client, Connection, ConnectionAddr, RedisError, RedisResult};
use tairlock::{
    Confirm, Fault, FaultKind,
    dialect::{self, Batch, Reply, Speech},
    doctor::Report,
    proto::{Op, Verdict},
    redis::{
        address, connect_fault, elsewhere, place, refuses_hello, resp2, speaks_resp3, unused_key,
    },
    time,
};

use super::{Outage, wire::Wire};

/// How long it takes to read what has arrived.
const AT_HAND: Duration = Duration::from_millis(2);

/// Opens connections to one server.
pub(crate) struct Connector {
    client: Client,
    /// Who knows where to, where that is not `client`'s own address.
    locate: Option<Arc<dyn Locate>>,
    /// Which database to turn to; `client` does not.
    db: u64,
    prefix: Arc<[u8]>,
    within: Duration,
    outage: Outage,
    /// Which server it was when last connected to, where that is to be found out.
    server: Option<Mutex<Option<Box<str>>>>,
}

/// Who knows where the server is.
pub(crate) trait Locate: fmt::Debug + Send + Sync {
    /// Where it is now, and how to log in there.
    fn locate(&self) -> Result<Client, Fault>;

    /// Whether the server at the other end of `connection` is the one, and will do.
    fn check(&self, connection: &mut Connection, within: Duration) -> Result<(), Fault>;
}

/// How an operation is asked on a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// With word before each command that we were sent there.
    pub(crate) asking: bool,
    /// How long it may take to connect, where that is less than the connector's own limit.
    pub(crate) connect_within: Option<Duration>,
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
    /// Closes what is in it.
    pub(super) fn give_up(&mut self) {
        self.0 = None;
    }

    /// Asks, if there is a connection, and gives it up if that fails.
    pub(super) fn ask(
        &mut self,
        op: &Op,
        manner: Manner,
        within: Duration,
    ) -> Result<Verdict, Fault> {
        let Some(Open { connection, speech, patience, .. }) = &mut self.0 else {
            return Err(Fault::new(FaultKind::Unreachable, "the connection was given up"));
        };
        let told = Wire { connection, patience }.exchange(op, speech, manner.asking, within);
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
        let (outage, locate, server) = (Outage::default(), None, None);
        Ok(Self { client, locate, db, prefix, within, outage, server })
    }

    /// With somebody who knows where the server is: of `client`'s address nothing is used.
    #[allow(dead_code, reason = "without sentinels, nobody does")]
    pub(crate) fn located(self, locate: Arc<dyn Locate>) -> Self {
        Self { locate: Some(locate), ..self }
    }

    /// Finds out which server it is, too.
    pub(crate) fn identifying(self) -> Self {
        Self { server: Some(Mutex::default()), ..self }
    }

    /// Which server it was when last connected to.
    pub(crate) fn server(&self) -> Option<Box<str>> {
        let server = self.server.as_ref()?;
        server.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What a crash or a failover can take from locks on the server.
    pub(super) fn examine(
        &self,
        seat: &mut Seat,
        confirm: Option<Confirm>,
    ) -> Result<Report, Fault> {
        let key = unused_key(&self.prefix).ok_or_else(|| {
            Fault::new(FaultKind::Config, "the prefix leaves no room for a key to ask about")
        })?;
        self.open(seat)?;
        let (asked, began) = (time::unix_micros(), Instant::now());
        let replies = self.say(seat, &dialect::symptoms(&key), self.within)?;
        let took = began.elapsed();
        let place = address(self.client.get_connection_info());
        let speech = &self.opened(seat, self.within)?.speech;
        let facts = dialect::diagnose(&replies, speech, asked, took);
        Ok(Report::of(place, &facts.confirmed_by(confirm)))
    }

    /// Sends what `op` begins with, connecting first where that is needed.
    pub(super) fn begin(&self, seat: &mut Seat, op: &Op, within: Duration) -> Result<(), Fault> {
        let until = Instant::now() + within;
        let opened = self.opened(seat, within.min(self.within))?;
        let Open { connection, speech, patience, known } = opened;
        let left = until.saturating_duration_since(Instant::now());
        let asked = Wire { connection, patience }.ask(op, speech, false, left);
        if let Err(fault) = &asked {
            self.outage.note(fault, *known);
            seat.0 = None;
        }
        asked
    }

    /// Reads what was answered to [`Connector::begin`].
    pub(super) fn finish(
        &self,
        seat: &mut Seat,
        op: &Op,
        until: Instant,
    ) -> Result<Verdict, Fault> {
        let Some(Open { connection, speech, patience, known }) = &mut seat.0 else {
            return Err(Fault::ambiguous(FaultKind::Unreachable, "the connection was given up"));
        };
        let mut wire = Wire { connection, patience };
        // An answer that is there already counts, however long others were waited for.
        let until = until.max(Instant::now() + AT_HAND);
        match wire.patient(until).and_then(|()| wire.hear(op, speech, false, until)) {
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

    /// Whether a command can go down the connection in `seat` as it is.
    pub(super) fn is_open(&self, seat: &Seat) -> bool {
        seat.0.as_ref().is_some_and(|open| !self.outage.since(open.known))
    }

    /// Opens a connection, unless there is one.
    pub(super) fn open(&self, seat: &mut Seat) -> Result<(), Fault> {
        self.open_within(seat, self.within)
    }

    /// The same, in no more than this time.
    pub(super) fn open_within(&self, seat: &mut Seat, within: Duration) -> Result<(), Fault> {
        self.opened(seat, within.min(self.within)).map(drop)
    }

    /// How long that may take.
    pub(super) const fn within(&self) -> Duration {
        self.within
    }

    /// Where a connection opened now would lead to.
    pub(super) fn client(&self) -> Result<Client, Fault> {
        match &self.locate {
            None => Ok(self.client.clone()),
            Some(locate) => {
                let located = locate.locate()?;
                let to = place(&located);
                let client = to.map_or(Ok(located), |to| elsewhere(&self.client, &to));
                client.map_err(|error| self.failed(&error))
            }
        }
    }

    /// Opens a connection to where `client` leads, which is what [`Connector::client`] answered.
    pub(super) fn open_at(&self, seat: &mut Seat, client: &Client) -> Result<(), Fault> {
        seat.0 = Some(self.connect(client, self.within)?);
        Ok(())
    }

    /// Says what is no operation, connecting first where that is needed; each takes so long at most.
    pub(super) fn say(
        &self,
        seat: &mut Seat,
        batch: &Batch,
        within: Duration,
    ) -> Result<Vec<Reply>, Fault> {
        let Open { connection, patience, known, .. } = self.opened(seat, within)?;
        let said = Wire { connection, patience }.say(batch, within);
        match &said {
            Ok(_) => *known = Instant::now(),
            Err(fault) => {
                self.outage.note(fault, *known);
                seat.0 = None;
            }
        }
        said
    }

    /// Asks, connecting first where that is needed.
    pub(super) fn call(
        &self,
        seat: &mut Seat,
        op: &Op,
        manner: Manner,
        within: Duration,
    ) -> Result<Verdict, Fault> {
        let connect_within = manner.connect_within.unwrap_or(self.within).min(self.within);
        let Open { connection, speech, patience, known } = self.opened(seat, connect_within)?;
        let mut wire = Wire { connection, patience };
        let (answer, lost) = wire.carry(op, speech, manner.asking, within);
        match lost {
            None if Verdict::is_from_a_replica(&answer) => {
                // After a failover none of the open ones leads to the primary.
                self.outage.declare(*known);
                seat.0 = None;
            }
            None => *known = Instant::now(),
            Some(fault) => {
                self.outage.note(&fault, *known);
                seat.0 = None;
            }
        }
        answer
    }

    fn opened<'a>(&self, seat: &'a mut Seat, within: Duration) -> Result<&'a mut Open, Fault> {
        let usable = seat.0.take().filter(|open| !self.outage.since(open.known));
        let open = match usable {
            Some(open) => open,
            None => self.connect(&self.client()?, within)?,
        };
        Ok(seat.0.insert(open))
    }

    fn connect(&self, client: &Client, within: Duration) -> Result<Open, Fault> {
        let until = Instant::now() + within;
        let left = || until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let failed = |error: RedisError| self.failed(&error);
        let connection = match client.get_connection_with_timeout(left()) {
            Err(error) if speaks_resp3(client) && refuses_hello(&error) => {
                let plain = resp2(client).map_err(failed)?;
                plain.get_connection_with_timeout(left())
            }
            opened => opened,
        };
        let mut connection = connection.map_err(failed)?;
        if let Some(locate) = &self.locate {
            locate.check(&mut connection, left())?;
        }
        let mut patience = None;
        let mut wire = Wire { connection: &mut connection, patience: &mut patience };
        let speech = wire.enter(self.db, &self.prefix, left()).map_err(failed)?;
        let speech = speech.map_err(|fault| {
            let place = address(self.client.get_connection_info());
            Fault::new(fault.kind(), format!("{place}: {fault}"))
        })?;
        if let Some(server) = &self.server {
            let mut wire = Wire { connection: &mut connection, patience: &mut patience };
            let said = wire.say(&dialect::identify(), left())?;
            *server.lock().unwrap_or_else(PoisonError::into_inner) =
                dialect::identity(said.first())?;
        }
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
pub(super) fn terse(client: &Client) -> RedisResult<(Client, u64)> {
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
