//! The keeper: renews every lease of a client in batches, notices losses, and sees releases through.

mod ending;
mod kept;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    time::Duration,
};

use ending::farewell;
use kept::Kept;

use super::{
    Event, Grant, Machine, Op, Renewal, SendId, Step, Tenancy, Undo, Verdict, confirm,
    response_deadline,
};
use crate::{
    Confirm, Fault, FaultKind, Token, Ttl,
    bell::Turn,
    lease::{Lease, LeaseState, LossReason},
    time::Timestamp,
};

/// How many renewals travel together. More would delay what else the server has to do.
const BATCH: usize = 100;

/// The machine behind all guards of one client. `R` is a driver's handle on a connection; operations
/// without one go down the keeper's own.
#[derive(Debug)]
pub struct Keeper<R> {
    limit: Duration,
    tenants: HashMap<u64, Tenant>,
    errands: HashMap<u64, Errand<R>>,
    /// Keys that stay although they were given back, and whose turn passes when they are gone.
    stays: HashMap<u64, Lease>,
    /// What to look at when. An entry that its owner has moved on from is skipped.
    agenda: BinaryHeap<Reverse<(Timestamp, u64)>>,
    flights: HashMap<SendId, Flight>,
    next: u64,
    /// Until when the driver waits, as it was last told.
    alarm: Timestamp,
    closing: bool,
}

#[derive(Debug)]
struct Tenant {
    lease: Lease,
    ttl: Ttl,
    renew: bool,
    /// Which copies must have a renewal before it counts.
    confirm: Option<Confirm>,
    /// Until when the key is to stay at least.
    keep: Option<Timestamp>,
    late: bool,
    in_flight: bool,
    due: Timestamp,
}

/// A release that must be seen through.
#[derive(Debug)]
struct Errand<R> {
    undo: Undo<R>,
    /// How often to send it once more although it was answered.
    again: u8,
    /// Whose turn passes when the release is answered.
    lease: Option<Lease>,
    /// Until when the key is to stay although it is given back.
    keep: Option<Timestamp>,
    due: Timestamp,
}

#[derive(Debug)]
enum Flight {
    Renewals { of: Vec<Kept>, sent: Timestamp },
    Release(u64),
}

impl<R: Clone> Keeper<R> {
    /// A keeper without work; `limit` is the client's response deadline.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            tenants: HashMap::new(),
            errands: HashMap::new(),
            stays: HashMap::new(),
            agenda: BinaryHeap::new(),
            flights: HashMap::new(),
            next: 0,
            alarm: Timestamp::default(),
            closing: false,
        }
    }

    /// Takes a grant into keeping: renews it if it was asked for, and in any case tells its lease when
    /// it is over. `turn` is the place in this process's line, held for as long as the lock is; `now`
    /// is when the holder is told, from which on it is held for as long as it is to be at least.
    ///
    /// After [`Keeper::close`] the grant is given back instead.
    pub fn admit(&mut self, grant: Grant, turn: Option<Turn>, now: Timestamp) -> (Lease, Tenancy) {
        let Grant { key, token, ttl, renew, hold, confirm, fence, sent, until, late, holding } =
            grant;
        let limit = hold.max.map_or(Timestamp::NEVER, |max| sent + max);
        let lease = Lease::new(key, token, fence, until, limit, turn, holding);
        let due = if renew { sent + ttl.renewal_after() } else { until };
        let id = self.id();
        let due = due.min(lease.until());
        let keep = hold.min.map(|min| now + min);
        let in_flight = false;
        let kept = lease.clone();
        let tenant = Tenant { lease: kept, ttl, renew, confirm, keep, late, in_flight, due };
        self.tenants.insert(id, tenant);
        self.agenda.push(Reverse((due, id)));
        let tenancy = Tenancy { id, ttl, keep, late };
        if self.closing {
            // Nobody has held it, so there is nothing to hold on to.
            self.see_release_through(&lease, Tenancy { keep: None, ..tenancy }, now);
        }
        (lease, tenancy)
    }

    /// Nothing is kept any more: every lease still held is let go and released. Done when the last
    /// release is seen through.
    pub fn close(&mut self, now: Timestamp) {
        self.closing = true;
        let mut held: Vec<_> = self.tenants.drain().collect();
        // In order of their making, so that a run replays.
        held.sort_unstable_by_key(|&(id, _)| id);
        for (id, tenant) in held {
            let Tenant { lease, ttl, keep, late, .. } = tenant;
            self.see_release_through(&lease, Tenancy { id, ttl, keep, late }, now);
        }
        let mut stays: Vec<_> = self.stays.drain().collect();
        stays.sort_unstable_by_key(|&(id, _)| id);
        stays.into_iter().for_each(|(_, stay)| stay.pass_turn());
    }

    /// Whether `token` is one that this client holds, or has yet to see off.
    #[must_use]
    pub fn knows(&self, token: &Token) -> bool {
        let kept = self.tenants.values().map(|tenant| &tenant.lease);
        kept.chain(self.stays.values()).any(|lease| lease.token() == token)
            || self.errands.values().any(|errand| errand.undo.token == *token)
    }

    /// The key of `token` was deleted on this client's own word: whoever holds it is told at once. Says
    /// whether it was one of this client's.
    pub fn evicted(&mut self, token: &Token) -> bool {
        let known = self.knows(token);
        let kept = self.tenants.iter().find(|(_, tenant)| tenant.lease.token() == token);
        if let Some(tenant) = kept.map(|(id, _)| *id).and_then(|id| self.tenants.remove(&id)) {
            tenant.lease.lose(LossReason::Vanished);
            tenant.lease.pass_turn();
        }
        let stays = self.stays.iter().find(|(_, lease)| lease.token() == token);
        if let Some(id) = stays.map(|(id, _)| *id) {
            self.end_stay(id);
        }
        known
    }

    /// How many keys stay although they were given back.
    #[must_use]
    pub fn staying(&self) -> usize {
        self.stays.len()
    }

    /// Whether there is something to do before the driver wakes by itself: then it must be woken.
    #[must_use]
    pub fn oversleeps(&self) -> bool {
        self.agenda.peek().is_some_and(|&Reverse((at, _))| at < self.alarm)
            || (self.closing && self.is_idle())
    }

    /// Whether [`Keeper::close`] was called.
    #[must_use]
    pub const fn is_closing(&self) -> bool {
        self.closing
    }

    /// How many leases are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.tenants.len()
    }

    /// Whether nothing is kept, every release has been seen through, and nothing is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.tenants.is_empty() && self.errands.is_empty() && self.flights.is_empty()
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Sets when a tenant is looked at again; never later than its lease ends.
    fn schedule(&mut self, id: u64, due: Timestamp) {
        if let Some(tenant) = self.tenants.get_mut(&id) {
            tenant.due = due.min(tenant.lease.until());
            self.agenda.push(Reverse((tenant.due, id)));
        }
    }

    /// Takes the tenants out of the agenda that are due, and those that soon will be: they fill a
    /// batch that is sent anyway. All of a batch are confirmed alike, as that is asked for once.
    fn collect(&mut self, now: Timestamp) -> Vec<u64> {
        let (mut batch, mut not_now, mut overdue) = (Vec::new(), Vec::new(), Vec::new());
        let (mut alike, mut others) = (None, Vec::new());
        while let Some(&Reverse((at, id))) = self.agenda.peek() {
            let Some(tenant) = self.tenants.get_mut(&id).filter(|tenant| tenant.due == at) else {
                if self.errands.contains_key(&id) || self.stays.contains_key(&id) {
                    break;
                }
                self.agenda.pop();
                continue;
            };
            let early =
                if batch.is_empty() { Duration::ZERO } else { tenant.ttl.as_duration() / 30 };
            if at > now + early || batch.len() == BATCH || others.len() == BATCH {
                break;
            }
            self.agenda.pop();
            if !batch.is_empty() && alike != Some(tenant.confirm) {
                others.push(Reverse((at, id)));
                continue;
            }
            match tenant.lease.state_at(now) {
                // Its key may have most of a TTL to live, and nobody is to hold it any more.
                LeaseState::Lost(LossReason::MaxHold) => {
                    overdue.extend(self.tenants.remove(&id));
                }
                // The server has what its copies have not, and would keep others out for no one.
                LeaseState::Lost(LossReason::Unreachable) if tenant.confirm.is_some() => {
                    overdue.extend(self.tenants.remove(&id));
                }
                LeaseState::Lost(_) | LeaseState::Released => {
                    self.tenants.remove(&id);
                }
                _ if tenant.renew && !tenant.in_flight && !tenant.lease.is_at_its_limit() => {
                    tenant.in_flight = true;
                    alike = Some(tenant.confirm);
                    batch.push(id);
                }
                // It has no renewal, or one that is under way; look again when the lease ends. Which may
                // be soon enough for this batch: not before it is made.
                _ => not_now.push(id),
            }
        }
        self.agenda.extend(others);
        for id in not_now {
            self.schedule(id, Timestamp::NEVER);
        }
        for tenant in overdue {
            self.give_back(&tenant.lease, tenant.ttl, None, tenant.late, now);
        }
        batch
    }

    fn renew(&mut self, ids: Vec<u64>, now: Timestamp) -> Step<(), Option<R>> {
        let (mut within, mut confirm) = (self.limit, None::<Confirm>);
        let mut renewals = Vec::with_capacity(ids.len());
        let mut of = Vec::with_capacity(ids.len());
        for id in &ids {
            if let Some(tenant) = self.tenants.get(id) {
                within = response_deadline(within, tenant.ttl);
                let asked = tenant.confirm.map(|confirm| confirm.of(tenant.ttl));
                confirm = confirm.into_iter().chain(asked).min_by_key(|confirm| confirm.limit());
                renewals.push(Renewal {
                    key: tenant.lease.key().clone(),
                    token: tenant.lease.token().clone(),
                    ttl: tenant.ttl,
                    of: Some(tenant.lease.clone()),
                });
                let Tenant { ref lease, ttl, keep, .. } = *tenant;
                of.push(Kept { id: *id, lease: lease.clone(), ttl, keep });
            }
        }
        for id in &ids {
            self.schedule(*id, Timestamp::NEVER);
        }
        let id = SendId(self.id());
        self.flights.insert(id, Flight::Renewals { of, sent: now });
        let op = Op::RenewMany(renewals).confirmed(confirm, within);
        let within = op.within(within);
        Step::Send { id, route: None, op, within }
    }

    fn renewed(
        &mut self,
        Kept { id, lease, ttl, keep }: Kept,
        reply: Result<Verdict, Fault>,
        sent: Timestamp,
        now: Timestamp,
    ) {
        let (reply, joined) = match reply {
            Ok(Verdict::Open(verdict)) => (Ok(*verdict), true),
            Err(fault) if fault.kind() == FaultKind::NoQuorum => (Err(fault), true),
            reply => (reply, false),
        };
        let Some(tenant) = self.tenants.get_mut(&id) else {
            // Given back meanwhile: a server that was joined again may have heard of that before.
            return if joined {
                self.give_back(&lease, ttl, keep, false, now)
            };
        };
        tenant.in_flight = false;
        match reply {
            Ok(Verdict::Renewed) => {
                if lease.prolong(sent + ttl.certain(), now) {
                    self.schedule(id, sent + ttl.renewal_after());
                } else {
                    // Confirmed too late: the holder was told of the loss, so the key must not stay.
                    let late = tenant.late;
                    self.tenants.remove(&id);
                    self.give_back(&lease, ttl, None, late, now);
                }
            }
            Ok(Verdict::Gone) => {
                // What ran out before did not vanish.
                _ = lease.state_at(now);
                lease.lose(LossReason::Vanished);
                lease.pass_turn();
                self.tenants.remove(&id);
            }
            Ok(Verdict::Taken) => {
                lease.lose(LossReason::Taken);
                lease.pass_turn();
                self.tenants.remove(&id);
            }
            unclear => {
                lease.doubt(confirm::why(unclear).as_ref());
                self.schedule(id, now + ttl.as_duration() / 12);
            }
        }
    }
}

impl<R: Clone> Machine for Keeper<R> {
    type Output = ();
    type Route = Option<R>;

    fn poll(&mut self, now: Timestamp) -> Step<(), Option<R>> {
        while let Some(&Reverse((at, id))) = self.agenda.peek()
            && at <= now
        {
            if self.end_stay(id) {
                self.agenda.pop();
                continue;
            }
            match self.errands.get(&id) {
                Some(errand) if errand.due == at => {
                    self.agenda.pop();
                    let route = errand.undo.route.clone();
                    let op = farewell(&errand.undo.key, &errand.undo.token, errand.keep, now);
                    let send = SendId(self.id());
                    self.flights.insert(send, Flight::Release(id));
                    return Step::Send { id: send, route, op, within: self.limit };
                }
                Some(_) => {
                    self.agenda.pop();
                }
                None => {
                    let batch = self.collect(now);
                    if !batch.is_empty() {
                        return self.renew(batch, now);
                    }
                }
            }
        }
        if self.closing && self.is_idle() {
            return Step::Done(());
        }
        self.alarm = self.agenda.peek().map_or(Timestamp::NEVER, |&Reverse((at, _))| at);
        Step::Wait(self.alarm)
    }

    fn handle(&mut self, event: Event, now: Timestamp) {
        let Event::Reply(id, reply) = event else { return };
        match self.flights.remove(&id) {
            Some(Flight::Release(id)) => self.released(id, &reply, now),
            Some(Flight::Renewals { of, sent }) => {
                let replies = match reply {
                    Ok(Verdict::Many(replies)) if replies.len() == of.len() => replies,
                    other => vec![other; of.len()],
                };
                for (kept, reply) in of.into_iter().zip(replies) {
                    self.renewed(kept, reply, sent, now);
                }
            }
            None => {}
        }
    }
}
