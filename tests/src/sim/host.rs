//! The server of a run: a real `memory::Store`, with a clock of its own and bad days.

use tairlock::{
    Fault, Key, Token,
    memory::Store,
    proto::{Op, Renewal, Verdict},
    time::Timestamp,
};

use super::{
    breakage::Breakage,
    clock::{Clock, True},
};

#[derive(Debug)]
pub(super) struct Host {
    pub(super) store: Store,
    pub(super) clock: Clock,
    /// Neither reachable nor running until then.
    pub(super) down_until: True,
    /// Stopped until then; what arrives waits.
    pub(super) paused_until: True,
    /// Answers everything with this error until then.
    pub(super) refusing: Option<(True, &'static str)>,
    breakage: Option<Breakage>,
}

/// What stands under a key, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) token: Token,
    pub(super) expires: Timestamp,
}

impl Host {
    pub(super) fn new(clock: Clock, breakage: Option<Breakage>) -> Self {
        Self {
            store: Store::new(),
            clock,
            down_until: True(0),
            paused_until: True(0),
            refusing: None,
            breakage,
        }
    }

    pub(super) fn is_down(&self, now: True) -> bool {
        now < self.down_until
    }

    pub(super) fn standing(&self, key: &Key, now: True) -> Option<Standing> {
        let local = self.clock.at(now);
        let token = self.store.token(key, local).ok().flatten()?.clone();
        Some(Standing { token, expires: self.store.expires(key, local)? })
    }

    /// Executes `op`, as a server does that is there and runs.
    pub(super) fn execute(
        &mut self,
        op: &Op,
        listener: Option<u64>,
        now: True,
    ) -> Result<Verdict, Fault> {
        if let Some((_, code)) = self.refusing.filter(|&(until, _)| now < until) {
            return Err(Fault::from_server(code, "refused for a while"));
        }
        let local = self.clock.at(now);
        match (self.breakage, op) {
            (Some(Breakage::ReleaseUnchecked), Op::Release { key, .. }) => {
                let there = self.store.delete(key, local);
                Ok(if there { Verdict::Released } else { Verdict::Gone })
            }
            (Some(Breakage::RenewUnchecked), Op::RenewMany(renewals)) => {
                let prolong = |renewal: &Renewal| self.prolong_whatever(renewal, local);
                Ok(Verdict::Many(renewals.iter().map(prolong).collect()))
            }
            (Some(Breakage::RenewalMakesKey), Op::RenewMany(renewals)) => {
                let make = |renewal: &Renewal| self.make_again(renewal, local);
                Ok(Verdict::Many(renewals.iter().map(make).collect()))
            }
            (Some(Breakage::RenewalFindsNothing), Op::RenewMany(renewals)) => {
                let answer =
                    |renewal: &Renewal| self.renew(renewal, local).map(|_| Verdict::Renewed);
                Ok(Verdict::Many(renewals.iter().map(answer).collect()))
            }
            _ => match listener {
                Some(listener) => self.store.apply_for(listener, op, local),
                None => self.store.apply(op, local),
            },
        }
    }

    fn renew(&mut self, renewal: &Renewal, local: Timestamp) -> Result<Verdict, Fault> {
        match self.store.apply(&Op::RenewMany(vec![renewal.clone()]), local)? {
            Verdict::Many(mut verdicts) => verdicts.remove(0),
            other => Ok(other),
        }
    }

    fn prolong_whatever(&mut self, asked: &Renewal, local: Timestamp) -> Result<Verdict, Fault> {
        let Some(token) = self.store.token(&asked.key, local)?.cloned() else {
            return Ok(Verdict::Gone);
        };
        self.renew(&Renewal { token, ..asked.clone() }, local)
    }

    fn make_again(&mut self, asked: &Renewal, local: Timestamp) -> Result<Verdict, Fault> {
        let verdict = self.renew(asked, local)?;
        if verdict != Verdict::Gone {
            return Ok(verdict);
        }
        let Renewal { key, token, ttl, .. } = asked.clone();
        self.store.apply(&Op::Acquire { key, token, ttl }, local)?;
        Ok(Verdict::Renewed)
    }
}

/// The keys and tokens that an operation names.
pub(super) fn named(op: &Op) -> Vec<(&Key, &Token)> {
    match op {
        Op::RenewMany(renewals) => renewals.iter().map(|r| (&r.key, &r.token)).collect(),
        Op::Acquire { key, token, .. }
        | Op::AcquireFenced { key, token, .. }
        | Op::Release { key, token }
        | Op::Retain(Renewal { key, token, .. }) => vec![(key, token)],
        _ => Vec::new(),
    }
}
