//! A server whose address sentinels know: whoever connects asks them first.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use redis::Client;

use super::{
    Role,
    redis::{Locate, RedisLine, reach},
};
use crate::{
    Fault, FaultKind,
    dialect::{is_primary, primary, read_primary, role},
    proto::Address,
    redis::{connect_fault, elsewhere},
    runtime::{BoxFuture, Runtime},
};

/// Three or more sentinels, any of which will do.
pub(crate) struct Sentinels {
    name: String,
    sentinels: Vec<Client>,
    /// How to log in at the primary; where it leads to is replaced.
    template: Client,
    /// After how long without an answer another one is asked as well.
    patience: Duration,
    /// Who is asked first.
    first: AtomicUsize,
}

impl Sentinels {
    pub(crate) fn new(
        name: String,
        sentinels: Vec<Client>,
        template: Client,
        connect_within: Duration,
    ) -> Self {
        let (patience, first) = (connect_within / 4, AtomicUsize::new(0));
        Self { name, sentinels, template, patience, first }
    }

    /// Another one may know more.
    fn distrust(&self) {
        self.first.fetch_add(1, Ordering::Relaxed);
    }

    async fn ask(&self, at: usize, runtime: Runtime) -> (usize, Result<Option<Address>, Fault>) {
        let asked = async {
            let sentinel = &self.sentinels[at];
            let line = RedisLine::new(reach(sentinel, Role::Keeper, runtime).await?);
            read_primary(line.send(&primary(&self.name)).await?.pop())
        };
        let told = asked.await;
        (at, told)
    }

    fn found(&self, at: usize, address: &Address) -> Result<Client, Fault> {
        self.first.store(at, Ordering::Relaxed);
        let client = elsewhere(&self.template, address);
        client.map_err(|error| connect_fault(&error, &address.to_string()))
    }
}

impl Locate for Sentinels {
    fn locate(&self, runtime: Runtime) -> BoxFuture<'_, Result<Client, Fault>> {
        Box::pin(async move {
            let here = Runtime::here()?;
            let text = format!("no sentinel knows a primary called {:?}", self.name);
            let mut failed = Fault::new(FaultKind::Config, text);
            let (count, first) = (self.sentinels.len(), self.first.load(Ordering::Relaxed));
            let mut next = (0..count).map(|step| (first + step) % count);
            let mut asked = FuturesUnordered::new();
            // Whoever waits for this has a deadline.
            loop {
                if let Some(at) = next.next() {
                    asked.push(self.ask(at, runtime));
                } else if asked.is_empty() {
                    self.distrust();
                    return Err(failed);
                }
                // Who is silent does not hold up the others, and is not given up either.
                let wait = if next.len() > 0 { self.patience } else { Duration::MAX };
                match here.limit(wait, asked.next()).await {
                    Some(Some((at, Ok(Some(address))))) => return self.found(at, &address),
                    Some(Some((_, Err(fault)))) => failed = fault,
                    Some(Some((_, Ok(None))) | None) | None => {}
                }
            }
        })
    }

    fn check<'a>(&'a self, line: &'a RedisLine) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let told = line.send(&role()).await?;
            is_primary(told.first()).inspect_err(|_| self.distrust())
        })
    }
}

impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the primary {:?} of {} sentinels", self.name, self.sentinels.len())
    }
}
