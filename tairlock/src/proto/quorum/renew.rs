//! Prolonging leases on a quorum, and joining servers again that have forgotten them.

use super::{Next, Quorum, no_quorum};
use crate::{
    Fault, FaultKind,
    proto::{Op, Renewal, Verdict},
};

#[derive(Debug)]
pub(super) struct Renew {
    quorum: Quorum,
    renewals: Vec<Renewal>,
    answers: Vec<Option<Answer>>,
    /// Servers are being joined again; what they say to that changes nothing.
    rejoining: bool,
}

/// What a server says of each lease, or of all.
type Answer = Result<Vec<Result<Verdict, Fault>>, Fault>;

impl Renew {
    pub(super) fn new(quorum: Quorum, renewals: Vec<Renewal>) -> Self {
        Self { quorum, renewals, answers: vec![None; quorum.nodes()], rejoining: false }
    }

    pub(super) fn heard(&mut self, node: usize, reply: Result<Verdict, Fault>) -> Next {
        if self.rejoining {
            return Next::Listen;
        }
        self.answers[node] = Some(match reply {
            Ok(Verdict::Many(each)) if each.len() == self.renewals.len() => Ok(each),
            Ok(other) => {
                let text = format!("a renewal was answered with {other:?}");
                Err(Fault::ambiguous(FaultKind::Protocol, text))
            }
            Err(fault) => Err(fault),
        });
        if self.answers.iter().any(Option::is_none) {
            return Next::Listen;
        }
        self.rejoining = true;
        let rejoin = self.rejoin();
        if rejoin.is_empty() { Next::Done } else { Next::Say(rejoin) }
    }

    /// A server that has restarted empty would vote for somebody else. It is told again whose the lock
    /// is, and counts from the next renewal on; and only while enough others have had it all along: a
    /// lock that most have forgotten is lost, and is not to come back.
    fn rejoin(&self) -> Vec<(usize, Op)> {
        let mut sends = Vec::new();
        for (at, Renewal { key, token, ttl }) in self.renewals.iter().enumerate() {
            if self.count(at, |reply| matches!(reply, Ok(Verdict::Renewed))) < self.quorum.needed()
            {
                continue;
            }
            for (node, answer) in self.answers.iter().enumerate() {
                if let Some(Ok(each)) = answer
                    && matches!(each[at], Ok(Verdict::Gone))
                {
                    let (key, token, ttl) = (key.clone(), token.clone(), *ttl);
                    sends.push((node, Op::Acquire { key, token, ttl }));
                }
            }
        }
        sends
    }

    pub(super) fn verdict(&self) -> Result<Verdict, Fault> {
        Ok(Verdict::Many((0..self.renewals.len()).map(|at| self.of(at)).collect()))
    }

    /// What they all say of one lease.
    fn of(&self, at: usize) -> Result<Verdict, Fault> {
        let renewed = self.count(at, |reply| matches!(reply, Ok(Verdict::Renewed)));
        let gone = self.count(at, |reply| matches!(reply, Ok(Verdict::Gone)));
        let taken = self.count(at, |reply| matches!(reply, Ok(Verdict::Taken)));
        if renewed >= self.quorum.needed() {
            // Who was joined again may have heard of a release before that.
            let joined = gone > 0;
            Ok(if joined { Verdict::Open(Box::new(Verdict::Renewed)) } else { Verdict::Renewed })
        } else if gone + taken > self.quorum.spare() {
            Ok(if taken >= self.quorum.needed() { Verdict::Taken } else { Verdict::Gone })
        } else {
            let silent = Fault::new(FaultKind::NoReply, "no reply");
            let faults = self.answers.iter().filter_map(|answer| match answer {
                Some(Ok(each)) => each[at].as_ref().err(),
                Some(Err(fault)) => Some(fault),
                None => Some(&silent),
            });
            Err(no_quorum(self.quorum, faults, true))
        }
    }

    fn count(&self, at: usize, is: impl Fn(&Result<Verdict, Fault>) -> bool) -> usize {
        self.answers.iter().flatten().flatten().filter(|each| is(&each[at])).count()
    }
}
