//! The laws, and what a run did.

use std::time::Duration;

use tairlock::{
    Fault, Lease, LeaseState, Token,
    proto::{Op, Verdict},
};

use super::{
    World,
    run::{Run, TTL},
};
use crate::sim::clock::True;

/// A law that did not hold.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    pub(super) law: &'static str,
    pub(super) what: String,
}

/// What became of a token.
#[derive(Default)]
pub(super) struct Fate {
    /// Who holds it.
    lease: Option<(usize, Lease)>,
}

/// What happened, to be sure that something did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// All that happened.
    pub steps: u64,
    /// Leases.
    pub grants: u64,
    /// Servers' renewals.
    pub renewals: u64,
    /// Servers' releases.
    pub releases: u64,
    /// Acquires that were granted nothing.
    pub refused: u64,
    /// Acquires that were dropped.
    pub cancelled: u64,
    /// Leases that were lost.
    pub lost: u64,
    /// Servers that restarted empty.
    pub forgotten: u64,
    /// Servers that were joined again.
    pub joined: u64,
}

impl Tally {
    /// Adds those of another run.
    pub const fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.grants += other.grants;
        self.renewals += other.renewals;
        self.releases += other.releases;
        self.refused += other.refused;
        self.cancelled += other.cancelled;
        self.lost += other.lost;
        self.forgotten += other.forgotten;
        self.joined += other.joined;
    }
}

impl Run {
    pub(super) fn accuse(&mut self, law: &'static str, what: impl FnOnce() -> String) {
        if self.found.is_none() {
            let violation = Violation { law, what: what() };
            self.note(|| format!("{law}: {}", violation.what));
            self.found = Some(violation);
        }
    }

    fn is_valid(&self, of: &(usize, Lease)) -> bool {
        let state = of.1.state_at(self.clients[of.0].clock.at(self.now));
        matches!(state, LeaseState::Held | LeaseState::Uncertain)
    }

    /// A lease that is lost stays lost: two are valid at once only if one is when the other begins.
    pub(super) fn granted(&mut self, client: usize, token: &Token, lease: &Lease) {
        self.tally.grants += 1;
        let name = index(token);
        self.note(|| format!("c{client} holds #{name}"));
        self.fates[name].lease = Some((client, lease.clone()));
        let other = (0..self.fates.len())
            .filter(|&other| other != name)
            .find(|&other| self.fates[other].lease.as_ref().is_some_and(|of| self.is_valid(of)));
        if let Some(other) = other {
            self.accuse("I2 exclusion", || format!("#{name} is held, and #{other}"));
        }
        self.check_backing(name);
    }

    /// As many servers as are needed have a valid lease's token, for at least as long, if none forgets.
    fn check_backing(&mut self, name: usize) {
        let Some(of) = self.fates[name].lease.clone().filter(|of| self.is_valid(of)) else {
            return;
        };
        let until = self.clients[of.0].clock.when(of.1.until());
        let has = self.nodes.iter().filter(|server| {
            let local = server.clock.at(self.now);
            let ours = server.store.token(&self.key, local).ok().flatten() == Some(of.1.token());
            ours && server
                .store
                .expires(&self.key, local)
                .is_some_and(|at| server.clock.when(at) >= until)
        });
        let has = has.count();
        let forgetful = !matches!(self.world, World::Calm | World::Storm);
        if !forgetful && has < self.quorum.needed() {
            self.accuse("a lease stands on a quorum", || format!("#{name} on {has} servers"));
        }
    }

    /// A server has executed `op`.
    pub(super) fn executed(&mut self, node: usize, op: &Op, reply: &Result<Verdict, Fault>) {
        match (op, reply) {
            (Op::RenewMany(_), Ok(Verdict::Many(each))) => {
                let renewed = each.iter().filter(|one| **one == Ok(Verdict::Renewed)).count();
                self.tally.renewals += renewed as u64;
            }
            (Op::Release { token, .. }, Ok(Verdict::Released)) => {
                self.tally.releases += 1;
                self.note(|| format!("n{node} has let go of #{}", index(token)));
                self.check_backing(index(token));
            }
            _ => {}
        }
    }

    /// A release deletes no grant of the same token that was asked for later, by the same caller.
    pub(super) fn check_order(
        &mut self,
        node: usize,
        sent: (u64, u64),
        op: &Op,
        reply: &Result<Verdict, Fault>,
    ) {
        match op {
            Op::Acquire { token, .. } if self.asking.contains(&sent) => {
                let latest = self.latest.entry((token.clone(), node)).or_default();
                *latest = (*latest).max(sent);
            }
            Op::Release { token, .. } if *reply == Ok(Verdict::Released) => {
                let latest = self.latest.get(&(token.clone(), node));
                if latest.is_some_and(|latest| *latest > sent) {
                    let name = index(token);
                    self.accuse("nothing overtakes a release", || format!("#{name} on n{node}"));
                }
            }
            _ => {}
        }
    }

    /// A server is about to be joined again: only when all have been heard, and not too many had nothing.
    pub(super) fn check_rejoin(&mut self, round: u64) {
        self.tally.joined += 1;
        let Some(asked) = self.rounds.get(&round) else { return };
        let (no, heard) = (asked.no, asked.heard.iter().all(|&heard| heard));
        if !heard || no > self.nodes.len() - self.quorum.needed() {
            self.accuse("what most have forgotten is lost", || format!("{no}, all heard: {heard}"));
        }
    }

    /// Everybody has left, nothing is under way, and all servers can be reached.
    pub(super) fn check_end(&mut self) {
        if self.world == World::Calm {
            self.check_residue("I8 residue");
        }
        // Longer than a TTL later, by the slowest clock.
        self.now = self.now + TTL + TTL / 50 + Duration::from_millis(2);
        self.check_residue("I8 residue, for good");
    }

    fn check_residue(&mut self, law: &'static str) {
        let now: True = self.now;
        let key = self.key.clone();
        let left = self.nodes.iter().enumerate().find_map(|(node, server)| {
            let token = server.store.token(&key, server.clock.at(now)).ok().flatten()?;
            Some((node, token.clone()))
        });
        if let Some((node, token)) = left {
            self.accuse(law, || format!("#{} on n{node}", index(&token)));
        }
    }
}

/// Tokens are numbers.
fn index(token: &Token) -> usize {
    let text = std::str::from_utf8(token.as_bytes()).expect("digits");
    let (name, _) = text.split_once('/').expect("a slash");
    name.parse().expect("a number")
}
