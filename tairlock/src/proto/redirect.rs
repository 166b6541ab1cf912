//! What a fault says about where to ask: the rules by which both drivers find the right server again.

use super::{Address, Verdict};
use crate::{Fault, FaultKind};

/// Where a node of a cluster sends who asks. It has done nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// Another one serves the slot.
    Moved {
        /// The slot.
        slot: u16,
        /// The other one.
        to: Address,
    },
    /// Another one is being given the slot, and has this key already or is to get it.
    Ask {
        /// The slot.
        slot: u16,
        /// The other one.
        to: Address,
    },
}

impl Fault {
    /// Where `speaker` sends who asked, if that is what it says.
    #[must_use]
    pub fn redirect(&self, speaker: &Address) -> Option<Redirect> {
        if self.kind() != FaultKind::Cluster {
            return None;
        }
        let text = self.to_string();
        let mut words = text.split_whitespace();
        let (code, slot) = (words.next()?, words.next()?.parse().ok()?);
        let to = Address::read(words.next()?, speaker)?;
        match code {
            "MOVED" => Some(Redirect::Moved { slot, to }),
            "ASK" => Some(Redirect::Ask { slot, to }),
            _ => None,
        }
    }

    /// Whether another node of the cluster may be the one to ask by now: it is worth to learn who
    /// serves what before the next attempt.
    #[must_use]
    pub fn doubts_the_place(&self) -> bool {
        self.is_transient()
    }

    /// The same of one node of several, whose listener can be lost without the others.
    #[must_use]
    pub fn of_one_node(self) -> Self {
        match self.kind() {
            FaultKind::Unreachable | FaultKind::NoReply => {
                Self::new(FaultKind::NotReady, self.to_string())
            }
            _ => self,
        }
    }

    /// Whether a new connection may well do better: this one broke, is silent, or leads to a replica.
    /// One that died idle, or was there before a failover, is no outage, so that such a fault is
    /// retried once at once.
    #[must_use]
    pub fn is_of_the_line(&self) -> bool {
        matches!(self.kind(), FaultKind::Unreachable | FaultKind::NoReply)
            || self.is_from_a_replica()
    }

    /// Whether the server says that it is a replica: after a failover, a new connection may lead to who
    /// is the primary now.
    #[must_use]
    pub fn is_from_a_replica(&self) -> bool {
        let text = self.to_string();
        let says = |word| text.starts_with(word) || text.contains(&format!("ERR {word}"));
        says("READONLY") || says("MASTERDOWN")
    }
}

impl Verdict {
    /// Whether a server that is a replica gave this answer, or part of it.
    #[must_use]
    pub fn is_from_a_replica(answer: &Result<Self, Fault>) -> bool {
        match answer {
            Ok(Self::Many(answers)) => answers.iter().any(Self::is_from_a_replica),
            Ok(_) => false,
            Err(fault) => fault.is_from_a_replica(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(code: &str, detail: &str) -> Fault {
        Fault::from_server(code, detail)
    }

    #[test]
    fn redirections_are_read_and_nothing_else_is_one() {
        let speaker = Address::new("a", 1);
        let moved = fault("MOVED", "3999 10.0.0.2:7002").redirect(&speaker);
        let to = Address::new("10.0.0.2", 7002);
        assert_eq!(moved, Some(Redirect::Moved { slot: 3999, to: to.clone() }));
        let ask = fault("ASK", "3999 10.0.0.2:7002").redirect(&speaker);
        assert_eq!(ask, Some(Redirect::Ask { slot: 3999, to }));
        let to = Address::new("a", 7002);
        let nameless = fault("MOVED", "1 :7002").redirect(&speaker);
        assert_eq!(nameless, Some(Redirect::Moved { slot: 1, to }));
        for (code, detail) in [
            ("TRYAGAIN", "Multiple keys request during rehashing of slot"),
            ("CLUSTERDOWN", "Hash slot not served"),
            ("CROSSSLOT", "Keys in request don't hash to the same slot"),
            ("MOVED", "here and there"),
            ("ERR", "MOVED 1 a:1"),
        ] {
            assert_eq!(fault(code, detail).redirect(&speaker), None, "{code} {detail}");
        }
    }

    #[test]
    fn what_a_failover_says_leads_to_another_server() {
        for (code, detail) in [
            ("READONLY", "You can't write against a read only replica."),
            ("ERR", "READONLY you can't write against a read only instance"),
            ("MASTERDOWN", "Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
        ] {
            assert!(fault(code, detail).is_from_a_replica(), "{code} {detail}");
        }
        for (code, detail) in [("NOREPLICAS", "Not enough good replicas to write."), ("OOM", "x")] {
            assert!(!fault(code, detail).is_from_a_replica(), "{code} {detail}");
        }
        for code in ["READONLY", "LOADING", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN"] {
            assert!(fault(code, "x").doubts_the_place(), "{code}");
        }
        assert!(!fault("WRONGTYPE", "x").doubts_the_place());
    }
}
