//! One question about one key, asked once more if the connection was gone before it was asked.

use std::time::Duration;

use super::{Event, Machine, Op, SendId, Step, Verdict};
use crate::{Fault, fault::FaultKind, time::Timestamp};

/// The machine that asks one question.
#[derive(Debug)]
pub struct Inquiry {
    op: Op,
    within: Duration,
    /// Whether to ask twice does no more than to ask once.
    repeatable: bool,
    tries: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Idle,
    Asking(SendId),
    Over(Option<Result<Verdict, Fault>>),
}

impl Inquiry {
    /// Asks `op`, each time for at most `within`. One that is not `repeatable` is asked again only if
    /// it surely did nothing.
    #[must_use]
    pub const fn new(op: Op, within: Duration, repeatable: bool) -> Self {
        Self { op, within, repeatable, tries: 0, state: State::Idle }
    }
}

impl Machine for Inquiry {
    type Output = Result<Verdict, Fault>;
    type Route = ();

    fn poll(&mut self, _now: Timestamp) -> Step<Self::Output, ()> {
        match &mut self.state {
            State::Idle => {
                self.tries += 1;
                let id = SendId(self.tries);
                self.state = State::Asking(id);
                Step::Send { id, route: (), op: self.op.clone(), within: self.within }
            }
            State::Over(output) if output.is_some() => {
                output.take().map_or(Step::Wait(Timestamp::NEVER), Step::Done)
            }
            State::Asking(_) | State::Over(_) => Step::Wait(Timestamp::NEVER),
        }
    }

    fn handle(&mut self, event: Event, _now: Timestamp) {
        let Event::Reply(id, reply) = event else { return };
        if !matches!(self.state, State::Asking(asked) if asked == id) {
            return;
        }
        // A connection that died idle, or was there before a failover, is no outage.
        let again = reply.as_ref().err().is_some_and(|fault| {
            let elsewhere = fault.kind() == FaultKind::Unreachable || fault.is_from_a_replica();
            elsewhere && (self.repeatable || !fault.is_ambiguous())
        });
        self.state = if again && self.tries == 1 { State::Idle } else { State::Over(Some(reply)) };
    }
}
