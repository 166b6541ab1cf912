//! Prolonging leases on a quorum, and joining servers again that have forgotten them.

use super::{Next, Quorum, no_quorum};
use crate::{
    Fault, FaultKind, LeaseState,
    proto::{Op, Renewal, Verdict},
    time::Timestamp,
};

#[derive(Debug)]
pub(super) struct Renew {
    quorum: Quorum,
    renewals: Vec<Renewal>,
    answers: Vec<Option<Answer>>,
    /// Servers are being joined again.
    rejoining: bool,
    /// By how many servers each lease was joined again.
    joined: Vec<usize>,
}

/// What a server says of each lease, or of all.
type Answer = Result<Vec<Result<Verdict, Fault>>, Fault>;

impl Renew {
    pub(super) fn new(quorum: Quorum, renewals: Vec<Renewal>) -> Self {
        let (answers, joined) = (vec![None; quorum.nodes()], vec![0; renewals.len()]);
        Self { quorum, renewals, answers, rejoining: false, joined }
    }

    pub(super) fn heard(
        &mut self,
        node: usize,
        op: &Op,
        reply: Result<Verdict, Fault>,
        now: Timestamp,
    ) -> Next {
        if self.rejoining {
            if let (Op::Acquire { key, token, .. }, Ok(Verdict::Granted | Verdict::Ours)) =
                (op, reply)
                && let Some(at) =
                    self.renewals.iter().position(|of| of.key == *key && of.token == *token)
            {
                self.joined[at] += 1;
            }
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
        let rejoin = self.rejoin(now);
        if rejoin.is_empty() { Next::Done } else { Next::Say(rejoin) }
    }

    /// A server that has restarted empty, or was away when the lock was granted, would vote for somebody
    /// else. It is told whose the lock is, and counts with those who have renewed it: as long as no server
    /// that forgets comes back sooner than its keys would have died, nobody else can have had enough of
    /// them meanwhile. Not where more have nothing of ours than may be away: a lock that most have forgotten
    /// is lost, and is not to come back.
    fn rejoin(&self, now: Timestamp) -> Vec<(usize, Op)> {
        let mut sends = Vec::new();
        for (at, Renewal { key, token, ttl, of }) in self.renewals.iter().enumerate() {
            let (renewed, gone, taken) = self.tally(at);
            let over = of.as_ref().is_some_and(|lease| {
                !matches!(lease.state_at(now), LeaseState::Held | LeaseState::Uncertain)
            });
            let lost = gone + taken > self.quorum.spare();
            if over || lost || renewed + gone < self.quorum.needed() {
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
        let (renewed, gone, taken) = self.tally(at);
        if renewed + self.joined[at] >= self.quorum.needed() {
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

    /// How many have renewed it, have nothing under its key, and have somebody else's token there.
    fn tally(&self, at: usize) -> (usize, usize, usize) {
        let renewed = self.count(at, |reply| matches!(reply, Ok(Verdict::Renewed)));
        let gone = self.count(at, |reply| matches!(reply, Ok(Verdict::Gone)));
        let taken = self.count(at, |reply| matches!(reply, Ok(Verdict::Taken)));
        (renewed, gone, taken)
    }

    fn count(&self, at: usize, is: impl Fn(&Result<Verdict, Fault>) -> bool) -> usize {
        self.answers.iter().flatten().flatten().filter(|each| is(&each[at])).count()
    }
}
