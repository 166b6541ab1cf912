//! A connection of the older protocol that is told of changes, and the thread that reads it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use event_listener::{Event, Listener};
use redis::{Client, Connection, ConnectionLike, RedisResult, Value};

use super::{address, changed, connect_fault, pipeline, resp2};
use crate::{
    Fault, FaultKind, dialect,
    proto::{Hear, News},
};

/// How often the thread looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(500);

/// Hears of the changes of keys that were asked about on a connection that is tracked for it.
///
/// It reads from a thread of its own, which ends soon after this was dropped.
pub struct Ear(Arc<Shared>);

#[derive(Default)]
struct Shared {
    over: AtomicBool,
    opened: Mutex<Option<Result<u64, Fault>>>,
    bell: Event,
}

impl Ear {
    /// Begins to open one at the server of `client`, which may take as long as `within`.
    ///
    /// # Errors
    /// Where the operating system gives no thread.
    pub fn open(client: &Client, within: Duration, hear: Hear) -> Result<Self, Fault> {
        let shared = Arc::<Shared>::default();
        let place = address(client.get_connection_info());
        let client = resp2(client).map_err(|error| connect_fault(&error, &place))?;
        let of_thread = Arc::clone(&shared);
        let run = move || match open(&client, within) {
            Ok((connection, id)) => of_thread.read(connection, id, &hear),
            Err(error) => of_thread.tell(Err(connect_fault(&error, &place))),
        };
        let thread = std::thread::Builder::new().name("tairlock-listener".into()).spawn(run);
        thread.map_err(|_| {
            Fault::new(FaultKind::Config, "the operating system gives no thread for the listener")
        })?;
        Ok(Self(shared))
    }

    /// What the server calls its connection, once it is open.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub async fn id(&self) -> Result<u64, Fault> {
        loop {
            let bell = self.0.bell.listen();
            if let Some(opened) = self.0.opened() {
                return opened;
            }
            bell.await;
        }
    }

    /// As [`Ear::id`], for a thread.
    ///
    /// # Errors
    /// As [`Ear::id`].
    pub fn wait_id(&self) -> Result<u64, Fault> {
        loop {
            let bell = self.0.bell.listen();
            if let Some(opened) = self.0.opened() {
                return opened;
            }
            bell.wait();
        }
    }
}

fn open(client: &Client, within: Duration) -> RedisResult<(Connection, u64)> {
    let mut connection = client.get_connection_with_timeout(within)?;
    connection.set_read_timeout(Some(within))?;
    connection.set_write_timeout(Some(within))?;
    // Not by `PubSub::subscribe`, which takes a refusal for a confirmation.
    let batch = dialect::overhear();
    let said = pipeline(&batch).get_packed_pipeline();
    let mut replies = connection.req_packed_commands(&said, 0, batch.len())?.into_iter();
    match (replies.next(), replies.next()) {
        (Some(Value::ServerError(error)), _) | (_, Some(Value::ServerError(error))) => {
            Err(error.into())
        }
        (Some(Value::Int(id)), Some(_)) => Ok((connection, id.unsigned_abs())),
        _ => Err((redis::ErrorKind::UnexpectedReturnType, "no name of a connection").into()),
    }
}

impl Shared {
    fn read(&self, mut connection: Connection, id: u64, hear: &Hear) {
        let mut listening = connection.as_pubsub();
        if let Err(error) = listening.set_read_timeout(Some(LOOK)) {
            return self.tell(Err(connect_fault(&error, "the listener")));
        }
        self.tell(Ok(id));
        while !self.over.load(Ordering::Relaxed) {
            match listening.get_message() {
                Ok(message) => match message.get_payload::<Value>() {
                    Ok(keys) => changed(&keys, &|news| hear(news)),
                    Err(_) => hear(News::Everything),
                },
                Err(error) if error.is_timeout() => {}
                Err(_) => break,
            }
        }
        hear(News::Lost);
    }

    fn tell(&self, opened: Result<u64, Fault>) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        self.bell.notify(usize::MAX);
    }

    fn opened(&self) -> Option<Result<u64, Fault>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for Ear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ear")
    }
}
