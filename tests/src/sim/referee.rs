//! What every token went through, and what no operation may do; the laws on the whole are in `laws.rs`.

use std::collections::BTreeSet;

use tairlock::{
    Fault, Key, Lease, LeaseState, Release, Token, Ttl,
    options::Hold,
    proto::{Op, Verdict},
    time::Timestamp,
};

use super::{
    clock::True,
    host::{Host, Standing, named},
};

/// A law that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) law: &'static str,
    pub(super) what: String,
}

#[derive(Debug, Default)]
pub(super) struct Referee {
    pub(super) tokens: Vec<Fate>,
    /// Tokens that some law still has to look at.
    pub(super) live: BTreeSet<usize>,
    pub(super) found: Option<Violation>,
    /// Whether the server forgets nothing, and its clock is never set back.
    pub(super) remembers: bool,
    /// Since when a key has been free, and somebody has waited for it.
    pub(super) free_since: Vec<Option<True>>,
    before: Vec<Option<Standing>>,
    pub(super) tally: Tally,
}

/// How much happened: a simulation in which nothing does finds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Things that happened, all in all.
    pub steps: u64,
    /// Leases granted.
    pub grants: u64,
    /// Grants that a later command with the same token found.
    pub found_again: u64,
    /// Renewals that a server confirmed.
    pub renewals: u64,
    /// Releases that deleted a key.
    pub releases: u64,
    /// Fences issued, those that were issued again included.
    pub fences: u64,
    /// Keys that were kept although they were given back.
    pub retained: u64,
    /// Leases that were held for as long as they may be.
    pub overdue: u64,
    /// Leases that were lost.
    pub losses: u64,
    /// Acquires that were dropped before they were done.
    pub cancelled: u64,
    /// Acquires that were not granted for want of time.
    pub timed_out: u64,
    /// Acquires that failed.
    pub failed: u64,
    /// Changes that a listener was told of.
    pub pushes: u64,
}

impl Tally {
    /// Adds another run's.
    pub const fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.grants += other.grants;
        self.found_again += other.found_again;
        self.renewals += other.renewals;
        self.releases += other.releases;
        self.fences += other.fences;
        self.retained += other.retained;
        self.overdue += other.overdue;
        self.losses += other.losses;
        self.cancelled += other.cancelled;
        self.timed_out += other.timed_out;
        self.failed += other.failed;
        self.pushes += other.pushes;
    }
}

/// What became of one token.
#[derive(Debug)]
pub(super) struct Fate {
    pub(super) client: usize,
    pub(super) key: usize,
    pub(super) ttl: Ttl,
    pub(super) hold: Hold,
    /// An acquire with it is under way.
    pub(super) asking: bool,
    /// Its guard is alive.
    pub(super) guarded: bool,
    pub(super) lease: Option<Lease>,
    pub(super) seen: LeaseState,
    pub(super) granted_at: True,
    /// When the server was last seen to have it.
    pub(super) stood_at: True,
    /// What the client's clock showed before the last command that made or prolonged the key.
    pub(super) confirmed: Option<Timestamp>,
    /// How often the key was made with it, deleted by its release, and reported as released.
    made: u32,
    deleted: u32,
    told: u32,
    /// The fence that it was issued last.
    pub(super) fence: Option<u64>,
    /// Its key stays on the server for as long as it is to be held at least.
    pub(super) retained: bool,
    /// Nothing but releases may be sent any more, and why.
    pub(super) over: Option<&'static str>,
    /// Requests under way to the server.
    pub(super) flying: u32,
}

pub(super) fn index(token: &Token) -> usize {
    let text = std::str::from_utf8(token.as_bytes()).expect("a number");
    text.parse().expect("a number")
}

impl Referee {
    pub(super) fn new(keys: usize, remembers: bool) -> Self {
        Self { remembers, free_since: vec![None; keys], ..Self::default() }
    }

    /// A token that nobody has used.
    pub(super) fn token(&mut self, client: usize, key: usize, ttl: Ttl) -> Token {
        let name = self.tokens.len();
        self.tokens.push(Fate {
            client,
            key,
            ttl,
            hold: Hold::default(),
            asking: true,
            guarded: false,
            lease: None,
            seen: LeaseState::Held,
            granted_at: True(0),
            stood_at: True(0),
            confirmed: None,
            made: 0,
            deleted: 0,
            told: 0,
            fence: None,
            retained: false,
            over: None,
            flying: 0,
        });
        self.live.insert(name);
        Token::from_bytes(name.to_string())
    }

    pub(super) fn fate(&mut self, token: &Token) -> &mut Fate {
        &mut self.tokens[index(token)]
    }

    pub(super) fn accuse(&mut self, law: &'static str, what: impl FnOnce() -> String) {
        if self.found.is_none() {
            self.found = Some(Violation { law, what: what() });
        }
    }

    /// The acquire is over, one way or the other.
    pub(super) fn asked(&mut self, token: &Token) {
        let fate = self.fate(token);
        fate.asking = false;
        fate.over.get_or_insert("its acquire was over");
    }

    pub(super) fn granted(&mut self, token: &Token, lease: Lease, guarded: bool, now: True) {
        let fate = self.fate(token);
        (fate.asking, fate.guarded, fate.granted_at) = (false, guarded, now);
        fate.lease = Some(lease);
        fate.over = None;
        self.tally.grants += 1;
    }

    pub(super) fn ends(&mut self, token: &Token, why: &'static str) {
        self.fate(token).over.get_or_insert(why);
    }

    /// A guard's release came to an answer.
    pub(super) fn released(&mut self, token: &Token, release: Release) {
        let fate = self.fate(token);
        fate.over = Some("its release was answered");
        if release == Release::Released {
            fate.told += 1;
            let (told, deleted) = (fate.told, fate.deleted);
            if told > 1 || deleted == 0 {
                self.accuse("I5 release", || {
                    format!("{token:?} was reported released {told} times, deleted {deleted} times")
                });
            }
        }
    }

    /// A machine wants `op` to be sent. What it wanted before may still wait for a connection.
    pub(super) fn decided(&mut self, op: &Op) {
        if let Op::Release { .. } | Op::Retain(_) = op {
            return;
        }
        for (_, token) in named(op) {
            let name = index(token);
            if let Some(why) = self.tokens[name].over {
                self.accuse("I6 silence", || {
                    format!("{} is sent although {why}", super::wire::show(op))
                });
            }
        }
    }

    pub(super) fn flies(&mut self, op: &Op) {
        for (_, token) in named(op) {
            self.tokens[index(token)].flying += 1;
        }
    }

    pub(super) fn landed(&mut self, op: &Op) {
        for (_, token) in named(op) {
            self.tokens[index(token)].flying -= 1;
        }
    }

    pub(super) fn before(&mut self, op: &Op, host: &Host, now: True) {
        self.before.clear();
        self.before.extend(named(op).iter().map(|(key, _)| host.standing(key, now)));
    }

    /// The server has executed `op`, or refused it.
    pub(super) fn executed(
        &mut self,
        op: &Op,
        reply: &Result<Verdict, Fault>,
        asked: Timestamp,
        host: &Host,
        now: True,
    ) {
        let before = std::mem::take(&mut self.before);
        for (nth, ((key, token), before)) in named(op).into_iter().zip(&before).enumerate() {
            let verdict = match reply {
                Ok(Verdict::Many(verdicts)) => verdicts[nth].as_ref().ok(),
                Ok(verdict) => Some(verdict),
                Err(_) => None,
            };
            let after = host.standing(key, now);
            self.one(op, key, token, verdict, (before.as_ref(), after.as_ref()));
            if let (Op::Release { .. }, Some(Verdict::Released)) = (op, verdict) {
                self.given_back(index(token), now);
            }
            let fate = self.fate(token);
            fate.retained |= verdict == Some(&Verdict::Retained);
            if let Some(
                Verdict::Granted | Verdict::Issued { again: false, .. } | Verdict::Renewed,
            ) = verdict
            {
                fate.confirmed = fate.confirmed.max(Some(asked));
            }
            if let Some(Verdict::Issued { fence, .. }) = verdict {
                self.issued(index(token), *fence);
            }
        }
        self.before = before;
    }

    /// A fence was issued: above all others of its key, or the one of before, as long as the server
    /// forgets nothing.
    fn issued(&mut self, name: usize, fence: u64) {
        self.tally.fences += 1;
        let key = self.tokens[name].key;
        let others = self.tokens.iter().enumerate().filter(|(_, of)| of.key == key);
        let highest = others.filter_map(|(of, fate)| Some((fate.fence?, of))).max();
        let again = self.tokens[name].fence == Some(fence);
        self.tokens[name].fence = Some(fence);
        if self.remembers && !again && highest.is_some_and(|(highest, _)| highest >= fence) {
            self.accuse("fences increase", || {
                format!("#{name} was issued {fence} after {highest:?}")
            });
        }
    }

    /// A grant came with this fence: the one that was issued last for its token.
    pub(super) fn told_fence(&mut self, token: &Token, fence: Option<u64>) {
        let issued = self.fate(token).fence;
        if fence != issued {
            self.accuse("fences increase", || format!("{token:?} has {fence:?}, not {issued:?}"));
        }
    }

    /// A release has deleted the key of this token: not before its time, if it was held at all.
    fn given_back(&mut self, name: usize, now: True) {
        let fate = &self.tokens[name];
        let (Some(lease), Some(min)) = (&fate.lease, fate.hold.min) else { return };
        let held = now.since(fate.granted_at);
        // Clocks run 1 % apart at most.
        let early = held + held / 50 + std::time::Duration::from_millis(2) < min;
        let ended_well = lease.state_at(Timestamp::default()) == LeaseState::Released;
        if early && ended_well && fate.over != Some("its client was closed") {
            self.accuse("min_hold", || {
                format!("#{name} was given back after {held:?}, of {min:?}")
            });
        }
    }

    fn one(
        &mut self,
        op: &Op,
        key: &Key,
        token: &Token,
        verdict: Option<&Verdict>,
        (before, after): (Option<&Standing>, Option<&Standing>),
    ) {
        let name = index(token);
        let ours = before.is_some_and(|standing| standing.token == *token);
        match op {
            Op::Acquire { .. } | Op::AcquireFenced { .. }
                if matches!(
                    verdict,
                    Some(Verdict::Granted | Verdict::Issued { again: false, .. })
                ) =>
            {
                self.tokens[name].made += 1;
                self.live.insert(name);
            }
            Op::Acquire { .. } | Op::AcquireFenced { .. } => {
                let again =
                    matches!(verdict, Some(Verdict::Ours | Verdict::Issued { again: true, .. }));
                self.tally.found_again += u64::from(again);
            }
            Op::RenewMany(_) => {
                self.tally.renewals += u64::from(verdict == Some(&Verdict::Renewed));
                if before.is_none() && after.is_some() {
                    self.accuse("I6 renewal", || {
                        format!("a renewal of #{name} made the key {key:?}")
                    });
                }
                // One batch may hold two tokens of one key.
                let alone = named(op).iter().filter(|(other, _)| *other == key).count() == 1;
                if alone && !ours && before.is_some() && before != after {
                    self.accuse("I6 renewal", || {
                        format!("a renewal of #{name} changed another's {before:?} to {after:?}")
                    });
                }
            }
            Op::Retain(_) => {
                self.tally.retained += u64::from(verdict == Some(&Verdict::Retained));
                if !ours && before != after {
                    self.accuse("min_hold", || {
                        format!("to retain #{name} changed another's {before:?} to {after:?}")
                    });
                }
            }
            Op::Release { .. } => {
                if ours && after.is_none() {
                    self.tokens[name].deleted += 1;
                    self.tally.releases += 1;
                }
                if !ours && before != after {
                    self.accuse("I5 release", || {
                        format!("a release of #{name} deleted another's {before:?}")
                    });
                }
            }
            _ => {}
        }
    }
}
