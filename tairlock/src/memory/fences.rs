//! What the embedded server does with fences: those that it issues, and those that come with a value.

use super::{Condition, Entry, Store, Value, micros};
use crate::{
    Fault, Key, Token, Ttl,
    fault::FaultKind,
    fence::{at_its_end, kept_for, mark, next, not_a_mark, read_mark},
    proto::Verdict,
    slot::fence_key,
    time::Timestamp,
    value::{FencedAction, FencedValue},
};

impl Store {
    /// Takes the lock and issues a fence in one step, at the moment `now`, which is also the clock that
    /// fences follow.
    pub(super) fn acquire_fenced(
        &mut self,
        key: &Key,
        token: &Token,
        ttl: Ttl,
        now: Timestamp,
    ) -> Result<Verdict, Fault> {
        let held = self.token(key, now)?;
        if held.is_some_and(|held| held != token) {
            return Ok(Verdict::Busy);
        }
        let ours = held.is_some();
        let place = fence_key(key);
        let last = match self.token(&place, now) {
            Err(_) => return Err(not_a_mark(key)),
            Ok(None) => None,
            Ok(Some(mark)) => Some(read_mark(mark.as_bytes()).ok_or_else(|| not_a_mark(key))?),
        };
        if let Some((last, owner)) = last
            && ours
            && owner == token.as_bytes()
        {
            let fence = std::str::from_utf8(last).ok().and_then(|last| last.parse().ok());
            let fence = fence.ok_or_else(|| not_a_mark(key))?;
            return Ok(Verdict::Issued { fence, again: true });
        }
        let clock = self.epoch.saturating_add(micros(now));
        let fence = next(last.map(|(last, _)| last), clock).ok_or_else(|| at_its_end(key))?;
        if self.condition == Condition::Full {
            return Err(Fault::new(FaultKind::OutOfMemory, "the store is full"));
        }
        self.writable()?;
        let value = Value::Token(mark(fence, token));
        self.keys.insert(place, Entry { value, expires: now + kept_for(ttl) });
        if !ours {
            let value = Value::Token(token.clone());
            self.keys.insert(key.clone(), Entry { value, expires: now + ttl.as_duration() });
        }
        Ok(Verdict::Issued { fence, again: ours })
    }

    /// Does what `action` asks for, at the moment `now`.
    pub(super) fn apply_fenced(
        &mut self,
        key: &Key,
        action: &FencedAction,
        now: Timestamp,
    ) -> Result<Verdict, Fault> {
        let held = match self.keys.get(key).filter(|entry| now < entry.expires) {
            None => None,
            Some(Entry { value: Value::Fenced(held), expires }) => Some((held, *expires)),
            Some(_) => {
                let text = "the key holds something that is no fenced value";
                return Err(Fault::new(FaultKind::WrongType, text));
            }
        };
        match (action, held) {
            (FencedAction::Get, None) => Ok(Verdict::Gone),
            (FencedAction::Get, Some((held, _))) => Ok(Verdict::Fenced(held.clone())),
            (FencedAction::Set(new), Some((held, _))) if new.fence < held.fence => {
                Ok(Verdict::Refused(held.fence))
            }
            (FencedAction::Set(new), held) => {
                let expires = held.map_or(Timestamp::NEVER, |(_, expires)| expires);
                if self.condition == Condition::Full {
                    return Err(Fault::new(FaultKind::OutOfMemory, "the store is full"));
                }
                self.writable()?;
                let value = Value::Fenced(new.clone());
                self.keys.insert(key.clone(), Entry { value, expires });
                Ok(Verdict::Accepted)
            }
        }
    }

    /// The fenced value under `key`, if one is there.
    #[must_use]
    pub fn fenced(&self, key: &Key, now: Timestamp) -> Option<&FencedValue> {
        match self.keys.get(key).filter(|entry| now < entry.expires) {
            Some(Entry { value: Value::Fenced(held), .. }) => Some(held),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::proto::Op;

    /// O58: fences of locks that were used once do not pile up.
    #[test]
    fn fences_of_a_hundred_thousand_locks_are_forgotten() {
        let mut store = Store::new();
        let (token, ttl) = (Token::from_bytes("t"), Ttl::DEFAULT);
        let start = Timestamp::from_nanos(1_000_000_000);
        let mut now = start;
        let mut most = 0;
        for name in 0..100_000 {
            let key = Key::new(format!("job:{name}")).unwrap();
            let op = Op::AcquireFenced { key: key.clone(), token: token.clone(), ttl };
            assert!(matches!(store.apply(&op, now), Ok(Verdict::Issued { again: false, .. })));
            let op = Op::Release { key, token: token.clone() };
            assert_eq!(store.apply(&op, now), Ok(Verdict::Released));
            // A hundred a day.
            now = now + Duration::from_secs(864);
            if name % 1_000 == 0 {
                most = most.max(store.len(now));
            }
        }
        assert!(most <= 701, "{most} keys of one week");
        assert_eq!(store.len(now + Duration::from_secs(8 * 24 * 3600)), 0);
    }
}
