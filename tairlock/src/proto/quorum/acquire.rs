//! Taking a lock on a quorum: enough grants, or none.

use super::{Next, Quorum, no_quorum};
use crate::{
    Fault, FaultKind, Key, Token, Ttl,
    proto::{Op, Verdict},
};

#[derive(Debug)]
pub(super) struct Acquire {
    quorum: Quorum,
    key: Key,
    token: Token,
    ttl: Ttl,
    votes: Vec<Vote>,
    /// It is lost, and what was granted is being taken back.
    undoing: Option<Undoing>,
}

#[derive(Debug)]
struct Undoing {
    /// Who has yet to confirm that it has forgotten the grant that it has given.
    granted: Vec<usize>,
    /// Whether somebody may still have our token.
    open: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Vote {
    /// Not asked before it has answered a release of another token, of a round before.
    Owing,
    Pending,
    Granted,
    /// Our token was there already.
    Ours,
    Busy,
    Failed(Fault),
}

impl Acquire {
    pub(super) fn new(
        quorum: Quorum,
        key: Key,
        token: Token,
        ttl: Ttl,
        owing: impl Iterator<Item = bool>,
    ) -> Self {
        let votes = owing.map(|owes| if owes { Vote::Owing } else { Vote::Pending }).collect();
        Self { quorum, key, token, ttl, votes, undoing: None }
    }

    pub(super) fn release(&self, token: &Token) -> Op {
        Op::Release { key: self.key.clone(), token: token.clone() }
    }

    /// Whether `op` gives back what this round was granted.
    pub(super) fn takes_back(&self, op: &Op) -> bool {
        matches!(op, Op::Release { token, .. } if *token == self.token)
    }

    /// A server has answered a release of a round before, or has not: what to ask it for now, if there is
    /// time.
    pub(super) fn settled(&mut self, node: usize, answered: bool, time: bool) -> Option<Op> {
        if self.undoing.is_some() || (answered && !time) {
            return None;
        }
        if answered {
            self.votes[node] = Vote::Pending;
            let (key, token, ttl) = (self.key.clone(), self.token.clone(), self.ttl);
            return Some(Op::Acquire { key, token, ttl });
        }
        let text = "it has not answered a release, so it was asked for nothing else";
        self.votes[node] = Vote::Failed(Fault::new(FaultKind::NoReply, text));
        None
    }

    /// A server has been told to give back what it may have granted.
    pub(super) fn undone(&mut self, node: usize, reply: &Result<Verdict, Fault>) -> Next {
        let Some(undoing) = &mut self.undoing else { return Next::Listen };
        undoing.granted.retain(|waiting| *waiting != node);
        if reply.is_ok() {
            undoing.open.retain(|open| *open != node);
        }
        if undoing.granted.is_empty() { Next::Done } else { Next::Listen }
    }

    pub(super) fn heard(&mut self, node: usize, reply: Result<Verdict, Fault>) -> Next {
        if self.undoing.is_some() {
            return self.next();
        }
        self.votes[node] = match reply {
            Ok(Verdict::Granted) => Vote::Granted,
            Ok(Verdict::Ours) => Vote::Ours,
            Ok(Verdict::Busy) => Vote::Busy,
            Ok(other) => {
                let text = format!("an acquire was answered with {other:?}");
                Vote::Failed(Fault::ambiguous(FaultKind::Protocol, text))
            }
            Err(fault) => Vote::Failed(fault),
        };
        self.next()
    }

    /// What the votes so far come to.
    pub(super) fn next(&mut self) -> Next {
        if let Some(undoing) = &self.undoing {
            return if undoing.granted.is_empty() { Next::Done } else { Next::Listen };
        }
        if self.won() >= self.quorum.needed() {
            return Next::Won;
        }
        let pending = self.count(|vote| matches!(vote, Vote::Pending | Vote::Owing));
        if self.won() + pending >= self.quorum.needed() {
            Next::Listen
        } else if pending == 0 {
            self.undo()
        } else {
            // Most of them answer at once, and have nothing of ours then.
            Next::Linger
        }
    }

    /// Whether it is lost, and what was granted has yet to be taken back.
    pub(super) fn is_to_be_undone(&self) -> bool {
        self.undoing.is_none() && self.won() < self.quorum.needed()
    }

    /// Takes back what was granted, or may have been.
    pub(super) fn undo(&mut self) -> Next {
        let (mut granted, mut open) = (Vec::new(), Vec::new());
        for (node, vote) in self.votes.iter().enumerate() {
            match vote {
                Vote::Granted | Vote::Ours => granted.push(node),
                Vote::Pending => open.push(node),
                Vote::Failed(fault) if fault.is_ambiguous() => open.push(node),
                Vote::Owing | Vote::Busy | Vote::Failed(_) => {}
            }
        }
        open.extend(&granted);
        let sends: Vec<_> = open.iter().map(|&node| (node, self.release(&self.token))).collect();
        let nothing = sends.is_empty();
        self.undoing = Some(Undoing { granted, open });
        if nothing { Next::Done } else { Next::Say(sends) }
    }

    pub(super) fn verdict(&self) -> Result<Verdict, Fault> {
        if self.won() >= self.quorum.needed() {
            // With a grant from before among them the lease began then.
            let granted = self.count(|vote| matches!(vote, Vote::Granted));
            let new = granted >= self.quorum.needed();
            let won = if new { Verdict::Granted } else { Verdict::Ours };
            // What was asked of the others may yet arrive.
            let late = self.count(|vote| match vote {
                Vote::Pending => true,
                Vote::Failed(fault) => fault.is_ambiguous(),
                _ => false,
            });
            return Ok(if late > 0 { Verdict::Open(Box::new(won)) } else { won });
        }
        let open = self.undoing.as_ref().is_none_or(|undoing| !undoing.open.is_empty());
        let faults = self.votes.iter().filter_map(|vote| match vote {
            Vote::Failed(fault) => Some(fault),
            _ => None,
        });
        match (faults.clone().count() > self.quorum.spare(), open) {
            (true, open) => Err(no_quorum(self.quorum, faults, open)),
            (false, true) => Ok(Verdict::Open(Box::new(Verdict::Busy))),
            (false, false) => Ok(Verdict::Busy),
        }
    }

    fn won(&self) -> usize {
        self.count(|vote| matches!(vote, Vote::Granted | Vote::Ours))
    }

    fn count(&self, is: impl Fn(&Vote) -> bool) -> usize {
        self.votes.iter().filter(|vote| is(vote)).count()
    }
}
