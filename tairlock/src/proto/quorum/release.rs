//! Giving a lock back on a quorum.

use super::{Next, Quorum, no_quorum};
use crate::{Fault, FaultKind, proto::Verdict};

#[derive(Debug)]
pub(super) struct Release {
    quorum: Quorum,
    answers: Vec<Option<Result<Verdict, Fault>>>,
}

impl Release {
    pub(super) fn new(quorum: Quorum) -> Self {
        Self { quorum, answers: vec![None; quorum.nodes()] }
    }

    pub(super) fn heard(&mut self, node: usize, reply: Result<Verdict, Fault>) -> Next {
        self.answers[node] = Some(reply);
        let done = self.count(|reply| matches!(reply, Ok(Verdict::Released | Verdict::Retained)));
        if done >= self.quorum.needed() || self.refused() > self.quorum.spare() {
            Next::Linger
        } else {
            Next::Listen
        }
    }

    pub(super) fn verdict(&self) -> Result<Verdict, Fault> {
        let retained = self.count(|reply| matches!(reply, Ok(Verdict::Retained)));
        let released = self.count(|reply| matches!(reply, Ok(Verdict::Released)));
        let taken = self.count(|reply| matches!(reply, Ok(Verdict::Taken)));
        let needed = self.quorum.needed();
        if retained >= needed {
            // Who has not heard it keeps the token until the end of its TTL, which is the sooner.
            return Ok(Verdict::Retained);
        }
        let answered = self.count(|reply| reply.is_ok());
        let verdict = if released >= needed {
            Verdict::Released
        } else if self.refused() > self.quorum.spare() {
            if taken >= needed { Verdict::Taken } else { Verdict::Gone }
        } else {
            let silent = Fault::new(FaultKind::NoReply, "no reply");
            let faults = self.answers.iter().filter_map(|answer| match answer {
                Some(Err(fault)) => Some(fault),
                Some(Ok(_)) => None,
                None => Some(&silent),
            });
            return Err(no_quorum(self.quorum, faults, true));
        };
        let open = answered < self.quorum.nodes();
        Ok(if open { Verdict::Open(Box::new(verdict)) } else { verdict })
    }

    /// How many had nothing of ours.
    fn refused(&self) -> usize {
        self.count(|reply| matches!(reply, Ok(Verdict::Gone | Verdict::Taken)))
    }

    fn count(&self, is: impl Fn(&Result<Verdict, Fault>) -> bool) -> usize {
        self.answers.iter().flatten().filter(|reply| is(reply)).count()
    }
}
