//! Connections that one caller has at a time: waiting for copies blocks one, and is answered for what it wrote.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use event_listener::Event;

use super::{RedisLine, RedisNode};
use crate::{
    Fault, FaultKind,
    drive::lock,
    node::Role,
    proto::{Confirmed, Verdict},
    runtime::Runtime,
    time,
};

/// How many there are at most, per role and runtime. Each carries one grant, or one batch of renewals, and is
/// taken for as long as copies are waited for.
const MOST: usize = 8;

/// A small pool, opened as it is needed, for one role in one runtime.
pub(super) struct Exclusives {
    /// Opens them; its own lines are never asked for.
    opener: RedisNode,
    role: Role,
    runtime: Runtime,
    places: Mutex<Places>,
    freed: Event,
}

#[derive(Default)]
struct Places {
    idle: Vec<RedisLine>,
    taken: usize,
}

impl Exclusives {
    pub(super) fn new(opener: RedisNode, role: Role, runtime: Runtime) -> Arc<Self> {
        let (places, freed) = (Mutex::default(), Event::new());
        Arc::new(Self { opener, role, runtime, places, freed })
    }

    /// Carries `confirmed` through all of its steps on one connection.
    async fn confirm(&self, confirmed: &Confirmed, asking: bool) -> Result<Verdict, Fault> {
        let mut taken = self.take(confirmed.each).await?;
        let line = match taken.line.take() {
            Some(line) => line,
            None => self.opener.connect(self.role, self.runtime).await?,
        };
        let answer = async {
            let mut confirming = line.speech.confirming(confirmed)?;
            loop {
                let (op, within) = confirming.ask();
                let reply = line.exchange(&op, asking, within).await;
                if let Some(answer) = confirming.hear(reply) {
                    return answer;
                }
            }
        };
        let answer = answer.await;
        // Only what was carried to its end is used again: nothing else is still to come down it.
        taken.line = Some(line);
        answer
    }

    /// A place, waiting for a free one for at most `within`.
    async fn take(&self, within: Duration) -> Result<Taken<'_>, Fault> {
        let until = time::now() + within;
        loop {
            let freed = self.freed.listen();
            {
                let mut places = lock(&self.places);
                if places.taken < MOST {
                    places.taken += 1;
                    return Ok(Taken { of: self, line: places.idle.pop() });
                }
            }
            let left = until.since(time::now());
            if left.is_zero() || Runtime::here()?.limit(left, freed).await.is_none() {
                let text = format!(
                    "none of the {MOST} connections for confirmation was free within {within:?}"
                );
                return Err(Fault::new(FaultKind::Unreachable, text));
            }
        }
    }
}

impl RedisLine {
    /// Has something confirmed, on a connection beside this one.
    pub(super) async fn confirm(
        &self,
        confirmed: &Confirmed,
        asking: bool,
        within: Duration,
    ) -> Result<Verdict, Fault> {
        let Some(exclusive) = &self.exclusive else {
            let text = "to confirm a lock takes connections of the client's own, as waiting for copies \
                        blocks them; build the client by `url` or `redis_client`";
            return Err(Fault::new(FaultKind::Unsupported, text));
        };
        let answer = exclusive.confirm(confirmed, asking);
        Runtime::here()?.limit(within, answer).await.unwrap_or_else(|| {
            let text = format!("no reply within {within:?}");
            Err(Fault::ambiguous(FaultKind::NoReply, text))
        })
    }
}

struct Taken<'a> {
    of: &'a Exclusives,
    line: Option<RedisLine>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut places = lock(&self.of.places);
        places.taken -= 1;
        match self.line.take() {
            // What is idle was open when it broke, and may be as dead.
            Some(line) if line.is_broken() => places.idle.clear(),
            line => places.idle.extend(line),
        }
        drop(places);
        self.of.freed.notify(1);
    }
}
