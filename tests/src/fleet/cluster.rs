//! A cluster of six nodes: three primaries with a replica each.

use std::{net::TcpStream, ops::RangeInclusive};

use redis::{Connection, Value, cmd, from_redis_value};

use super::{
    Error,
    patience::{field, until},
    start_all,
};
use crate::{
    Proxy,
    server::{Builder, Server},
};

const PRIMARIES: usize = 3;
const NODES: usize = 2 * PRIMARIES;
const SLOTS: usize = 16_384;

/// Six nodes that form one cluster. Nodes 0, 1 and 2 begin as primaries of a third of the slots each,
/// nodes 3, 4 and 5 as their replicas.
#[derive(Debug)]
pub struct Cluster {
    /// One per node, or none at all.
    proxies: Vec<Proxy>,
    nodes: Vec<Server>,
}

/// A node as the cluster sees it: its port, and whether it has slots of its own.
struct Seen {
    port: u16,
    primary: bool,
}

impl Cluster {
    /// Starts six nodes, each built by `with`, and returns when all of them say that the cluster is
    /// whole.
    ///
    /// # Errors
    ///
    /// [`Error`], if that takes more than 30 s.
    pub fn start(with: impl Fn() -> Builder) -> Result<Self, Error> {
        Self::form(with, false)
    }

    /// The same, with a [`Proxy`] in front of each node, whose address the node tells clients as its own.
    ///
    /// # Errors
    ///
    /// [`Error`], if that takes more than 30 s.
    pub fn proxied(with: impl Fn() -> Builder) -> Result<Self, Error> {
        Self::form(with, true)
    }

    fn form(with: impl Fn() -> Builder, proxied: bool) -> Result<Self, Error> {
        let node = |_| {
            with()
                .cluster()
                // A dead primary is replaced in about 3 s.
                .config(["cluster-node-timeout", "1000"])
                .config(["cluster-replica-validity-factor", "0"])
                // A replica that was never written to is not told of before its primary's first ping.
                .config(["repl-ping-replica-period", "1"])
        };
        let nodes = start_all((0..NODES).map(node).collect())?;
        let proxies = nodes.iter().filter(|_| proxied).map(|node| Proxy::start(node.addr()));
        let cluster = Self { proxies: proxies.collect::<Result<_, _>>()?, nodes };
        cluster.introduce()?;
        cluster.await_whole()?;
        Ok(cluster)
    }

    fn introduce(&self) -> Result<(), Error> {
        let mut links: Vec<Connection> = self.nodes.iter().map(Server::cli).collect();
        for (at, link) in links.iter_mut().enumerate() {
            cluster(&["SET-CONFIG-EPOCH", &(at + 1).to_string()]).exec(link)?;
            if let Some(proxy) = self.proxies.get(at) {
                let announce =
                    ["CONFIG", "SET", "cluster-announce-port", &proxy.port().to_string()];
                words(&announce).exec(link)?;
                // Said as well, or it would follow the port of the proxy.
                let bus = self.nodes[at].port() + 10_000;
                words(&["CONFIG", "SET", "cluster-announce-bus-port", &bus.to_string()])
                    .exec(link)?;
            }
        }
        for (at, link) in links.iter_mut().enumerate().take(PRIMARIES) {
            let slots = slots(at);
            let mut add = cluster(&["ADDSLOTS"]);
            slots.for_each(|slot| _ = add.arg(slot));
            add.exec(link)?;
        }
        // Everybody to everybody: by gossip alone it takes seconds.
        for (at, link) in links.iter_mut().enumerate() {
            for (other, node) in self.nodes.iter().enumerate().filter(|(other, _)| *other != at) {
                let at = node.cluster_port();
                let port = self.proxies.get(other).map_or(at, Proxy::port).to_string();
                let bus = (at + 10_000).to_string();
                cluster(&["MEET", "127.0.0.1", &port, &bus]).exec(link)?;
            }
        }
        let ids: Vec<String> = links
            .iter_mut()
            .take(PRIMARIES)
            .map(|link| cluster(&["MYID"]).query(link))
            .collect::<Result<_, _>>()?;
        for (link, id) in links.iter_mut().skip(PRIMARIES).zip(&ids) {
            // Refused until the primary is known.
            until("a node knows its primary", || {
                cluster(&["REPLICATE", id]).exec(link).map_err(|error| error.to_string())
            })?;
        }
        Ok(())
    }

    /// The URLs of all nodes, through the proxies if there are any.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        match self.proxies.as_slice() {
            [] => self.nodes.iter().map(Server::url).collect(),
            proxies => proxies.iter().map(Proxy::url).collect(),
        }
    }

    /// The six nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// The six nodes, to stop, kill or restart.
    pub fn nodes_mut(&mut self) -> &mut [Server] {
        &mut self.nodes
    }

    /// The proxies in front of them; none where it was started without.
    #[must_use]
    pub fn proxies(&self) -> &[Proxy] {
        &self.proxies
    }

    /// Which node serves the slot of `key`, by what the nodes that are up say.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`], if none does in 30 s.
    pub fn owner(&self, key: &[u8]) -> Result<usize, Error> {
        until("a node serves the key", || {
            let mut seen = String::from("no node is up");
            for (at, node) in self.nodes.iter().enumerate() {
                let Some(mut link) = up(node) else { continue };
                // Where a key is not served, the answer is an error; a replica answers with its primary.
                match cmd("PTTL").arg(key).query::<i64>(&mut link) {
                    Ok(_) => return Ok(at),
                    Err(error) => seen = error.to_string(),
                }
            }
            Err(seen)
        })
    }

    /// Asks the node that serves `command`'s first key.
    ///
    /// # Errors
    ///
    /// [`Error`], if none does, or what that node says.
    pub fn ask<T: redis::FromRedisValue>(
        &self,
        key: &[u8],
        command: &redis::Cmd,
    ) -> Result<T, Error> {
        Ok(command.query(&mut self.nodes[self.owner(key)?].cli())?)
    }

    /// Waits until every node that runs says that all slots are served, and every one of them has a
    /// replica in sync if all six run.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] after 30 s.
    pub fn await_whole(&self) -> Result<(), Error> {
        let running: Vec<&Server> = self.nodes.iter().filter(|node| up(node).is_some()).collect();
        for node in &running {
            let mut link = node.cli();
            until(&format!("the node on port {} sees a whole cluster", node.port()), || {
                let told: String =
                    cluster(&["INFO"]).query(&mut link).map_err(|e| e.to_string())?;
                let state = field(&told, "cluster_state");
                let whole = state == "ok" && field(&told, "cluster_slots_ok") == SLOTS.to_string();
                if !whole {
                    return Err(told);
                }
                if running.len() < NODES {
                    return Ok(());
                }
                let seen = seen(&mut link)?;
                let primaries = seen.iter().filter(|node| node.primary).count();
                let known = (primaries, seen.len());
                let told: String =
                    cmd("INFO").arg("replication").query(&mut link).map_err(|e| e.to_string())?;
                let follows =
                    field(&told, "role") == "master" || field(&told, "master_link_status") == "up";
                let ready = known == (PRIMARIES, NODES) && follows;
                ready.then_some(()).ok_or_else(|| format!("{known:?} primaries and nodes; {told}"))
            })?;
        }
        Ok(())
    }

    /// Kills the node that serves `key`, and returns when another one does: the numbers of both.
    ///
    /// # Errors
    ///
    /// [`Error`], if that takes more than 30 s.
    pub fn kill_owner(&mut self, key: &[u8]) -> Result<(usize, usize), Error> {
        let old = self.owner(key)?;
        self.nodes[old].kill();
        let new = self.owner(key)?;
        Ok((old, new))
    }

    /// Moves one slot to another primary, with all that it holds, as resharding does.
    ///
    /// # Errors
    ///
    /// What a node says.
    ///
    /// # Panics
    ///
    /// If there are not so many nodes.
    pub fn move_slot(&self, slot: u16, to: usize) -> Result<(), Error> {
        let from = self.begin_move(slot, to)?;
        let (mut giving, mut taking) = (self.nodes[from].cli(), self.nodes[to].cli());
        let slot = slot.to_string();
        let port = self.nodes[to].port().to_string();
        loop {
            let keys: Vec<Vec<u8>> =
                cluster(&["GETKEYSINSLOT", &slot, "100"]).query(&mut giving)?;
            if keys.is_empty() {
                break;
            }
            for key in keys {
                let mut migrate = words(&["MIGRATE", "127.0.0.1", &port]);
                migrate.arg(key).arg(0).arg(5_000).exec(&mut giving)?;
            }
        }
        let id: String = cluster(&["MYID"]).query(&mut taking)?;
        // The one that takes it first, so that the slot is never nobody's.
        for link in [&mut taking, &mut giving] {
            cluster(&["SETSLOT", &slot, "NODE", &id]).exec(link)?;
        }
        Ok(())
    }

    /// Whether node number `at` is about to be given `slot`.
    ///
    /// # Panics
    ///
    /// If it does not answer.
    #[must_use]
    pub fn importing(&self, slot: u16, at: usize) -> bool {
        let told: String =
            cluster(&["NODES"]).query(&mut self.nodes[at].cli()).expect("CLUSTER NODES");
        told.contains(&format!("[{slot}-<-"))
    }

    /// Begins to move a slot and leaves it there: the node that has it answers for the keys that are
    /// there, and sends others away with `ASK`. Says which node that is.
    ///
    /// # Errors
    ///
    /// What a node says.
    ///
    /// # Panics
    ///
    /// If there are not so many nodes.
    pub fn begin_move(&self, slot: u16, to: usize) -> Result<usize, Error> {
        let from = until("an owner of the slot", || {
            let mut nodes = self.nodes.iter().enumerate();
            let owner = nodes.position(|(at, node)| {
                let port = self.proxies.get(at).map_or(node.port(), Proxy::port);
                up(node).is_some_and(|mut link| serves(&mut link, port, slot))
            });
            owner.ok_or_else(|| "none".into())
        })?;
        let slot = slot.to_string();
        let (mut giving, mut taking) = (self.nodes[from].cli(), self.nodes[to].cli());
        let (giver, taker): (String, String) =
            (cluster(&["MYID"]).query(&mut giving)?, cluster(&["MYID"]).query(&mut taking)?);
        cluster(&["SETSLOT", &slot, "IMPORTING", &giver]).exec(&mut taking)?;
        cluster(&["SETSLOT", &slot, "MIGRATING", &taker]).exec(&mut giving)?;
        Ok(from)
    }
}

/// Whether the node behind `link`, which goes by `port`, has this slot.
fn serves(link: &mut Connection, port: u16, slot: u16) -> bool {
    let Ok(Value::Array(ranges)) = cluster(&["SLOTS"]).query(link) else { return false };
    ranges.into_iter().any(|range| {
        let Value::Array(parts) = range else { return false };
        let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = parts.as_slice()
        else {
            return false;
        };
        (*first..=*last).contains(&slot.into()) && primary.get(1) == Some(&Value::Int(port.into()))
    })
}

fn seen(link: &mut Connection) -> Result<Vec<Seen>, String> {
    let value: Value = cluster(&["SLOTS"]).query(link).map_err(|error| error.to_string())?;
    let ranges: Vec<Vec<Value>> = from_redis_value(value).map_err(|error| error.to_string())?;
    let nodes = ranges.into_iter().flat_map(|range| {
        range.into_iter().skip(2).enumerate().filter_map(|(at, node)| {
            let Value::Array(node) = node else { return None };
            let Some(Value::Int(port)) = node.get(1) else { return None };
            Some(Seen { port: u16::try_from(*port).ok()?, primary: at == 0 })
        })
    });
    let mut nodes: Vec<Seen> = nodes.collect();
    nodes.sort_by_key(|node| node.port);
    nodes.dedup_by_key(|node| node.port);
    Ok(nodes)
}

fn up(node: &Server) -> Option<Connection> {
    TcpStream::connect(node.addr()).is_ok().then(|| node.cli())
}

/// The slots that primary number `at` begins with.
fn slots(at: usize) -> RangeInclusive<usize> {
    at * SLOTS / PRIMARIES..=(at + 1) * SLOTS / PRIMARIES - 1
}

fn cluster(args: &[&str]) -> redis::Cmd {
    let mut command = cmd("CLUSTER");
    command.arg(args);
    command
}

fn words(args: &[&str]) -> redis::Cmd {
    let mut command = cmd(args[0]);
    command.arg(&args[1..]);
    command
}
