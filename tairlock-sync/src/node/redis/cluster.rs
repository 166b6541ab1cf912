//! A cluster as a node: connections to each of its nodes, and operations that go where their keys are
//! served.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use redis::Client;
use tairlock::{
    Fault, FaultKind,
    dialect::{read_slots, slots},
    proto::{Address, Hear, Journey, Leg, Op, Topology, Verdict},
    redis::{connect_fault, elsewhere, place},
    time,
};

use super::{
    super::{Line, Listen, SharedLine},
    connector::{Connector, Manner},
    ears::Ears,
    own::{OwnLine, OwnPool},
    spare::SpareLines,
};
use crate::drive::lock;

/// What any node may take to tell who serves what.
const LEAST: Duration = Duration::from_millis(50);

/// A cluster of servers of the Redis family.
pub(crate) struct Cluster {
    /// How every node is reached, but for where it is.
    template: Client,
    prefix: Arc<[u8]>,
    within: Duration,
    pool_size: u32,
    topology: Mutex<Topology>,
    /// One learns for all.
    learning: Mutex<()>,
    nodes: Mutex<HashMap<Address, Arc<Member>>>,
}

/// One node of it.
pub(super) struct Member {
    pub(super) connector: Arc<Connector>,
    commands: OwnPool,
    keeper: OwnLine,
    spare: SpareLines,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// What callers ask for.
    Commands,
    /// Renewals, and releases in place of guards.
    Keeper,
    /// Renewals that copies confirm.
    Confirm,
}

impl Cluster {
    /// `seeds` are one or more, on TCP; the first says how to reach all nodes.
    pub(crate) fn new(
        seeds: &[Client],
        prefix: Arc<[u8]>,
        within: Duration,
        pool_size: u32,
    ) -> Self {
        let topology = Mutex::new(Topology::new(seeds.iter().filter_map(place).collect()));
        let (learning, nodes) = (Mutex::default(), Mutex::default());
        let template = seeds[0].clone();
        Self { template, prefix, within, pool_size, topology, learning, nodes }
    }

    pub(super) fn member(&self, at: &Address) -> Result<Arc<Member>, Fault> {
        let mut nodes = lock(&self.nodes);
        if let Some(member) = nodes.get(at) {
            return Ok(Arc::clone(member));
        }
        let failed = |error: redis::RedisError| connect_fault(&error, &at.to_string());
        let client = elsewhere(&self.template, at).map_err(failed)?;
        let connector = Connector::new(&client, Arc::clone(&self.prefix), self.within);
        let connector = Arc::new(connector.map_err(failed)?);
        let commands = OwnPool::new(Arc::clone(&connector), self.pool_size);
        let keeper = OwnLine::new(Arc::clone(&connector));
        let spare = SpareLines::new(Arc::clone(&connector));
        let member = Arc::new(Member { connector, commands, keeper, spare });
        nodes.insert(at.clone(), Arc::clone(&member));
        Ok(member)
    }

    /// Sees to it that who serves what is known, as far as anybody tells.
    ///
    /// Once something is known, no single node is waited for for longer than half of what a caller has:
    /// who comes to renew may have to be back soon.
    pub(super) fn learn(&self, role: Role, within: Duration) -> Result<(), Fault> {
        if !lock(&self.topology).is_stale() {
            return Ok(());
        }
        let _only_one = lock(&self.learning);
        let (sources, known) = {
            let topology = lock(&self.topology);
            if !topology.is_stale() {
                return Ok(());
            }
            (topology.sources(), topology.epoch() > 0)
        };
        let share = if known { self.within.min((within / 2).max(LEAST)) } else { self.within };
        // Those that were silent come last; one that has become so leaves time for another.
        let until = Instant::now() + share * 2;
        let mut failed = Fault::new(FaultKind::Unreachable, "no node of the cluster is known");
        for source in sources {
            let told = self.member(&source).and_then(|member| {
                let replies = match role {
                    Role::Commands => member.commands.say(&slots(), share),
                    Role::Keeper => member.keeper.say(&slots(), share),
                    Role::Confirm => member.spare.say(&slots(), share),
                };
                read_slots(replies?.pop(), &source)
            });
            let mut topology = lock(&self.topology);
            match told {
                Ok(ranges) => {
                    topology.answered(&source);
                    topology.learned(&ranges);
                    let known = topology.sources();
                    drop(topology);
                    lock(&self.nodes).retain(|address, _| known.contains(address));
                    return Ok(());
                }
                Err(fault) => {
                    let epoch = topology.epoch();
                    topology.failed(&source, epoch, &fault, Duration::ZERO, time::now());
                    failed = fault;
                }
            }
            if Instant::now() >= until {
                break;
            }
        }
        // Nothing was asked that could have been carried out.
        Err(Fault::new(failed.kind(), failed.to_string()))
    }

    /// Some node that has slots, once that is known.
    pub(super) fn some_primary(&self) -> Option<Address> {
        lock(&self.topology).primaries().first().cloned()
    }

    /// Sends `op` to the nodes that serve its keys, by what `send` does with what is for one of them.
    pub(super) fn travel(
        &self,
        op: &Op,
        role: Role,
        within: Duration,
        send: impl Fn(&Leg, Manner, Duration) -> Result<Verdict, Fault>,
    ) -> Result<Verdict, Fault> {
        self.learn(role, within)?;
        // As with one server, what it takes to find it comes on top.
        let until = Instant::now() + within;
        let mut journey = Journey::new(op.clone());
        loop {
            let legs = journey.legs(&mut lock(&self.topology), time::now());
            if legs.is_empty() {
                return journey.answer();
            }
            let count = legs.len();
            for (at, leg) in legs.into_iter().enumerate() {
                let left = until.saturating_duration_since(Instant::now());
                let share = leg.share(left, at == 0, count - 1 - at);
                let reply = if share.is_zero() {
                    // Which says nothing about this node: others were silent.
                    let text = format!("{}: no time was left to ask", leg.to);
                    Err(Fault::new(FaultKind::NotReady, text))
                } else {
                    // A batch has others to wait for; whoever asks for one lock has not.
                    let connect_within = (count > 1).then_some(share);
                    send(&leg, Manner { asking: leg.asking, connect_within }, share)
                };
                journey.hear(&leg, reply, &mut lock(&self.topology), time::now());
            }
        }
    }
}

/// All connections for one role.
pub(crate) struct ClusterLine {
    cluster: Arc<Cluster>,
    role: Role,
}

impl ClusterLine {
    pub(crate) fn new(cluster: Arc<Cluster>, role: Role) -> Self {
        Self { cluster, role }
    }
}

impl Line for ClusterLine {
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.cluster.travel(op, self.role, within, |leg, manner, left| {
            let member = self.cluster.member(&leg.to)?;
            match self.role {
                Role::Commands => member.commands.ask(&leg.op, manner, left),
                Role::Keeper => member.keeper.ask(&leg.op, manner, left),
                Role::Confirm => member.spare.ask(&leg.op, manner, left),
            }
        })
    }

    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>> {
        let mut journey = Journey::new(op.clone());
        let legs = {
            let mut topology = lock(&self.cluster.topology);
            if topology.is_stale() {
                return None;
            }
            journey.legs(&mut topology, time::now())
        };
        let [leg] = legs.as_slice() else { return None };
        let member = lock(&self.cluster.nodes).get(&leg.to).map(Arc::clone)?;
        let reply = match self.role {
            Role::Commands => member.commands.call_if_free(&leg.op, within)?,
            Role::Keeper => member.keeper.call_if_free(&leg.op, within)?,
            Role::Confirm => member.spare.call_if_free(&leg.op, within)?,
        };
        let mut topology = lock(&self.cluster.topology);
        journey.hear(leg, reply.clone(), &mut topology, time::now());
        // Where it was sent elsewhere, it is still to be asked: the fault says that it was not done.
        Some(reply)
    }

    fn ready(&self) -> Result<(), Fault> {
        self.cluster.learn(self.role, self.cluster.within)
    }
}

impl Listen for Cluster {
    fn listen(self: Arc<Self>, hear: Hear) -> Result<SharedLine, Fault> {
        self.learn(Role::Keeper, self.within)?;
        Ears::open(self, hear)
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(lock(&self.topology).sources()).finish()
    }
}

impl fmt::Debug for ClusterLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterLine")
            .field("cluster", &self.cluster)
            .field("role", &self.role)
            .finish()
    }
}
