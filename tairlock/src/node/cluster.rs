//! A cluster as a node: connections to each of its nodes, and operations that go where their keys are
//! served.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{
    StreamExt, future::join_all, lock::Mutex as AsyncMutex, stream::FuturesUnordered,
};
use redis::Client;

use super::{
    Line, Node, Role, SharedLine,
    redis::{RedisLine, RedisNode, Settings, Source},
};
use crate::{
    Fault, FaultKind,
    dialect::{read_slots, slots},
    drive::lock,
    proto::{Address, Hear, Journey, Leg, News, Op, Range, Topology, Verdict},
    redis::{connect_fault, elsewhere, place},
    runtime::{BoxFuture, Runtime},
    time,
};

/// A cluster of servers of the Redis family.
pub(crate) struct ClusterNode(Arc<Shared>);

struct Shared {
    /// How every node is reached, but for where it is.
    template: Client,
    settings: Settings,
    topology: Mutex<Topology>,
    /// One learns for all.
    learning: AsyncMutex<()>,
    nodes: Mutex<HashMap<Address, Arc<RedisNode>>>,
}

impl ClusterNode {
    /// `seeds` are one or more, on TCP.
    pub(crate) fn new(seeds: &[Client], template: Client, settings: Settings) -> Self {
        let seeds = seeds.iter().filter_map(place).collect();
        let (learning, nodes) = (AsyncMutex::new(()), Mutex::default());
        let topology = Mutex::new(Topology::new(seeds));
        Self(Arc::new(Shared { template, settings, topology, learning, nodes }))
    }
}

impl Shared {
    fn node(&self, to: &Address) -> Result<Arc<RedisNode>, Fault> {
        let mut nodes = lock(&self.nodes);
        if let Some(node) = nodes.get(to) {
            return Ok(Arc::clone(node));
        }
        let client = elsewhere(&self.template, to);
        let client = client.map_err(|error| connect_fault(&error, &to.to_string()))?;
        let node = Arc::new(RedisNode::new(Source::Client(client), self.settings.clone()));
        nodes.insert(to.clone(), Arc::clone(&node));
        Ok(node)
    }

    /// Sees to it that who serves what is known, as far as anybody tells.
    async fn learn(&self, role: Role, of: Runtime, within: Duration) -> Result<(), Fault> {
        if !lock(&self.topology).is_stale() {
            return Ok(());
        }
        let _only_one = self.learning.lock().await;
        let sources = {
            let topology = lock(&self.topology);
            if !topology.is_stale() {
                return Ok(());
            }
            topology.sources()
        };
        let (runtime, limit) = (Runtime::here()?, self.settings.connect_within);
        // Who is silent does not hold up the others, and is not given up either. Who comes to renew may have
        // to be back soon.
        let (patience, until) = ((limit / 4).min(within / 4), time::now() + limit);
        let mut failed = Fault::new(FaultKind::Unreachable, "no node of the cluster is known");
        let (mut sources, mut asked) = (sources.into_iter(), FuturesUnordered::new());
        loop {
            if let Some(source) = sources.next() {
                asked.push(self.ask_slots(source, role, of));
            } else if asked.is_empty() {
                return Err(Fault::new(failed.kind(), failed.to_string()));
            }
            let left = until.since(time::now());
            let wait = if sources.len() > 0 { left.min(patience) } else { left };
            match runtime.limit(wait, asked.next()).await {
                Some(Some((source, Ok(ranges)))) => {
                    self.learned(&source, &ranges);
                    return Ok(());
                }
                Some(Some((source, Err(fault)))) => {
                    let mut topology = lock(&self.topology);
                    let epoch = topology.epoch();
                    topology.failed(&source, epoch, &fault, Duration::ZERO, time::now());
                    failed = fault;
                }
                Some(None) => {}
                None if left.is_zero() => {
                    let text =
                        format!("no node of the cluster told who serves what within {limit:?}");
                    return Err(Fault::new(FaultKind::Unreachable, text));
                }
                None => {}
            }
        }
    }

    async fn ask_slots(
        &self,
        source: Address,
        role: Role,
        of: Runtime,
    ) -> (Address, Result<Vec<Range>, Fault>) {
        let asked = async {
            let line = self.node(&source)?.line_of(role, of).await?;
            read_slots(line.send(&slots()).await?.pop(), &source)
        };
        let told = asked.await;
        (source, told)
    }

    fn learned(&self, from: &Address, ranges: &[Range]) {
        let mut topology = lock(&self.topology);
        topology.answered(from);
        topology.learned(ranges);
        let known = topology.sources();
        drop(topology);
        lock(&self.nodes).retain(|address, _| known.contains(address));
    }

    /// Sends `op` to the nodes that serve its keys, by what `lines` gives for each of them.
    async fn travel(
        &self,
        lines: &dyn Lines,
        op: &Op,
        (role, of): (Role, Runtime),
        within: Duration,
    ) -> Result<Verdict, Fault> {
        self.learn(role, of, within).await?;
        // As with one server, what it takes to find it comes on top.
        let mut journey = Journey::new(op.clone());
        loop {
            let legs = journey.legs(&mut lock(&self.topology), time::now());
            if legs.is_empty() {
                return journey.answer();
            }
            let alone = legs.len() == 1;
            let sent = legs.iter().map(|leg| send(lines, leg, alone, within));
            let replies = join_all(sent).await;
            let mut topology = lock(&self.topology);
            for (leg, reply) in legs.iter().zip(replies) {
                journey.hear(leg, reply, &mut topology, time::now());
            }
        }
    }
}

/// Connections to nodes of a cluster.
trait Lines: Sync {
    fn to<'a>(&'a self, to: &'a Address) -> BoxFuture<'a, Result<Arc<RedisLine>, Fault>>;
}

/// Sends `leg`. Where others go out with it, what it takes to connect is off its time, as all are waited for.
async fn send(
    lines: &dyn Lines,
    leg: &Leg,
    alone: bool,
    within: Duration,
) -> Result<Verdict, Fault> {
    if alone {
        return lines.to(&leg.to).await?.ask(&leg.op, leg.asking, within).await;
    }
    let until = time::now() + within;
    let opened = Runtime::here()?.limit(within, lines.to(&leg.to)).await;
    let line = opened.unwrap_or_else(|| {
        let text = format!("{}: no connection in time", leg.to);
        Err(Fault::new(FaultKind::Unreachable, text))
    })?;
    line.ask(&leg.op, leg.asking, until.since(time::now())).await
}

impl Node for ClusterNode {
    fn line(&self, role: Role) -> BoxFuture<'_, Result<SharedLine, Fault>> {
        Box::pin(async move {
            let runtime = Runtime::here()?;
            let known = lock(&self.0.topology).epoch() > 0;
            if !known {
                self.0.learn(role, runtime, self.0.settings.connect_within).await?;
            }
            let shared = Arc::clone(&self.0);
            Ok(Arc::new(ClusterLine { shared, role, runtime }) as SharedLine)
        })
    }

    fn listen(&self, hear: Hear) -> BoxFuture<'_, Result<SharedLine, Fault>> {
        Box::pin(async move {
            let runtime = Runtime::here()?;
            let (shared, ears) = (Arc::clone(&self.0), Mutex::default());
            let ears = Ears { shared, hear, runtime, ears };
            self.0.learn(Role::Keeper, runtime, self.0.settings.connect_within).await?;
            // Whether that can be had at all shows at any of them.
            let first = lock(&self.0.topology).primaries().first().cloned();
            if let Some(first) = first {
                ears.to(&first).await?;
            }
            Ok(Arc::new(ears) as SharedLine)
        })
    }

    fn place(&self) -> String {
        "the cluster".to_owned()
    }
}

/// All connections for one role of those who run in one runtime. What undoes an operation goes down the
/// connection that carried it, from wherever it is sent.
struct ClusterLine {
    shared: Arc<Shared>,
    role: Role,
    runtime: Runtime,
}

impl Lines for ClusterLine {
    fn to<'a>(&'a self, to: &'a Address) -> BoxFuture<'a, Result<Arc<RedisLine>, Fault>> {
        Box::pin(async move { self.shared.node(to)?.line_of(self.role, self.runtime).await })
    }
}

impl Line for ClusterLine {
    fn call<'a>(&'a self, op: &'a Op, within: Duration) -> BoxFuture<'a, Result<Verdict, Fault>> {
        Box::pin(self.shared.travel(self, op, (self.role, self.runtime), within))
    }
}

/// A listener per node, opened when something is first asked about there. One that is lost takes no other
/// with it.
struct Ears {
    shared: Arc<Shared>,
    hear: Hear,
    runtime: Runtime,
    ears: Mutex<HashMap<Address, Arc<Ear>>>,
}

#[derive(Default)]
struct Ear {
    line: Mutex<Option<Arc<RedisLine>>>,
    opening: AsyncMutex<()>,
}

impl Ear {
    fn usable(&self) -> Option<Arc<RedisLine>> {
        lock(&self.line).clone().filter(|line| !line.is_broken())
    }
}

impl Lines for Ears {
    fn to<'a>(&'a self, to: &'a Address) -> BoxFuture<'a, Result<Arc<RedisLine>, Fault>> {
        Box::pin(async move {
            let ear = Arc::clone(lock(&self.ears).entry(to.clone()).or_default());
            if let Some(line) = ear.usable() {
                return Ok(line);
            }
            let _only_one = ear.opening.lock().await;
            if let Some(line) = ear.usable() {
                return Ok(line);
            }
            if lock(&ear.line).take().is_some() {
                // What it would have told is missed.
                (self.hear)(News::Everything);
            }
            let (hear, of_ear) = (Arc::clone(&self.hear), Arc::downgrade(&ear));
            let hear: Hear = Arc::new(move |news| match news {
                News::Lost => {
                    if let Some(ear) = of_ear.upgrade() {
                        drop(lock(&ear.line).take());
                        hear(News::Everything);
                    }
                }
                news => hear(news),
            });
            let line = self.shared.node(to)?.listener_of(hear).await?;
            *lock(&ear.line) = Some(Arc::clone(&line));
            Ok(line)
        })
    }
}

impl Line for Ears {
    fn call<'a>(&'a self, op: &'a Op, within: Duration) -> BoxFuture<'a, Result<Verdict, Fault>> {
        Box::pin(async move {
            let of = (Role::Keeper, self.runtime);
            let answer = self.shared.travel(self, op, of, within).await;
            answer.map_err(Fault::of_one_node)
        })
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(lock(&self.topology).sources()).finish()
    }
}

impl fmt::Debug for ClusterNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClusterNode").field(&self.0).finish()
    }
}

impl fmt::Debug for ClusterLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterLine").field("role", &self.role).finish_non_exhaustive()
    }
}

impl fmt::Debug for Ears {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ears")
    }
}
