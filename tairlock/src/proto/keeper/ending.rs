//! How a lease ends: given back at once or kept for a while, by its guard or in the guard's place.

use std::{cmp::Reverse, time::Duration};

use super::{Errand, Keeper};
use crate::{
    Fault, Key, LeaseState, Release, Token, Ttl,
    lease::Lease,
    proto::{Op, Renewal, Tenancy, Undo, Verdict},
    time::Timestamp,
};

/// What is left of a hold below this is not worth a command of another kind.
const LEAST: Duration = Duration::from_millis(1);
/// How much later than we think a server's key is gone: its clock is coarse.
const LATE: Duration = Duration::from_millis(2);

impl<R: Clone> Keeper<R> {
    /// A guard is about to release its lock: nothing is renewed for it from here on. Answers what to
    /// send: where the lock is to be held for longer than it was, the key stays for the rest.
    pub fn begin_release(&mut self, lease: &Lease, tenancy: Tenancy, now: Timestamp) -> Op {
        self.tenants.remove(&tenancy.id);
        let keep = keep(lease, tenancy, now);
        lease.let_go();
        farewell(lease.key(), lease.token(), keep, now)
    }

    /// What came of the release that a guard sent. One whose fate is open is seen through.
    ///
    /// # Errors
    /// The server refused, and will go on refusing.
    pub fn end_release(
        &mut self,
        lease: &Lease,
        tenancy: Tenancy,
        reply: Result<Verdict, Fault>,
        now: Timestamp,
    ) -> Result<Release, Fault> {
        let release = self.hear_release(lease, tenancy, reply, now);
        lease.given_back(release.as_ref().ok().copied());
        release
    }

    fn hear_release(
        &mut self,
        lease: &Lease,
        tenancy: Tenancy,
        reply: Result<Verdict, Fault>,
        now: Timestamp,
    ) -> Result<Release, Fault> {
        let (reply, open) = match reply {
            Ok(Verdict::Open(verdict)) => (Ok(*verdict), true),
            reply => (reply, false),
        };
        let release = match reply {
            Ok(Verdict::Released) => Release::Released,
            Ok(Verdict::Gone) => Release::Expired,
            Ok(Verdict::Taken) => Release::Taken,
            Ok(Verdict::Retained) => {
                let until = tenancy.keep.unwrap_or(now);
                self.stay(lease.clone(), until);
                return Ok(Release::Retained { left: until.since(now) });
            }
            Err(fault) if !fault.is_transient() && !fault.is_ambiguous() => {
                lease.pass_turn();
                return Err(fault);
            }
            Ok(_) | Err(_) => {
                self.see_release_through(lease, tenancy, now);
                return Ok(Release::Unknown);
            }
        };
        lease.pass_turn();
        if open || tenancy.late {
            // It is free for whoever wants it; who has not answered, or may have heard of the grant only
            // after that, is told again.
            let (key, token, until) =
                (lease.key().clone(), lease.token().clone(), now + tenancy.ttl.as_duration());
            let undo = Undo { key, token, until, route: None, again: open && tenancy.late };
            let pause = if open { self.limit / 4 } else { self.limit };
            self.settle(undo, None, None, now + pause);
        }
        Ok(release)
    }

    /// A guard is gone without a word, or its release was cut off: the keeper releases in its place.
    pub fn see_release_through(&mut self, lease: &Lease, tenancy: Tenancy, now: Timestamp) {
        let keep = keep(lease, tenancy, now);
        self.begin_release(lease, tenancy, now);
        self.give_back(lease, tenancy.ttl, keep, tenancy.late, now);
    }

    /// Undoes an acquire that was cancelled or failed, if its token may stand on the server.
    pub fn undo(&mut self, undo: Undo<R>, now: Timestamp) {
        self.settle(undo, None, None, now);
    }

    /// Releases what `lease` was about, whose turn passes with that; a second time a little later if `again`.
    pub(super) fn give_back(
        &mut self,
        lease: &Lease,
        ttl: Ttl,
        keep: Option<Timestamp>,
        again: bool,
        now: Timestamp,
    ) {
        let (key, token) = (lease.key().clone(), lease.token().clone());
        let until = (now + ttl.as_duration()).max(keep.unwrap_or_default());
        let undo = Undo { key, token, until, route: None, again: again && keep.is_none() };
        self.settle(undo, Some(lease.clone()), keep, now);
    }

    fn settle(
        &mut self,
        undo: Undo<R>,
        lease: Option<Lease>,
        keep: Option<Timestamp>,
        due: Timestamp,
    ) {
        let id = self.id();
        let again = u8::from(undo.again);
        self.errands.insert(id, Errand { undo, again, lease, keep, due });
        self.agenda.push(Reverse((due, id)));
    }

    pub(super) fn released(&mut self, id: u64, reply: &Result<Verdict, Fault>, now: Timestamp) {
        let limit = self.limit;
        let Some(errand) = self.errands.get_mut(&id) else { return };
        let due = match reply {
            Ok(Verdict::Open(_)) => {
                errand.undo.route = None;
                Some(now + limit / 4)
            }
            Ok(_) if errand.again == 0 => None,
            Ok(_) => {
                errand.again -= 1;
                Some(now + limit)
            }
            Err(fault) if errand.undo.route.take().is_some() && fault.is_transient() => {
                errand.again = 1;
                Some(now)
            }
            Err(fault) if fault.is_transient() => Some(now + limit / 4),
            Err(_) => None,
        };
        let keep = errand.keep;
        if let (Err(fault), Some(lease)) = (reply, &errand.lease)
            && fault.is_ambiguous()
        {
            lease.given_back(Some(Release::Unknown));
        }
        if (reply.is_ok() || due.is_none())
            && let Some(lease) = errand.lease.take()
        {
            lease.given_back(reply.as_ref().ok().map(|verdict| did(verdict, keep, now)));
            match (reply, keep) {
                (Ok(Verdict::Retained), Some(until)) => self.stay(lease, until),
                _ => lease.pass_turn(),
            }
        }
        let Some(errand) = self.errands.get_mut(&id) else { return };
        match due.filter(|&due| due < errand.undo.until) {
            Some(due) => {
                errand.due = due;
                self.agenda.push(Reverse((due, id)));
            }
            None => self.abandon(id),
        }
    }

    fn abandon(&mut self, id: u64) {
        if let Some(lease) = self.errands.remove(&id).and_then(|errand| errand.lease) {
            lease.given_back(Some(Release::Unknown));
            lease.pass_turn();
        }
    }

    /// The key stays on the server until then: who is next in line has nothing to ask for before.
    fn stay(&mut self, lease: Lease, until: Timestamp) {
        if self.closing {
            return lease.pass_turn();
        }
        let (id, until) = (self.id(), until + LATE);
        self.stays.insert(id, lease);
        self.agenda.push(Reverse((until, id)));
    }

    /// Ends the stay called `id`, if there is one: its time has come.
    pub(super) fn end_stay(&mut self, id: u64) -> bool {
        self.stays.remove(&id).inspect(Lease::pass_turn).is_some()
    }
}

/// Until when the key must stay, if it must: never after a loss, as it is somebody else's then.
fn keep(lease: &Lease, tenancy: Tenancy, now: Timestamp) -> Option<Timestamp> {
    tenancy.keep.filter(|_| !matches!(lease.state_at(now), LeaseState::Lost(_)))
}

/// What the release of a guard that is gone did.
fn did(verdict: &Verdict, keep: Option<Timestamp>, now: Timestamp) -> Release {
    match verdict {
        Verdict::Released => Release::Released,
        Verdict::Gone => Release::Expired,
        Verdict::Taken => Release::Taken,
        Verdict::Retained => Release::Retained { left: keep.unwrap_or(now).since(now) },
        Verdict::Open(verdict) => did(verdict, keep, now),
        _ => Release::Unknown,
    }
}

/// What to send so that `token` is gone from `key`: at once, or at `keep`.
pub(super) fn farewell(key: &Key, token: &Token, keep: Option<Timestamp>, now: Timestamp) -> Op {
    let (key, token) = (key.clone(), token.clone());
    match keep.map(|until| until.since(now)).filter(|left| *left >= LEAST) {
        Some(left) => Op::Retain(Renewal { key, token, ttl: Ttl::at_least(left), of: None }),
        None => Op::Release { key, token },
    }
}
