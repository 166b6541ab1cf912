//! The laws: what must hold after every step, and at the end of a run.

use std::time::Duration;

use tairlock::{LeaseState, LossReason, time::Timestamp};

use super::{
    client::State,
    clock::True,
    referee::{Fate, index},
    world::World,
};

/// How long a free lock may stay free while somebody waits for it: the longest pause between two
/// looks, and what messages and timers take.
const PROMPT: Duration = Duration::from_millis(300);
/// How late the body of a lost lease may be told, by a client that runs.
const TOLD: Duration = Duration::from_millis(30);

impl World {
    /// What must hold at every moment.
    pub(super) fn check(&mut self) {
        let live: Vec<usize> = self.referee.live.iter().copied().collect();
        for name in live {
            self.check_lease(name);
        }
        for key in 0..self.keys.len() {
            self.check_key(key);
        }
    }

    fn check_lease(&mut self, name: usize) {
        let fate = &self.referee.tokens[name];
        let Some(lease) = fate.lease.clone() else {
            if !fate.asking && fate.flying == 0 {
                self.referee.live.remove(&name);
            }
            return;
        };
        // Before its end, a lease's state is what it was last told.
        let (state, until) = (lease.state_at(Timestamp::default()), lease.until());
        let (seen, ttl, confirmed) = (fate.seen, fate.ttl, fate.confirmed);
        let client = fate.client;
        if state != seen && !may_follow(seen, state) {
            self.referee.accuse("lease states", || format!("#{name}: {state:?} after {seen:?}"));
        }
        if confirmed.is_none_or(|sent| until > sent + ttl.certain()) {
            self.referee.accuse("I7 accounting", || {
                format!("#{name} is valid until {until:?}, confirmed by a command of {confirmed:?}")
            });
        }
        if self.promises.calm && unrest(state) && self.kept(name) {
            self.referee.accuse("calm", || format!("#{name} is {state:?} though nothing failed"));
        }
        let fate = &self.referee.tokens[name];
        // Clocks run 1 % apart at most, and a held lease ends by its client's.
        let overdue = fate.hold.max.is_some_and(|max| {
            self.valid(fate) && self.now.since(fate.granted_at) > max + max / 50 + TOLD
        });
        if overdue {
            self.referee
                .accuse("max_hold", || format!("#{name} is held for longer than it may be"));
        }
        if state == LeaseState::Lost(LossReason::MaxHold) && seen != state {
            self.referee.tally.overdue += 1;
        }
        let fate = &mut self.referee.tokens[name];
        fate.seen = state;
        if let LeaseState::Lost(_) = state {
            fate.over.get_or_insert("its loss was visible");
            self.referee.tally.losses += u64::from(seen != state);
        }
        let fate = &self.referee.tokens[name];
        let ended = matches!(state, LeaseState::Lost(_) | LeaseState::Released);
        if ended && !fate.guarded && fate.flying == 0 || self.clients[client].dead {
            self.referee.live.remove(&name);
        }
    }

    /// Whether a lease is one that renewal is meant to keep.
    fn kept(&self, name: usize) -> bool {
        let holding = self.clients[self.referee.tokens[name].client].tasks.iter();
        holding
            .filter_map(|task| match &task.state {
                State::Holding(holding) => Some(holding),
                _ => None,
            })
            .any(|holding| index(holding.guard.lease.token()) == name && holding.renewed)
    }

    /// Whether the holder has reason to think that the lock is its own, at this moment.
    fn valid(&self, fate: &Fate) -> bool {
        let Some(lease) = &fate.lease else { return false };
        let client = &self.clients[fate.client];
        let state = lease.state_at(Timestamp::default());
        !client.dead
            && matches!(state, LeaseState::Held | LeaseState::Uncertain)
            && client.now(self.now) < lease.until()
    }

    fn check_key(&mut self, key: usize) {
        let standing = self.host.standing(&self.keys[key], self.now);
        let on_server = standing.map(|standing| index(&standing.token));
        let of_key = |name: &&usize| self.referee.tokens[**name].key == key;
        let holders: Vec<usize> = self
            .referee
            .live
            .iter()
            .filter(of_key)
            .filter(|&&name| self.valid(&self.referee.tokens[name]))
            .copied()
            .collect();
        if let Some(name) = on_server {
            self.referee.tokens[name].stood_at = self.now;
        }
        if self.promises.exclusion {
            self.check_exclusion(key, &holders, on_server);
        }
        for holder in holders {
            self.check_outlived(holder);
        }
        if let (true, Some(name)) = (self.promises.clean, on_server) {
            self.check_residue(name);
        }
        if self.promises.prompt {
            self.check_prompt(key, on_server.is_some());
        }
    }

    fn check_exclusion(&mut self, key: usize, holders: &[usize], on_server: Option<usize>) {
        if let [first, second, ..] = holders {
            self.referee.accuse("I2 exclusion", || {
                format!("#{first} and #{second} are both valid on key {key}")
            });
        }
        if let [holder] = holders
            && on_server != Some(*holder)
        {
            self.referee.accuse("I2 exclusion", || {
                format!("#{holder} is valid on key {key}, and the server has {on_server:?}")
            });
        }
    }

    /// Where a server forgot, a lease may still be valid, and be so beside another's; for no longer than its
    /// own TTL from when the server had its token last.
    fn check_outlived(&mut self, name: usize) {
        let fate = &self.referee.tokens[name];
        let gone = self.now.since(fate.stood_at);
        if gone > fate.ttl.as_duration() {
            self.referee.accuse("a lease outlives its key", || {
                format!("#{name} is valid {gone:?} after the server had its token last")
            });
        }
    }

    /// A token that stands on the server without anybody who will take it away.
    fn check_residue(&mut self, name: usize) {
        let fate = &self.referee.tokens[name];
        let client = &self.clients[fate.client];
        let attended = fate.asking
            || fate.retained
            || fate.guarded
            || fate.flying > 0
            || client.dead
            || !client.keep.machine.is_idle();
        if !attended {
            self.referee.accuse("I8 residue", || {
                format!("#{name} stands on the server, and nobody will release it")
            });
        }
    }

    fn check_prompt(&mut self, key: usize, taken: bool) {
        let patient = self.clients.iter().any(|client| {
            client.runs(self.now)
                && self.now > client.stalled_until + PROMPT
                && client.tasks.iter().any(|task| match &task.state {
                    State::Acquiring(attempt) => {
                        attempt.turn.is_some()
                            && attempt.request.key == self.keys[key]
                            && self.now.since(attempt.began) > PROMPT
                    }
                    _ => false,
                })
        });
        let since = &mut self.referee.free_since[key];
        if taken || !patient {
            *since = None;
            return;
        }
        let free = self.now.since(*since.get_or_insert(self.now));
        if free > PROMPT {
            self.referee.accuse("I4 liveness", || {
                format!("key {key} has been free for {free:?} although somebody waits for it")
            });
        }
    }

    /// A body goes on: was its lease over long enough for it to have been told?
    pub(super) fn check_told(&mut self, client: usize, name: usize) {
        let fate = &self.referee.tokens[name];
        let Some(lease) = &fate.lease else { return };
        let ended = self.clients[client].clock.when(lease.until());
        let late = self.now.since(ended);
        let kept = self.clients[client].paused_until.max(self.clients[client].stalled_until);
        if late > TOLD && self.now.since(kept) > TOLD {
            self.referee.accuse("loss is told", || {
                format!("the body under #{name} goes on {late:?} after its lease has ended")
            });
        }
    }

    /// What must hold when every task is done.
    pub(super) fn check_end(&mut self) {
        for at in 0..self.clients.len() {
            let client = &self.clients[at];
            if client.dead {
                continue;
            }
            let in_line: usize = self.keys.iter().map(|key| client.queue.len(key)).sum();
            let kept = client.keep.machine.kept();
            if in_line > client.keep.machine.staying() || kept > 0 {
                self.referee.accuse("I8 residue", || {
                    format!("c{at}: {in_line} still stand in line, {kept} leases are still kept")
                });
            }
        }
        if !self.promises.expiry {
            return;
        }
        let longest = self.weather.ttls.iter().max().copied().unwrap_or_default();
        let bound = self.host.clock.at(self.now) + Duration::from_millis(longest);
        for key in 0..self.keys.len() {
            let standing = self.host.standing(&self.keys[key], self.now);
            if standing.is_some_and(|standing| standing.expires > bound) {
                self.referee.accuse("I8 residue", || format!("key {key} outlives its TTL"));
            }
        }
    }

    /// The run has not come to its end.
    pub(super) fn check_over(&mut self, at: True) {
        let task = |state: &State| match state {
            State::Resting => "rests",
            State::Acquiring(_) => "acquires",
            State::Holding(_) => "holds",
            State::Releasing(_) => "releases",
            State::Over => "is done",
        };
        let clients = self.clients.iter().enumerate().filter(|(_, client)| !client.dead);
        let left: Vec<String> = clients
            .map(|(at, client)| {
                let tasks: Vec<_> = client.tasks.iter().map(|t| task(&t.state)).collect();
                let idle = client.keep.machine.is_idle();
                format!("c{at}: tasks {tasks:?}, keeper idle: {idle}")
            })
            .collect();
        self.referee.accuse("I4 liveness", || format!("not over at {at:?}: {}", left.join("; ")));
    }
}

/// Whether a lease may go from one state to the other.
fn may_follow(from: LeaseState, to: LeaseState) -> bool {
    match from {
        LeaseState::Held => true,
        LeaseState::Uncertain => to != LeaseState::Lost(LossReason::Expired),
        _ => false,
    }
}

const fn unrest(state: LeaseState) -> bool {
    match state {
        LeaseState::Lost(reason) => !matches!(reason, LossReason::MaxHold),
        LeaseState::Uncertain => true,
        _ => false,
    }
}
