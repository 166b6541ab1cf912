//! Which node of a cluster serves which slot, as far as is known, and whom to ask when that is in doubt.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use crate::{Fault, FaultKind, slot::SLOTS, time::Timestamp};

/// Where a node of a cluster listens.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// Name or IP address, the latter without brackets.
    pub host: Arc<str>,
    /// TCP port.
    pub port: u16,
}

impl Address {
    /// `host` and `port`.
    pub fn new(host: impl Into<Arc<str>>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// Reads `host:port`, as it stands in a redirection. A host that is left out is the one of who says
    /// so.
    pub(crate) fn read(text: &str, speaker: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = if host.is_empty() { Arc::clone(&speaker.host) } else { host.into() };
        Some(Self { host, port: port.parse().ok()? })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Slots that one primary serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first of them.
    pub first: u16,
    /// The last of them.
    pub last: u16,
    /// The primary, and behind it its replicas.
    pub nodes: Vec<Address>,
}

/// What a client knows of a cluster.
#[derive(Debug)]
pub struct Topology {
    seeds: Vec<Address>,
    /// For each slot its primary's place in `primaries`, or [`NOBODY`].
    slots: Box<[u16]>,
    primaries: Vec<Address>,
    replicas: Vec<Address>,
    /// Who did not answer when last asked, and until when renewals leave it alone.
    silent: HashMap<Address, Timestamp>,
    /// How often it was learned.
    epoch: u64,
    stale: bool,
}

const NOBODY: u16 = u16::MAX;
/// For how long a node that does not answer is left alone, at most.
const LONGEST_REST: Duration = Duration::from_secs(1);

impl Topology {
    /// Nothing is known yet, but whom to ask: `seeds`.
    #[must_use]
    pub fn new(seeds: Vec<Address>) -> Self {
        let slots = vec![NOBODY; usize::from(SLOTS)].into();
        let (primaries, replicas, silent) = (Vec::new(), Vec::new(), HashMap::new());
        Self { seeds, slots, primaries, replicas, silent, epoch: 0, stale: true }
    }

    /// Whether it is to be learned anew before anything is sent by it.
    #[must_use]
    pub const fn is_stale(&self) -> bool {
        self.stale
    }

    /// How often it was learned: a fault of what was sent by an earlier one says nothing about this one.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Who serves `slot`.
    #[must_use]
    pub fn primary(&self, slot: u16) -> Option<&Address> {
        self.primaries.get(usize::from(*self.slots.get(usize::from(slot))?))
    }

    /// Every primary.
    #[must_use]
    pub fn primaries(&self) -> &[Address] {
        &self.primaries
    }

    /// Whom to ask who serves what, in this order: not the same first each time, as one that is cut off
    /// from the others answers too, and those that did not answer when last asked in the end.
    #[must_use]
    pub fn sources(&self) -> Vec<Address> {
        let mut sources = Vec::new();
        for address in self.primaries.iter().chain(&self.replicas).chain(&self.seeds) {
            if !sources.contains(address) {
                sources.push(address.clone());
            }
        }
        if let Ok(turn) = usize::try_from(self.epoch) {
            let count = sources.len().max(1);
            sources.rotate_left(turn % count);
        }
        sources.sort_by_key(|address| self.is_silent(address));
        sources
    }

    /// Whether it did not answer when last asked.
    #[must_use]
    pub fn is_silent(&self, address: &Address) -> bool {
        self.silent.contains_key(address)
    }

    /// A node has told who serves what.
    pub fn learned(&mut self, ranges: &[Range]) {
        (self.primaries, self.replicas) = (Vec::new(), Vec::new());
        self.slots.fill(NOBODY);
        for range in ranges {
            let Some((primary, replicas)) = range.nodes.split_first() else { continue };
            self.replicas.extend(replicas.iter().cloned());
            self.give(range.first..=range.last, primary);
        }
        let known = [&self.primaries, &self.replicas, &self.seeds];
        self.silent.retain(|address, _| known.iter().any(|some| some.contains(address)));
        self.epoch += 1;
        self.stale = false;
    }

    /// A node says that another one serves `slot`. Others may have moved as well.
    pub fn moved(&mut self, slot: u16, to: &Address) {
        self.give(slot..=slot, to);
        self.stale = true;
    }

    fn give(&mut self, slots: std::ops::RangeInclusive<u16>, to: &Address) {
        let place = self.primaries.iter().position(|known| known == to).unwrap_or_else(|| {
            self.primaries.push(to.clone());
            self.primaries.len() - 1
        });
        // A cluster has fewer nodes than slots.
        let place = u16::try_from(place).unwrap_or(NOBODY);
        for slot in slots {
            if let Some(served) = self.slots.get_mut(usize::from(slot)) {
                *served = place;
            }
        }
    }

    /// Whether `address` has just cost as much time as is now left for others.
    #[must_use]
    pub fn rests(&self, address: &Address, now: Timestamp) -> bool {
        self.silent.get(address).is_some_and(|&until| now < until)
    }

    /// What was sent to `to`, by what was known at `epoch`, met `fault` after it `took` so long: may
    /// that be because another node is to be asked by now?
    pub fn failed(
        &mut self,
        to: &Address,
        epoch: u64,
        fault: &Fault,
        took: Duration,
        now: Timestamp,
    ) {
        if matches!(fault.kind(), FaultKind::Unreachable | FaultKind::NoReply) {
            self.silent.insert(to.clone(), now + took.min(LONGEST_REST));
        }
        if fault.doubts_the_place() && epoch == self.epoch {
            self.stale = true;
        }
    }

    /// It is to be learned anew.
    pub const fn doubt(&mut self) {
        self.stale = true;
    }

    /// It has answered.
    pub fn answered(&mut self, from: &Address) {
        self.silent.remove(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(port: u16) -> Address {
        Address::new("h", port)
    }

    fn range(first: u16, last: u16, ports: &[u16]) -> Range {
        Range { first, last, nodes: ports.iter().map(|&port| node(port)).collect() }
    }

    fn known() -> Topology {
        let mut topology = Topology::new(vec![node(9)]);
        topology.learned(&[range(0, 8_000, &[1, 3]), range(8_001, 16_382, &[2, 4])]);
        topology
    }

    #[test]
    fn every_slot_has_the_primary_that_was_told() {
        let topology = known();
        assert!(!topology.is_stale());
        assert_eq!(topology.primary(8_000), Some(&node(1)));
        assert_eq!(topology.primary(8_001), Some(&node(2)));
        assert_eq!(topology.primary(16_383), None);
        assert_eq!(topology.primary(SLOTS), None);
        assert_eq!(topology.primaries(), [node(1), node(2)]);
    }

    #[test]
    fn one_slot_can_move_and_puts_the_rest_in_doubt() {
        let mut topology = known();
        topology.moved(5, &node(7));
        assert!(topology.is_stale());
        assert_eq!(topology.primary(5), Some(&node(7)));
        assert_eq!(topology.primary(6), Some(&node(1)));
    }

    #[test]
    fn who_is_silent_is_asked_last_and_not_the_same_first_each_time() {
        let mut topology = known();
        let first = topology.sources();
        assert_eq!(first.len(), 5);
        let gone = Fault::new(FaultKind::Unreachable, "gone");
        let (took, now) = (Duration::from_millis(200), Timestamp::from_nanos(1 << 40));
        topology.failed(&first[0], topology.epoch(), &gone, took, now);
        // As long as it took, which is half of the time at most.
        assert!(topology.rests(&first[0], now) && !topology.rests(&first[0], now + took));
        assert_eq!(topology.sources().last(), Some(&first[0]));
        topology.answered(&first[0]);
        assert_eq!(topology.sources(), first);
        topology.learned(&[range(0, 8_000, &[1, 3]), range(8_001, 16_383, &[2, 4])]);
        assert_ne!(topology.sources()[0], first[0]);
    }

    #[test]
    fn a_fault_of_what_was_sent_before_it_was_learned_says_nothing() {
        let mut topology = known();
        let (took, now) = (Duration::ZERO, Timestamp::default());
        let (old, down) =
            (topology.epoch(), Fault::from_server("CLUSTERDOWN", "Hash slot not served"));
        topology.learned(&[range(0, 16_383, &[1])]);
        topology.failed(&node(1), old, &down, took, now);
        assert!(!topology.is_stale());
        let full = Fault::from_server("OOM", "command not allowed");
        topology.failed(&node(1), topology.epoch(), &full, took, now);
        assert!(!topology.is_stale());
        topology.failed(&node(1), topology.epoch(), &down, took, now);
        assert!(topology.is_stale());
    }

    #[test]
    fn addresses_are_read_as_they_stand_in_redirections() {
        let speaker = node(1);
        let read = |text| Address::read(text, &speaker).map(|address| address.to_string());
        assert_eq!(read("10.0.0.1:7000").as_deref(), Some("10.0.0.1:7000"));
        assert_eq!(read(":7000").as_deref(), Some("h:7000"));
        assert_eq!(read("::1:7000").as_deref(), Some("[::1]:7000"));
        assert_eq!(read("here").as_deref(), None);
    }
}
