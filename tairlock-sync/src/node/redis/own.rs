//! Connections of the client's own: a pool for commands, and a single one for the keeper.

use std::{
    convert::Infallible,
    fmt,
    ops::DerefMut,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use r2d2::{ManageConnection, NopErrorHandler, Pool};
use scheduled_thread_pool::{OnPoolDropBehavior, ScheduledThreadPool};
use tairlock::{
    Confirm, Fault, FaultKind,
    dialect::{Batch, Reply},
    doctor::Report,
    proto::{Op, Verdict},
};

use super::{
    super::{Asked, Begun, Line},
    connector::{Connector, Manner, Seat},
};

/// How long a connection may be idle before it is closed.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// What r2d2 pools: places, which cost nothing to make. Who checks a place out connects in it.
///
/// Left to r2d2, connections are opened by its background threads: a refused password or a server that
/// is away shows as a checkout that timed out, after all of its time, without the reason, while those
/// threads go on trying. Opened by who needs it, the reason is at hand, at once, and nothing is tried
/// that nobody waits for.
struct Seats;

impl ManageConnection for Seats {
    type Connection = Seat;
    type Error = Infallible;

    fn connect(&self) -> Result<Seat, Infallible> {
        Ok(Seat::default())
    }

    fn is_valid(&self, _: &mut Seat) -> Result<(), Infallible> {
        Ok(())
    }

    fn has_broken(&self, _: &mut Seat) -> bool {
        false
    }
}

/// Connections for commands, opened as they are needed and used latest first.
pub(crate) struct OwnPool {
    pool: Pool<Seats>,
    connector: Arc<Connector>,
}

impl OwnPool {
    pub(crate) fn new(connector: Arc<Connector>, size: u32) -> Self {
        // One thread makes places and closes what is idle, and ends with the pool; r2d2's own three
        // would stay for half a minute.
        let threads = ScheduledThreadPool::builder()
            .num_threads(1)
            .thread_name_pattern("tairlock-pool")
            .on_drop_behavior(OnPoolDropBehavior::DiscardPendingScheduled)
            .build();
        let pool = Pool::builder()
            .max_size(size)
            .min_idle(Some(0))
            .test_on_check_out(false)
            .idle_timeout(Some(IDLE))
            .max_lifetime(None)
            .error_handler(Box::new(NopErrorHandler))
            .thread_pool(Arc::new(threads))
            .build_unchecked(Seats);
        Self { pool, connector }
    }

    fn seat(&self, within: Duration) -> Result<r2d2::PooledConnection<Seats>, Fault> {
        self.pool.get_timeout(within).map_err(|_| {
            let size = self.pool.max_size();
            let text = format!(
                "none of the pool's {size} connections was free within {within:?}; \
                 raise `pool_size`"
            );
            Fault::new(FaultKind::Unreachable, text)
        })
    }
}

impl OwnPool {
    /// As [`Line::call`], in this manner.
    pub(super) fn ask(&self, op: &Op, manner: Manner, within: Duration) -> Result<Verdict, Fault> {
        let mut seat = self.seat(op.patience(within))?;
        self.connector.call(&mut seat, op, manner, within)
    }

    /// Says what is no operation.
    #[allow(dead_code, reason = "without clusters, nothing is")]
    pub(super) fn say(&self, batch: &Batch, within: Duration) -> Result<Vec<Reply>, Fault> {
        self.connector.say(&mut *self.seat(within)?, batch, within)
    }
}

impl Line for OwnPool {
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.ask(op, Manner::default(), within)
    }

    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>> {
        let mut seat = self.pool.try_get()?;
        self.connector
            .is_open(&seat)
            .then(|| self.connector.call(&mut seat, op, Manner::default(), within))
    }

    fn is_open(&self) -> bool {
        self.pool.try_get().is_some_and(|seat| self.connector.is_open(&seat))
    }

    fn open(&self, within: Duration) -> Result<(), Fault> {
        self.connector.open_within(&mut *self.seat(within)?, within)
    }

    fn ready(&self) -> Result<(), Fault> {
        let mut seat = self.seat(self.connector.within())?;
        self.connector.open(&mut seat)
    }

    fn examine(&self, within: Duration, confirm: Option<Confirm>) -> Result<Report, Fault> {
        self.connector.examine(&mut *self.seat(within)?, confirm)
    }

    fn begin(&self, op: Op, within: Duration) -> Begun<'_> {
        let seat = match self.seat(within) {
            Ok(seat) => seat,
            Err(fault) => return Begun::Over(Err(fault)),
        };
        Asking::begin(seat, &self.connector, op, within)
    }

    fn server(&self) -> Option<Box<str>> {
        self.connector.server()
    }
}

/// A question that was sent and not yet answered. Dropped so, it takes its connection along.
struct Asking<'a, S: DerefMut<Target = Seat>> {
    seat: S,
    connector: &'a Connector,
    op: Op,
    answered: bool,
}

impl<'a, S: DerefMut<Target = Seat> + 'a> Asking<'a, S> {
    fn begin(mut seat: S, connector: &'a Connector, op: Op, within: Duration) -> Begun<'a> {
        match connector.begin(&mut seat, &op, within) {
            Ok(()) => Begun::Asked(Box::new(Self { seat, connector, op, answered: false })),
            Err(fault) => Begun::Over(Err(fault)),
        }
    }
}

impl<S: DerefMut<Target = Seat>> Asked for Asking<'_, S> {
    fn answer(&mut self, until: Instant) -> Result<Verdict, Fault> {
        self.answered = true;
        self.connector.finish(&mut self.seat, &self.op, until)
    }
}

impl<S: DerefMut<Target = Seat>> Drop for Asking<'_, S> {
    fn drop(&mut self) {
        if !self.answered {
            self.seat.give_up();
        }
    }
}

impl fmt::Debug for OwnPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnPool")
            .field("connector", &self.connector)
            .field("size", &self.pool.max_size())
            .finish()
    }
}

/// One connection, for one thread.
pub(crate) struct OwnLine {
    seat: Mutex<Seat>,
    connector: Arc<Connector>,
}

impl OwnLine {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        Self { seat: Mutex::default(), connector }
    }
}

impl OwnLine {
    /// As [`Line::call`], in this manner.
    pub(super) fn ask(&self, op: &Op, manner: Manner, within: Duration) -> Result<Verdict, Fault> {
        let mut seat = self.seat.lock().unwrap_or_else(PoisonError::into_inner);
        self.connector.call(&mut seat, op, manner, within)
    }

    /// Says what is no operation.
    #[allow(dead_code, reason = "without clusters, nothing is")]
    pub(super) fn say(&self, batch: &Batch, within: Duration) -> Result<Vec<Reply>, Fault> {
        let mut seat = self.seat.lock().unwrap_or_else(PoisonError::into_inner);
        self.connector.say(&mut seat, batch, within)
    }
}

impl Line for OwnLine {
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.ask(op, Manner::default(), within)
    }

    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>> {
        let mut seat = self.seat.try_lock().ok()?;
        self.connector
            .is_open(&seat)
            .then(|| self.connector.call(&mut seat, op, Manner::default(), within))
    }

    fn is_open(&self) -> bool {
        self.seat.try_lock().is_ok_and(|seat| self.connector.is_open(&seat))
    }

    fn open(&self, within: Duration) -> Result<(), Fault> {
        let mut seat = self.seat.lock().unwrap_or_else(PoisonError::into_inner);
        self.connector.open_within(&mut seat, within)
    }

    fn ready(&self) -> Result<(), Fault> {
        self.connector.open(&mut self.seat.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn begin(&self, op: Op, within: Duration) -> Begun<'_> {
        let seat = self.seat.lock().unwrap_or_else(PoisonError::into_inner);
        Asking::begin(seat, &self.connector, op, within)
    }

    fn server(&self) -> Option<Box<str>> {
        self.connector.server()
    }
}

impl fmt::Debug for OwnLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnLine").field("connector", &self.connector).finish_non_exhaustive()
    }
}
