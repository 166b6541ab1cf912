//! A server of the Redis family as a node: connections that come back by themselves, one per role and
//! runtime.

mod examining;
mod exclusive;

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use exclusive::Exclusives;
use futures_util::lock::Mutex as AsyncMutex;
use redis::{
    AsyncConnectionConfig, Client, PushInfo,
    aio::{ConnectionLike, ConnectionManager, MultiplexedConnection},
};

use super::{Line, Node, Role, SharedLine};
use crate::{
    Confirm, Fault, FaultKind,
    dialect::{self, Batch, Detection, Exchange, Reply, Speech},
    doctor::Report,
    proto::{Hear, Op, Verdict},
    redis::{
        Ear, address, connect_fault, news, pipeline, refuses_hello, reply, resp2, resp3,
        sent_fault, speaks_resp3, unused_key,
    },
    runtime::{BoxFuture, Runtime},
};

/// What there is to connect with.
#[derive(Clone)]
pub(crate) enum Source {
    /// An address: a connection of our own per role.
    Client(Client),
    /// The caller's connection, for everything; it does not come back when it breaks.
    Connection(MultiplexedConnection),
    /// The caller's connection, for everything; it comes back by itself.
    Manager(ConnectionManager),
    /// Somebody knows the address, which may be another one next time: a connection of our own per role.
    #[allow(dead_code, reason = "without sentinels, nobody does")]
    Known(Arc<dyn Locate>),
}

/// Who knows where the server is.
pub(crate) trait Locate: fmt::Debug + Send + Sync {
    /// Where it is now.
    fn locate(&self, runtime: Runtime) -> BoxFuture<'_, Result<Client, Fault>>;

    /// Whether the server at the other end of `line` is the one, and will do.
    fn check<'a>(&'a self, line: &'a RedisLine) -> BoxFuture<'a, Result<(), Fault>>;
}

/// How a node connects, and how it tells what the server can do.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) connect_within: Duration,
    /// In front of the key that detection asks about, so that a user confined to it may ask.
    pub(crate) prefix: Arc<[u8]>,
    /// Whether to find out which server it is.
    pub(crate) identify: bool,
}

pub(crate) struct RedisNode {
    source: Source,
    settings: Settings,
    slots: Mutex<HashMap<(Role, Runtime), Arc<Slot>>>,
    exclusives: Mutex<HashMap<(Role, Runtime), Arc<Exclusives>>>,
}

/// Where the connection for one role stands. A connection lives and dies with the runtime that opened
/// it, so every runtime has its own.
#[derive(Default)]
struct Slot {
    line: Mutex<Option<Arc<RedisLine>>>,
    connecting: AsyncMutex<()>,
}

impl Slot {
    fn usable(&self) -> Option<Arc<RedisLine>> {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.clone().filter(|line| !line.is_broken())
    }
}

impl RedisNode {
    pub(crate) fn new(source: Source, settings: Settings) -> Self {
        Self { source, settings, slots: Mutex::default(), exclusives: Mutex::default() }
    }

    fn slot(&self, role: Role, runtime: Runtime) -> Arc<Slot> {
        // The caller's own connection is one, whoever uses it.
        let one = matches!(self.source, Source::Connection(_) | Source::Manager(_));
        let role = if one { Role::Commands } else { role };
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry((role, runtime)).or_default())
    }

    /// The connections that are not shared, where any can be opened.
    fn exclusives(&self, role: Role, runtime: Runtime) -> Option<Arc<Exclusives>> {
        if matches!(self.source, Source::Connection(_) | Source::Manager(_)) {
            return None;
        }
        let mut exclusives = self.exclusives.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = exclusives.entry((role, runtime)).or_insert_with(|| {
            let opener = Self::new(self.source.clone(), self.settings.clone());
            Exclusives::new(opener, role, runtime)
        });
        Some(Arc::clone(opened))
    }

    async fn connect(&self, role: Role, runtime: Runtime) -> Result<RedisLine, Fault> {
        let within = self.settings.connect_within;
        let place = self.place();
        let attempt = async {
            let wire = self.open(role, runtime).await?;
            let line = RedisLine::new(wire);
            if let Source::Known(locate) = &self.source {
                locate.check(&line).await?;
            }
            let speech = line.detect(&self.settings.prefix).await?;
            let server = match self.settings.identify {
                true => dialect::identity(line.send(&dialect::identify()).await?.first())?,
                false => None,
            };
            Ok(RedisLine { speech, server, ..line })
        };
        Runtime::here()?.limit(within, attempt).await.unwrap_or_else(|| {
            let text = format!("{place}: no connection within {within:?}");
            Err(Fault::new(FaultKind::Unreachable, text))
        })
    }

    async fn open(&self, role: Role, runtime: Runtime) -> Result<Wire, Fault> {
        let client = match &self.source {
            Source::Client(client) => client,
            Source::Known(locate) => &locate.locate(runtime).await?,
            Source::Connection(connection) => return Ok(Wire::Connection(connection.clone())),
            Source::Manager(manager) => return Ok(Wire::Manager(manager.clone())),
        };
        reach(client, role, runtime).await
    }

    /// In the newer protocol one connection both asks and is told; in the older one, two.
    async fn listener(&self, hear: Hear, runtime: Runtime) -> Result<RedisLine, Fault> {
        let client = match &self.source {
            Source::Client(client) => client,
            Source::Known(locate) => &locate.locate(runtime).await?,
            Source::Connection(_) | Source::Manager(_) => {
                let text = "the caller's own connection cannot be listened on";
                return Err(Fault::new(FaultKind::Unsupported, text));
            }
        };
        let failed = |error| connect_fault(&error, &self.place());
        let told = Arc::clone(&hear);
        let push = move |push: PushInfo| {
            news(&push.kind, &push.data, &*told);
            Ok::<_, std::convert::Infallible>(())
        };
        let newer = resp3(client).map_err(failed)?;
        // On the keepers' thread, which no task of the program can block.
        let role = Role::Keeper;
        let opened = multiplexed(&newer, role, runtime, &quiet().set_push_sender(push)).await;
        let (line, elsewhere) = match opened {
            Ok(connection) => (RedisLine::new(Wire::Connection(connection)), None),
            Err(error) if refuses_hello(&error) => {
                let older = resp2(client).map_err(failed)?;
                let ear = Ear::open(&older, self.settings.connect_within, hear)?;
                let id = ear.id().await?;
                let opened = multiplexed(&older, role, runtime, &quiet()).await;
                let wire = Wire::Connection(opened.map_err(failed)?);
                (RedisLine { _ear: Some(ear), ..RedisLine::new(wire) }, Some(id))
            }
            Err(error) => return Err(failed(error)),
        };
        dialect::tracks(line.send(&dialect::track(elsewhere)).await?.first())?;
        Ok(line)
    }

    /// As [`Node::line`]: the one for those who run in `runtime`, wherever it is asked for.
    pub(super) async fn line_of(
        &self,
        role: Role,
        runtime: Runtime,
    ) -> Result<Arc<RedisLine>, Fault> {
        let slot = self.slot(role, runtime);
        if let Some(line) = slot.usable() {
            return Ok(line);
        }
        let _only_one = slot.connecting.lock().await;
        if let Some(line) = slot.usable() {
            return Ok(line);
        }
        let line = self.connect(role, runtime).await?;
        let exclusive = self.exclusives(role, runtime);
        let line = Arc::new(RedisLine { exclusive, ..line });
        *slot.line.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&line));
        Ok(line)
    }

    /// As [`Node::listen`], for one that is known to be of this kind.
    pub(super) async fn listener_of(&self, hear: Hear) -> Result<Arc<RedisLine>, Fault> {
        let runtime = Runtime::here()?;
        let within = self.settings.connect_within;
        let opened = runtime.limit(within, self.listener(hear, runtime)).await;
        let late = || Fault::new(FaultKind::Unreachable, "no listener in time");
        opened.unwrap_or_else(|| Err(late())).map(Arc::new)
    }
}

/// A connection to where `client` leads, in the newer protocol only where the server knows it.
pub(super) async fn reach(client: &Client, role: Role, runtime: Runtime) -> Result<Wire, Fault> {
    let failed =
        |error: redis::RedisError| connect_fault(&error, &address(client.get_connection_info()));
    match multiplexed(client, role, runtime, &quiet()).await {
        Ok(connection) => Ok(Wire::Connection(connection)),
        Err(error) if speaks_resp3(client) && refuses_hello(&error) => {
            let plain = resp2(client).map_err(failed)?;
            let opened = multiplexed(&plain, role, runtime, &quiet()).await;
            opened.map(Wire::Connection).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

async fn multiplexed(
    client: &Client,
    role: Role,
    runtime: Runtime,
    config: &AsyncConnectionConfig,
) -> redis::RedisResult<MultiplexedConnection> {
    match role {
        Role::Commands => runtime.dial(client, config).await,
        Role::Keeper => runtime.dial_for_keeper(client, config).await,
    }
}

/// Both deadlines are ours: a command's depends on its TTL, and a connection's covers detection.
fn quiet() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None)
}

impl Node for RedisNode {
    fn line(&self, role: Role) -> BoxFuture<'_, Result<SharedLine, Fault>> {
        Box::pin(async move { Ok(self.line_of(role, Runtime::here()?).await? as SharedLine) })
    }

    fn listen(&self, hear: Hear) -> BoxFuture<'_, Result<SharedLine, Fault>> {
        Box::pin(async move { Ok(self.listener_of(hear).await? as SharedLine) })
    }

    fn examine(
        &self,
        within: Duration,
        confirm: Option<Confirm>,
    ) -> BoxFuture<'_, Result<Report, Fault>> {
        Box::pin(self.examined(within, confirm))
    }

    fn place(&self) -> String {
        match &self.source {
            Source::Client(client) => address(client.get_connection_info()),
            Source::Connection(_) | Source::Manager(_) => "the given connection".to_owned(),
            Source::Known(locate) => format!("{locate:?}"),
        }
    }
}

impl fmt::Debug for RedisNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisNode({})", self.place())
    }
}

pub(super) enum Wire {
    Connection(MultiplexedConnection),
    Manager(ConnectionManager),
}

pub(crate) struct RedisLine {
    wire: Wire,
    speech: Speech,
    broken: AtomicBool,
    /// Where what must not be shared goes.
    exclusive: Option<Arc<Exclusives>>,
    /// Which server it is.
    server: Option<Box<str>>,
    /// Who is told, where that is another connection.
    _ear: Option<Ear>,
}

impl RedisLine {
    pub(super) fn new(wire: Wire) -> Self {
        let (speech, broken) = (Speech::default(), AtomicBool::new(false));
        Self { wire, speech, broken, exclusive: None, server: None, _ear: None }
    }

    /// Whether callers to come are not to be sent down here.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    pub(super) async fn send(&self, batch: &Batch) -> Result<Vec<Reply>, Fault> {
        let pipeline = pipeline(batch);
        let sent = match &self.wire {
            Wire::Connection(connection) => {
                connection.clone().req_packed_commands(&pipeline, 0, batch.len()).await
            }
            Wire::Manager(manager) => {
                manager.clone().req_packed_commands(&pipeline, 0, batch.len()).await
            }
        };
        match sent {
            Ok(values) => Ok(values.into_iter().map(reply).collect()),
            Err(error) => {
                if error.is_unrecoverable_error() || error.is_io_error() {
                    self.broken.store(true, Ordering::Relaxed);
                }
                Err(sent_fault(&error))
            }
        }
    }

    async fn detect(&self, prefix: &[u8]) -> Result<Speech, Fault> {
        let Some(key) = unused_key(prefix) else { return Ok(Speech::default()) };
        let (detection, batch) = Detection::begin(&key);
        detection.finish(&self.send(&batch).await?)
    }
}

impl RedisLine {
    /// As [`Line::call`], with word before each command that we were sent here, if `asking`.
    pub(super) async fn ask(
        &self,
        op: &Op,
        asking: bool,
        within: Duration,
    ) -> Result<Verdict, Fault> {
        match op {
            Op::Confirmed(confirmed) => self.confirm(confirmed, asking, within).await,
            _ => self.exchange(op, asking, within).await,
        }
    }

    async fn exchange(&self, op: &Op, asking: bool, within: Duration) -> Result<Verdict, Fault> {
        let answer = async {
            let mut exchange = Exchange::new(op, &self.speech).asking(asking);
            loop {
                let replies = self.send(&exchange.batch()).await?;
                if let Some(answer) = exchange.hear(replies) {
                    return answer;
                }
            }
        };
        let answer = Runtime::here()?.limit(within, answer).await.unwrap_or_else(|| {
            // Callers to come are not sent down here.
            self.broken.store(true, Ordering::Relaxed);
            let text = format!("no reply within {within:?}");
            Err(Fault::ambiguous(FaultKind::NoReply, text))
        });
        if Verdict::is_from_a_replica(&answer) {
            self.broken.store(true, Ordering::Relaxed);
        }
        answer
    }
}

impl Line for RedisLine {
    fn call<'a>(&'a self, op: &'a Op, within: Duration) -> BoxFuture<'a, Result<Verdict, Fault>> {
        Box::pin(self.ask(op, false, within))
    }

    fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }
}

impl fmt::Debug for RedisLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLine").field("speech", &self.speech).finish()
    }
}
