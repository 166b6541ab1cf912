//! Having a grant confirmed: do it, wait for the copies only if it was granted, and take it back if they are too few.

use std::time::Duration;

use super::{Op, Renewal, Verdict};
use crate::{Confirm, Fault, FaultKind, Key, Token, Ttl};

/// By how much servers overstep the time that copies were given (measured: up to 100 ms).
const OVERSTEP: Duration = Duration::from_millis(100);

/// An operation that counts only once copies have it.
#[derive(Clone, Debug)]
pub struct Confirmed {
    /// A grant, or renewals.
    pub op: Op,
    /// Which copies, and how long they have.
    pub confirm: Confirm,
    /// How long to wait for the reply to anything else.
    pub each: Duration,
}

impl Confirmed {
    /// How long all of its steps may take.
    #[must_use]
    pub fn within(&self) -> Duration {
        self.each * 4 + self.confirm.limit() + OVERSTEP
    }
}

/// One such operation on a connection that nobody else uses meanwhile: send [`Confirming::ask`], hand what
/// came of it to [`Confirming::hear`], and again until it answers.
///
/// A server answers for what this connection has written, so every step goes down the same one: where it is
/// lost, that is the answer, and nothing is sent down another.
#[derive(Debug)]
pub struct Confirming {
    confirmed: Confirmed,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing is written yet.
    Begun,
    /// Our token stood there, written on another connection: it is written on this one.
    Rewriting(Verdict),
    /// The copies are waited for; then this is the answer.
    Waiting(Verdict),
    /// Too few have it; the grant is taken back, and then this is the answer.
    TakingBack(Result<Verdict, Fault>),
}

impl Confirming {
    /// What `confirmed` asks for, before anything is sent.
    #[must_use]
    pub fn new(confirmed: &Confirmed) -> Self {
        Self { confirmed: confirmed.clone(), state: State::Begun }
    }

    /// What to send now, and how long to wait for the reply.
    #[must_use]
    pub fn ask(&self) -> (Op, Duration) {
        let Confirmed { op, confirm, each } = &self.confirmed;
        match (&self.state, granted(op), about(op)) {
            (State::Rewriting(_), Some((key, token, ttl)), _) => {
                let (key, token) = (key.clone(), token.clone());
                (Op::RenewMany(vec![Renewal { key, token, ttl, of: None }]), *each)
            }
            (State::TakingBack(_), Some((key, token, _)), _) => {
                (Op::Release { key: key.clone(), token: token.clone() }, *each)
            }
            (State::Waiting(_), _, Some(key)) => {
                let op = Op::Copies { key, confirm: *confirm };
                (op, confirm.limit() + OVERSTEP + *each)
            }
            _ => (op.clone(), *each),
        }
    }

    /// What came of it. `Some` is the end.
    pub fn hear(&mut self, reply: Result<Verdict, Fault>) -> Option<Result<Verdict, Fault>> {
        match std::mem::replace(&mut self.state, State::Begun) {
            State::Begun => match reply {
                Ok(verdict @ (Verdict::Granted | Verdict::Issued { again: false, .. })) => {
                    self.wait(verdict)
                }
                Ok(verdict @ (Verdict::Ours | Verdict::Issued { again: true, .. })) => {
                    self.state = State::Rewriting(verdict);
                    None
                }
                Ok(Verdict::Many(leases)) if leases.contains(&Ok(Verdict::Renewed)) => {
                    self.wait(Verdict::Many(leases))
                }
                other => Some(other),
            },
            State::Rewriting(verdict) => match reply {
                Ok(Verdict::Many(leases)) => match leases.into_iter().next() {
                    Some(Ok(Verdict::Renewed)) => self.wait(verdict),
                    Some(Err(fault)) => Some(Err(open(&fault))),
                    // It ran out in between; to ask again tells whose it is now.
                    _ => {
                        let text = "the lease ran out before copies had it";
                        Some(Err(Fault::ambiguous(FaultKind::NoReply, text)))
                    }
                },
                Ok(other) => {
                    let text = format!("a renewal was answered with {other:?}");
                    Some(Err(Fault::ambiguous(FaultKind::Protocol, text)))
                }
                Err(fault) => Some(Err(open(&fault))),
            },
            State::Waiting(verdict) => {
                let wanted = self.confirmed.confirm.wanted();
                match reply {
                    Ok(Verdict::Copies(acked)) if acked >= wanted => Some(Ok(verdict)),
                    Ok(Verdict::Copies(acked)) => {
                        let too_few = Verdict::Unconfirmed { acked, wanted, stays: false };
                        self.refuse(verdict, Ok(too_few))
                    }
                    Ok(other) => {
                        let text = format!("waiting for copies was answered with {other:?}");
                        self.refuse(verdict, Err(Fault::ambiguous(FaultKind::Protocol, text)))
                    }
                    Err(fault) => self.refuse(verdict, Err(fault)),
                }
            }
            State::TakingBack(answer) => {
                let gone = matches!(reply, Ok(Verdict::Released | Verdict::Gone | Verdict::Taken));
                Some(match answer {
                    Ok(Verdict::Unconfirmed { acked, wanted, .. }) => {
                        Ok(Verdict::Unconfirmed { acked, wanted, stays: !gone })
                    }
                    Err(fault) if !gone => Err(open(&fault)),
                    other => other,
                })
            }
        }
    }

    fn wait(&mut self, verdict: Verdict) -> Option<Result<Verdict, Fault>> {
        self.state = State::Waiting(verdict);
        None
    }

    /// Copies did not confirm what was granted.
    fn refuse(
        &mut self,
        granted: Verdict,
        why: Result<Verdict, Fault>,
    ) -> Option<Result<Verdict, Fault>> {
        match (granted, why) {
            // Renewals are not taken back: the leases run on to where they were confirmed. What was heard of the
            // others is true all the same.
            (Verdict::Many(leases), why) => {
                let unless =
                    |lease| if lease == Ok(Verdict::Renewed) { why.clone() } else { lease };
                Some(Ok(Verdict::Many(leases.into_iter().map(unless).collect())))
            }
            // The connection is lost, and nothing can be sent down it. Whoever asked asks again.
            (_, Err(fault)) if fault.is_ambiguous() => Some(Err(fault)),
            (_, why) => {
                self.state = State::TakingBack(why);
                None
            }
        }
    }
}

/// Why a renewal does not count.
pub(super) fn why(renewed: Result<Verdict, Fault>) -> Option<Fault> {
    match renewed {
        Ok(Verdict::Unconfirmed { acked, wanted, .. }) => {
            let text = format!("{acked} of {wanted} copies had it in time");
            Some(Fault::new(FaultKind::NotReady, text))
        }
        other => other.err(),
    }
}

/// The fault, where our token stands on the server.
fn open(fault: &Fault) -> Fault {
    Fault::ambiguous(fault.kind(), fault.to_string())
}

fn granted(op: &Op) -> Option<(&Key, &Token, Ttl)> {
    match op {
        Op::Acquire { key, token, ttl } | Op::AcquireFenced { key, token, ttl } => {
            Some((key, token, *ttl))
        }
        _ => None,
    }
}

/// A key of those that it is about: on a cluster, all are on one node.
fn about(op: &Op) -> Option<Key> {
    match op {
        Op::RenewMany(renewals) => renewals.first().map(|renewal| renewal.key.clone()),
        other => granted(other).map(|(key, ..)| key.clone()),
    }
}
