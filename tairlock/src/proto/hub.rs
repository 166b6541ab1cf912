//! Where a client's listener stands: whether there is one, when to look for one again, and which was lost.

use std::{sync::Arc, time::Duration};

use crate::{Fault, FaultKind, time::Timestamp};

/// How long to leave a server alone that could not be listened to: at first, and in the end.
const SOONEST: Duration = Duration::from_millis(20);
const LATEST: Duration = Duration::from_secs(1);
/// And one that does not let this user listen, or cannot be listened to at all.
const REFUSED: Duration = Duration::from_secs(60);

/// The one listener of a client at one node; `L` is its connection.
///
/// It is opened when it is first asked for and again after it was lost, if somebody still asks: who
/// waits asks again and again, so nothing needs to run here while nobody does.
#[derive(Debug)]
pub struct Hub<L> {
    state: State<L>,
    /// Names an opening, so that news of one that is gone is not taken for news of the next.
    epoch: u64,
    /// Not to be opened before.
    not_before: Timestamp,
    pause: Duration,
    fault: Fault,
}

#[derive(Debug)]
enum State<L> {
    Down,
    Opening,
    Up(L),
    Closed,
}

/// What a listener is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News<'a> {
    /// This key has changed, which was asked about on the listener's connection.
    Changed(&'a [u8]),
    /// Any key may have changed.
    Everything,
    /// The connection is gone: there will be no more news.
    Lost,
}

/// Where news go. Called from wherever they come in, and must not block.
pub type Hear = Arc<dyn Fn(News<'_>) + Send + Sync>;

/// How a question gets to the listener.
#[derive(Debug)]
pub enum Hearing<L> {
    /// Down this connection; its epoch is for [`Hub::lost`].
    On(u64, L),
    /// There is none: open one, and tell [`Hub::opened`] or [`Hub::failed`].
    Open(u64, Fault),
    /// There is none now.
    No(Fault),
}

impl<L: Clone> Hub<L> {
    /// Without a listener yet.
    #[must_use]
    pub fn new() -> Self {
        let fault = Fault::new(FaultKind::Unreachable, "there is no listener yet");
        let not_before = Timestamp::default();
        Self { state: State::Down, epoch: 0, not_before, pause: SOONEST, fault }
    }

    /// Somebody has a question for the listener.
    pub fn ask(&mut self, now: Timestamp) -> Hearing<L> {
        match &self.state {
            State::Up(line) => Hearing::On(self.epoch, line.clone()),
            State::Down if now >= self.not_before => {
                self.state = State::Opening;
                self.epoch += 1;
                Hearing::Open(self.epoch, self.fault.clone())
            }
            State::Down | State::Opening | State::Closed => Hearing::No(self.fault.clone()),
        }
    }

    /// It was opened: `true` if it is still wanted, and then all who wait are to be rung.
    pub fn opened(&mut self, epoch: u64, line: L) -> bool {
        let wanted = epoch == self.epoch && matches!(self.state, State::Opening);
        if wanted {
            self.state = State::Up(line);
            self.pause = SOONEST;
        }
        wanted
    }

    /// It could not be opened.
    pub fn failed(&mut self, epoch: u64, fault: Fault, now: Timestamp) {
        if epoch != self.epoch || !matches!(self.state, State::Opening) {
            return;
        }
        let refused = matches!(fault.kind(), FaultKind::Unsupported | FaultKind::Permission);
        self.not_before = now + if refused { REFUSED } else { self.pause };
        self.pause = (self.pause * 2).min(LATEST);
        self.fault = fault;
        self.state = State::Down;
    }

    /// It was lost: `true` if that is news, and then all who wait are to be rung.
    pub fn lost(&mut self, epoch: u64, now: Timestamp) -> bool {
        let news = epoch == self.epoch && matches!(self.state, State::Up(_) | State::Opening);
        if news {
            self.state = State::Down;
            self.not_before = now + self.pause;
            self.fault = Fault::new(FaultKind::Unreachable, "the listener was lost");
        }
        news
    }

    /// There will be none any more; answers the connection, to be closed.
    pub fn close(&mut self) -> Option<L> {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Up(line) => Some(line),
            _ => None,
        }
    }

    /// Whether there is one.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }
}

impl<L: Clone> Default for Hub<L> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opened_when_asked_lost_once_and_opened_again() {
        let (mut hub, start) = (Hub::new(), Timestamp::from_nanos(1 << 40));
        let Hearing::Open(first, _) = hub.ask(start) else { panic!("to be opened") };
        assert!(matches!(hub.ask(start), Hearing::No(_)), "one opens it");
        assert!(hub.opened(first, "a"));
        assert!(matches!(hub.ask(start), Hearing::On(1, "a")));
        assert!(hub.lost(first, start) && !hub.lost(first, start));
        assert!(matches!(hub.ask(start), Hearing::No(_)), "not at once");
        let later = start + SOONEST;
        let Hearing::Open(second, _) = hub.ask(later) else { panic!("to be opened again") };
        assert!(!hub.opened(first, "late"));
        hub.failed(second, Fault::new(FaultKind::Permission, "no"), later);
        assert!(
            matches!(hub.ask(later + LATEST), Hearing::No(fault) if fault.kind() == FaultKind::Permission)
        );
        let Hearing::Open(third, _) = hub.ask(later + REFUSED) else { panic!("tried again") };
        hub.close();
        assert!(!hub.opened(third, "b"));
        assert!(matches!(hub.ask(later + REFUSED * 2), Hearing::No(_)));
    }
}
