//! A server whose address sentinels know: whoever connects asks them first.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use redis::{Client, Connection, RedisError};
use tairlock::{
    Fault, FaultKind,
    dialect::{is_primary, primary, read_primary, role},
    proto::Address,
    redis::{address, connect_fault, elsewhere},
};

use super::{
    connector::{Locate, terse},
    wire::Wire,
};

/// Three or more sentinels, any of which will do.
pub(crate) struct Sentinels {
    name: String,
    sentinels: Vec<Client>,
    /// How to log in at the primary; where it leads to is replaced.
    template: Client,
    within: Duration,
    /// Who is asked first.
    first: AtomicUsize,
}

impl Sentinels {
    pub(crate) fn new(
        name: String,
        sentinels: Vec<Client>,
        template: Client,
        within: Duration,
    ) -> Self {
        Self { name, sentinels, template, within, first: AtomicUsize::new(0) }
    }

    /// Another one may know more.
    fn distrust(&self) {
        self.first.fetch_add(1, Ordering::Relaxed);
    }

    fn ask(&self, sentinel: &Client, within: Duration) -> Result<Option<Address>, Fault> {
        let place = address(sentinel.get_connection_info());
        let failed = |error: RedisError| connect_fault(&error, &place);
        let (sentinel, _) = terse(sentinel).map_err(failed)?;
        let mut connection = sentinel.get_connection_with_timeout(within).map_err(failed)?;
        let mut wire = Wire { connection: &mut connection, patience: &mut None };
        read_primary(wire.say(&primary(&self.name), within)?.pop())
    }
}

impl Locate for Sentinels {
    fn locate(&self) -> Result<Client, Fault> {
        let text = format!("no sentinel knows a primary called {:?}", self.name);
        let mut failed = Fault::new(FaultKind::Config, text);
        // Who is silent leaves time for others.
        let until = Instant::now() + self.within * 2;
        let (count, first) = (self.sentinels.len(), self.first.load(Ordering::Relaxed));
        for at in (0..count).map(|step| (first + step) % count) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match self.ask(&self.sentinels[at], left.min(self.within / 2)) {
                Ok(Some(address)) => {
                    self.first.store(at, Ordering::Relaxed);
                    let client = elsewhere(&self.template, &address);
                    return client.map_err(|error| connect_fault(&error, &address.to_string()));
                }
                Ok(None) => {}
                Err(fault) => failed = fault,
            }
        }
        self.distrust();
        Err(Fault::new(failed.kind(), failed.to_string()))
    }

    fn check(&self, connection: &mut Connection, within: Duration) -> Result<(), Fault> {
        let told = Wire { connection, patience: &mut None }.say(&role(), within)?;
        is_primary(told.first()).inspect_err(|_| self.distrust())
    }
}

impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the primary {:?} of {} sentinels", self.name, self.sentinels.len())
    }
}
