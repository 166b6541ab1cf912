//! What the embedded server does when a lock is taken with a fence.

use super::{Condition, Entry, Store, Value};
use crate::{
    Fault, Key, Token, Ttl,
    fault::FaultKind,
    fence::{at_its_end, kept_for, mark, next, not_a_mark, read_mark},
    proto::Verdict,
    slot::fence_key,
    time::Timestamp,
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
        let clock = now.since(Timestamp::from_nanos(0)).as_micros();
        let clock = u64::try_from(clock).unwrap_or(u64::MAX);
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
}
