//! One connection, and what goes over it within deadlines.

use std::time::{Duration, Instant};

use redis::{Connection, RedisError, RedisResult, Value};
use tairlock::{
    Fault, FaultKind,
    dialect::{Batch, Detection, Exchange, Reply, Speech, select},
    proto::{Op, Verdict},
    redis::{pipeline, reply, sent_fault, unused_key},
};

/// Below this, sockets take no timeout for one.
const SHORTEST: Duration = Duration::from_millis(1);

/// A connection for as long as one operation takes.
///
/// After an error of any of its methods the connection must not be used again: what is still to come
/// down it would be taken for the answer to a later question. redis-rs counts such replies and skips
/// them, but a lock's reply decides who holds it, and a count is not enough to stake that on.
pub(super) struct Wire<'a> {
    pub(super) connection: &'a mut Connection,
    /// The socket's timeouts, where they are known.
    pub(super) patience: &'a mut Option<Duration>,
}

impl Wire<'_> {
    /// Carries `op` through as many rounds as it needs, with word before each command that we were sent
    /// here, if `asking`. The outer error is the connection's.
    pub(super) fn exchange(
        &mut self,
        op: &Op,
        speech: &Speech,
        asking: bool,
        within: Duration,
    ) -> Result<Result<Verdict, Fault>, Fault> {
        let until = Instant::now() + within;
        self.ask(op, speech, asking, within)?;
        self.hear(op, speech, asking, until)
    }

    /// Sends what `op` begins with.
    pub(super) fn ask(
        &mut self,
        op: &Op,
        speech: &Speech,
        asking: bool,
        within: Duration,
    ) -> Result<(), Fault> {
        self.wait_for(within).map_err(|error| lost(&error, within))?;
        let begun = Exchange::new(op, speech).asking(asking).batch();
        self.write(&begun).map_err(|error| lost(&error, within))
    }

    /// Reads what was answered to [`Wire::ask`], and carries `op` on. The outer error is the connection's.
    pub(super) fn hear(
        &mut self,
        op: &Op,
        speech: &Speech,
        asking: bool,
        until: Instant,
    ) -> Result<Result<Verdict, Fault>, Fault> {
        let within = until.saturating_duration_since(Instant::now());
        let mut exchange = Exchange::new(op, speech).asking(asking);
        // Nothing has been learned since it was sent, so it is the same.
        let mut expected = exchange.batch().len();
        loop {
            let replies = self.read(expected, until).map_err(|error| lost(&error, within))?;
            match exchange.hear(replies) {
                // A reply that makes no sense may be the reply to something else.
                Some(Err(fault)) if fault.kind() == FaultKind::Protocol => return Err(fault),
                Some(answer) => return Ok(answer),
                None => self.hurry(until).map_err(|error| lost(&error, within))?,
            }
            let batch = exchange.batch();
            expected = batch.len();
            self.write(&batch).map_err(|error| lost(&error, within))?;
        }
    }

    /// As [`Wire::exchange`], through every step of what copies are to confirm. What broke the connection, if
    /// something did, comes second: after that nothing is sent down it.
    pub(super) fn carry(
        &mut self,
        op: &Op,
        speech: &Speech,
        asking: bool,
        within: Duration,
    ) -> (Result<Verdict, Fault>, Option<Fault>) {
        let Op::Confirmed(confirmed) = op else {
            return match self.exchange(op, speech, asking, within) {
                Ok(answer) => (answer, None),
                Err(fault) => (Err(fault.clone()), Some(fault)),
            };
        };
        let mut confirming = match speech.confirming(confirmed) {
            Ok(confirming) => confirming,
            Err(fault) => return (Err(fault), None),
        };
        let mut lost = None;
        loop {
            let (op, within) = confirming.ask();
            let reply = match &lost {
                None => self.exchange(&op, speech, asking, within),
                Some(fault) => Err(Fault::clone(fault)),
            };
            let reply = reply.unwrap_or_else(|fault| Err(lost.insert(fault).clone()));
            if let Some(answer) = confirming.hear(reply) {
                return (answer, lost);
            }
        }
    }

    /// Turns to database `db`, unless that is 0, and finds out what the server can do. The outer error
    /// is the connection's.
    pub(super) fn enter(
        &mut self,
        db: u64,
        prefix: &[u8],
        within: Duration,
    ) -> RedisResult<Result<Speech, Fault>> {
        let until = Instant::now() + within;
        let (detection, mut batch) = match unused_key(prefix) {
            Some(key) => {
                let (detection, batch) = Detection::begin(&key);
                (Some(detection), batch)
            }
            None => (None, Batch::new()),
        };
        if db != 0 {
            batch.insert(0, select(db));
        }
        self.wait_for(within)?;
        let mut replies = self.send(&batch, until)?;
        if db != 0
            && let Reply::Error(fault) = replies.remove(0)
        {
            return Ok(Err(fault));
        }
        Ok(detection.map_or_else(|| Ok(Speech::default()), |it| it.finish(&replies)))
    }

    /// Says what is no operation.
    pub(super) fn say(&mut self, batch: &Batch, within: Duration) -> Result<Vec<Reply>, Fault> {
        let until = Instant::now() + within;
        self.wait_for(within).map_err(|error| lost(&error, within))?;
        self.send(batch, until).map_err(|error| lost(&error, within))
    }

    fn send(&mut self, batch: &Batch, until: Instant) -> RedisResult<Vec<Reply>> {
        self.write(batch)?;
        self.read(batch.len(), until)
    }

    fn write(&mut self, batch: &Batch) -> RedisResult<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.connection.send_packed_command(&pipeline(batch).get_packed_pipeline())
    }

    fn read(&mut self, expected: usize, until: Instant) -> RedisResult<Vec<Reply>> {
        let mut replies = Vec::with_capacity(expected);
        while replies.len() < expected {
            match self.connection.recv_response()? {
                Value::Push { .. } => {}
                value => replies.push(reply(value)),
            }
            if replies.len() < expected {
                self.hurry(until)?;
            }
        }
        Ok(replies)
    }

    /// Waits until then for the next reply.
    pub(super) fn patient(&mut self, until: Instant) -> Result<(), Fault> {
        let left = until.saturating_duration_since(Instant::now());
        self.wait_for(left).map_err(|error| lost(&error, left))
    }

    /// Sets the socket's timeouts, unless they are what they should be.
    fn wait_for(&mut self, within: Duration) -> RedisResult<()> {
        let within = within.max(SHORTEST);
        if *self.patience != Some(within) {
            *self.patience = None;
            self.connection.set_read_timeout(Some(within))?;
            self.connection.set_write_timeout(Some(within))?;
            *self.patience = Some(within);
        }
        Ok(())
    }

    /// A timeout is for one read, a deadline for all of them: what was used up is taken off, once it
    /// is more than an eighth.
    fn hurry(&mut self, until: Instant) -> RedisResult<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
        }
        match *self.patience {
            Some(set) if left >= set - set / 8 => Ok(()),
            _ => self.wait_for(left),
        }
    }
}

fn lost(error: &RedisError, within: Duration) -> Fault {
    if error.is_timeout() {
        Fault::ambiguous(FaultKind::NoReply, format!("no reply within {within:?}"))
    } else {
        sent_fault(error)
    }
}
