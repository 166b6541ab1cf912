//! One operation on its way through a cluster: to the nodes that serve its keys, and on where they send
//! it.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use super::{Address, Confirmed, Op, Redirect, Renewal, Topology, Verdict};
use crate::{Confirm, Fault, FaultKind, slot::slot, time::Timestamp};

/// How often a key is sent on before that is a fault: a cluster that moves slots sends on once or twice.
const MOST_HOPS: u8 = 5;

/// One operation in a cluster: send every [`Leg`] of [`Journey::legs`], hand what came of each to
/// [`Journey::hear`], and again until there are none; then take the [`Journey::answer`].
///
/// An operation is sent on only by a node that has not carried it out. Whatever else happens is the
/// answer, and to ask again is the business of who asks.
#[derive(Debug)]
pub struct Journey {
    op: Op,
    /// Which copies must have it, and how long a reply may take.
    confirm: Option<(Confirm, Duration)>,
    /// One for every lease of a batch, one for anything else.
    parts: Vec<Part>,
    epoch: u64,
}

#[derive(Debug)]
struct Part {
    slot: u16,
    /// Where it was sent, and whether that is to be said there: the slot is still on its way.
    sent_to: Option<(Address, bool)>,
    hops: u8,
    result: Option<Result<Verdict, Fault>>,
}

/// What is to be sent to one node.
#[derive(Debug)]
pub struct Leg {
    /// Where to.
    pub to: Address,
    /// What.
    pub op: Op,
    /// The node is about to be given the slot, and serves only who says that this is known.
    pub asking: bool,
    parts: Vec<usize>,
    sent: Timestamp,
    silent: bool,
}

impl Leg {
    /// How long it may take out of what is `left`, where one leg is sent after the other and so many
    /// are to `follow`: a node that is silent leaves time for the others.
    #[must_use]
    pub fn share(&self, left: Duration, first_of_all: bool, follow: usize) -> Duration {
        match u32::try_from(follow) {
            Ok(0) if first_of_all => left,
            _ if self.silent => left / 4,
            Ok(follow) => left / (follow + 1),
            Err(_) => Duration::ZERO,
        }
    }
}

impl Journey {
    /// `op` before it has been sent anywhere.
    #[must_use]
    pub fn new(op: Op) -> Self {
        let (op, confirm) = match op {
            Op::Confirmed(confirmed) => {
                let Confirmed { op, confirm, each } = *confirmed;
                (op, Some((confirm, each)))
            }
            op => (op, None),
        };
        let part = |key: &crate::Key| {
            let slot = slot(key.as_bytes());
            Part { slot, sent_to: None, hops: 0, result: None }
        };
        let parts = match &op {
            Op::RenewMany(renewals) => renewals.iter().map(|one| part(&one.key)).collect(),
            other => other.key().into_iter().map(part).collect(),
        };
        Self { op, confirm, parts, epoch: 0 }
    }

    /// What to send now, all at once or one after the other: those that did not answer when last asked
    /// come last. Nothing, if all has been answered.
    ///
    /// Renewals are not sent where they would only wait once more: a keeper has others to renew.
    pub fn legs(&mut self, topology: &mut Topology, now: Timestamp) -> Vec<Leg> {
        let renews = matches!(self.op, Op::RenewMany(_));
        self.epoch = topology.epoch();
        let mut lost = false;
        let mut places = BTreeMap::<(bool, Address, bool), Vec<usize>>::new();
        for (index, part) in self.parts.iter_mut().enumerate() {
            if part.result.is_some() {
                continue;
            }
            let sent_to = part.sent_to.take();
            let asking = sent_to.as_ref().is_some_and(|(_, asking)| *asking);
            let to = sent_to.as_ref().map(|(to, _)| to);
            match to.or_else(|| topology.primary(part.slot)) {
                Some(to) if renews && topology.rests(to, now) => {
                    let text = format!("{to} gave no answer a moment ago");
                    part.result = Some(Err(Fault::new(FaultKind::Unreachable, text)));
                }
                Some(to) => {
                    let place = (topology.is_silent(to), to.clone(), asking);
                    places.entry(place).or_default().push(index);
                }
                None => {
                    lost = true;
                    let text = format!("no node of the cluster serves slot {}", part.slot);
                    part.result = Some(Err(Fault::new(FaultKind::Cluster, text)));
                }
            }
        }
        if lost {
            topology.doubt();
        }
        let leg = |((silent, to, asking), parts): ((bool, Address, bool), Vec<usize>)| {
            let (op, each) =
                (self.op_of(&parts), self.confirm.map_or(Duration::ZERO, |(_, each)| each));
            let op = op.confirmed(self.confirm.map(|(confirm, _)| confirm), each);
            Leg { to, op, asking, parts, sent: now, silent }
        };
        places.into_iter().map(leg).collect()
    }

    fn op_of(&self, parts: &[usize]) -> Op {
        match &self.op {
            Op::RenewMany(renewals) => {
                let some = parts.iter().filter_map(|&index| renewals.get(index));
                Op::RenewMany(some.cloned().collect::<Vec<Renewal>>())
            }
            other => other.clone(),
        }
    }

    /// What came of `leg`.
    pub fn hear(
        &mut self,
        leg: &Leg,
        reply: Result<Verdict, Fault>,
        topology: &mut Topology,
        now: Timestamp,
    ) {
        let silent =
            |fault: &Fault| matches!(fault.kind(), FaultKind::Unreachable | FaultKind::NoReply);
        if !reply.as_ref().err().is_some_and(silent) {
            topology.answered(&leg.to);
        }
        match reply {
            Ok(Verdict::Many(results))
                if matches!(self.op, Op::RenewMany(_)) && results.len() == leg.parts.len() =>
            {
                for (&index, result) in leg.parts.iter().zip(results) {
                    self.settle(index, leg, result, topology, now);
                }
            }
            result => {
                for &index in &leg.parts {
                    self.settle(index, leg, result.clone(), topology, now);
                }
            }
        }
    }

    fn settle(
        &mut self,
        index: usize,
        leg: &Leg,
        result: Result<Verdict, Fault>,
        topology: &mut Topology,
        now: Timestamp,
    ) {
        let epoch = self.epoch;
        let Some(part) = self.parts.get_mut(index) else { return };
        if let Err(fault) = &result {
            let redirect = fault.redirect(&leg.to).filter(|_| part.hops < MOST_HOPS);
            part.hops += 1;
            match redirect {
                Some(Redirect::Moved { slot, to }) if slot == part.slot => {
                    topology.moved(slot, &to);
                    // Whatever is learned until then: who tells may have heard less.
                    part.sent_to = Some((to, false));
                    return;
                }
                Some(Redirect::Ask { slot, to }) if slot == part.slot => {
                    part.sent_to = Some((to, true));
                    return;
                }
                _ => topology.failed(&leg.to, epoch, fault, now.since(leg.sent), now),
            }
        }
        part.result = Some(result);
    }

    /// What came of it all.
    ///
    /// # Errors
    /// What the node met, or what was met on the way to it.
    pub fn answer(self) -> Result<Verdict, Fault> {
        let open = || Err(Fault::new(FaultKind::Cluster, "it was never sent"));
        let mut results = self.parts.into_iter().map(|part| part.result.unwrap_or_else(open));
        match self.op {
            Op::RenewMany(_) => Ok(Verdict::Many(results.collect())),
            _ => results.next().unwrap_or_else(open),
        }
    }
}
