//! Fences: a number for each grant of a lock, above all that were given out before.

use std::time::Duration;

use crate::{Fault, Key, Token, Ttl, fault::FaultKind, slot::fence_key};

/// Nothing follows this one: from here on a server's scripts cannot count.
pub const LAST: u64 = (1 << 53) - 1;

/// For how long the last fence of a lock is remembered after its lease.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// For how long the fence of a grant of this TTL is remembered.
#[must_use]
pub fn kept_for(ttl: Ttl) -> Duration {
    KEPT + ttl.as_duration()
}

/// What is remembered: the last fence, and whose it is.
#[must_use]
pub fn mark(fence: u64, token: &Token) -> Token {
    let head = format!("{fence} ");
    Token::from_bytes([head.as_bytes(), token.as_bytes()].concat())
}

/// Reads a mark: digits as they stand, and the token; `None` if it is none.
#[must_use]
pub fn read_mark(mark: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = mark.iter().position(|&byte| byte == b' ')?;
    let (last, token) = (&mark[..space], &mark[space + 1..]);
    let is_number = matches!(last, [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit));
    is_number.then_some((last, token))
}

/// The fence that follows `last`, by a clock of microseconds; `None` at the end of all numbers.
#[must_use]
pub fn next(last: Option<&[u8]>, clock: u64) -> Option<u64> {
    // A virtual clock may stand at zero, which is no fence.
    let clock = clock.max(1);
    let Some(last) = last else { return Some(clock) };
    let clock_text = clock.to_string();
    if (last.len(), last) < (clock_text.len(), clock_text.as_bytes()) {
        return Some(clock);
    }
    let last: u64 = std::str::from_utf8(last).ok()?.parse().ok()?;
    (last < LAST).then(|| last + 1)
}

/// Something else stands where the last fence of the lock `key` is kept.
pub(crate) fn not_a_mark(key: &Key) -> Fault {
    let at = fence_key(key);
    let text = format!(
        "the last fence of this lock is kept under {at:?}, where something else stands; \
         delete that, or use a prefix of your own"
    );
    Fault::new(FaultKind::Config, text)
}

/// The lock `key` was given the highest fence that there is.
pub(crate) fn at_its_end(key: &Key) -> Fault {
    let at = fence_key(key);
    let text = format!(
        "the last fence of this lock, kept under {at:?}, is the highest that there is; \
         another program has put it there: delete it"
    );
    Fault::new(FaultKind::Config, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_or_one_more() {
        assert_eq!((next(None, 7), next(None, 0)), (Some(7), Some(1)));
        assert_eq!(next(Some(b"6"), 7), Some(7));
        assert_eq!(next(Some(b"7"), 7), Some(8));
        assert_eq!(next(Some(b"10"), 7), Some(11));
        assert_eq!(next(Some(b"9007199254740990"), 7), Some(LAST));
        assert_eq!(next(Some(b"9007199254740991"), 7), None);
        assert_eq!(next(Some(&[b'9'; 60]), 7), None);
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let token = Token::from_bytes(b"a b/\xff");
        assert_eq!(read_mark(mark(12, &token).as_bytes()), Some((&b"12"[..], token.as_bytes())));
        for text in ["", " ", "12", "012 a", "0 a", "1x a", "-1 a", " 1 a"] {
            assert_eq!(read_mark(text.as_bytes()), None, "{text}");
        }
        assert_eq!(read_mark(b"7 "), Some((&b"7"[..], &b""[..])));
    }
}
