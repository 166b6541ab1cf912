//! A [`Holder`]: who holds a lock, as far as its key tells.

use std::{
    str,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{Error, Fault, FaultKind, Key, Operation, Token, proto::Seen, proto::Verdict};

/// Who holds a lock, as far as its key tells: what `Client::inspect` and `Client::force_release` answer.
///
/// It never shows a whole token, as whoever knows one can release its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    who: Who,
    remaining: Option<Duration>,
    own: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Who {
    /// What its token says: label and unix time in milliseconds, unless labels are off.
    Ours(Option<(String, u64)>),
    /// Another program, with a value that is no token of tairlock's.
    Foreign(String),
}

/// How much of a foreign value is shown, in bytes.
const SHOWN: usize = 128;

impl Holder {
    /// The holder's label, `host:pid` unless it was told another; `None` where labels are off or
    /// another program holds the lock.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match &self.who {
            Who::Ours(Some((label, _))) => Some(label),
            Who::Ours(None) | Who::Foreign(_) => None,
        }
    }

    /// When the holder asked for the lock, by its own wall clock; `None` where [`Self::label`] is.
    #[must_use]
    pub fn since(&self) -> Option<SystemTime> {
        match &self.who {
            Who::Ours(Some((_, ms))) => UNIX_EPOCH.checked_add(Duration::from_millis(*ms)),
            Who::Ours(None) | Who::Foreign(_) => None,
        }
    }

    /// How long the key would stay if nothing renewed it, in whole milliseconds; `None` if it never
    /// expires, as no lock of tairlock's does.
    #[must_use]
    pub const fn remaining(&self) -> Option<Duration> {
        self.remaining
    }

    /// Whether the client that was asked holds it, or has a release of it under way.
    #[must_use]
    pub const fn is_own(&self) -> bool {
        self.own
    }

    /// What another program has put under the key, if it is no token of tairlock's: its beginning, with
    /// what is no printable text escaped.
    #[must_use]
    pub fn foreign(&self) -> Option<&str> {
        match &self.who {
            Who::Foreign(text) => Some(text),
            Who::Ours(_) => None,
        }
    }

    /// Reads what a server answered about `key`; `knows` says whether a token is the client's own.
    ///
    /// # Errors
    /// [`Error::Backend`].
    #[doc(hidden)]
    pub fn hear(
        key: Key,
        operation: Operation,
        reply: Result<Verdict, Fault>,
        knows: impl FnOnce(&Token) -> bool,
    ) -> Result<Option<Self>, Error> {
        let fault = match reply {
            Ok(Verdict::Gone) => return Ok(None),
            Ok(Verdict::Seen(Seen { token, left }) | Verdict::Evicted(Seen { token, left })) => {
                let own = knows(&token);
                return Ok(Some(Self { who: read(token.as_bytes()), remaining: left, own }));
            }
            Ok(other) => {
                let text = format!("a question about a holder was answered with {other:?}");
                Fault::ambiguous(FaultKind::Protocol, text)
            }
            Err(fault) => fault,
        };
        Err(Error::Backend { key: Some(key), operation, fault })
    }
}

fn read(token: &[u8]) -> Who {
    ours(token).map_or_else(|| Who::Foreign(shown(token)), Who::Ours)
}

/// What a token of tairlock's says; `None` if it is none.
fn ours(token: &[u8]) -> Option<Option<(String, u64)>> {
    let text = str::from_utf8(token).ok()?;
    let (head, unique) = text.rsplit_once('/').map_or((None, text), |(a, b)| (Some(a), b));
    let is_unique = unique.len() == 36 && uuid::Uuid::try_parse(unique).is_ok();
    let Some(head) = head.filter(|_| is_unique) else { return is_unique.then_some(None) };
    let (label, ms) = head.rsplit_once('@')?;
    let ms = ms.parse().ok()?;
    crate::Label::new(label).ok()?;
    Some(Some((label.to_owned(), ms)))
}

fn shown(value: &[u8]) -> String {
    match Key::new(&value[..value.len().min(SHOWN)]) {
        Ok(text) if value.len() > SHOWN => format!("{text}… ({} bytes)", value.len()),
        Ok(text) => text.to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;

    fn holder(token: &[u8]) -> Holder {
        let seen = Seen { token: Token::from_bytes(token), left: None };
        let key = Key::new("k").unwrap();
        let heard = Holder::hear(key, Operation::Inspect, Ok(Verdict::Seen(seen)), |_| false);
        heard.unwrap().unwrap()
    }

    #[test]
    fn a_token_says_who_and_since_when_and_is_never_shown_whole() {
        for label in ["worker-3", "a@b/c@1/d", "é"] {
            let token = Token::generate(&Label::new(label).unwrap());
            let held = holder(token.as_bytes());
            assert_eq!((held.label(), held.foreign()), (Some(label), None));
            assert!(held.since().unwrap() <= SystemTime::now());
            let whole = str::from_utf8(token.as_bytes()).unwrap().rsplit_once('/').unwrap().1;
            assert!(!format!("{held:?}").contains(whole));
        }
        let bare = holder(Token::generate(&Label::off()).as_bytes());
        assert_eq!((bare.label(), bare.since(), bare.foreign()), (None, None, None));
    }

    #[test]
    fn what_is_no_token_is_told_as_such() {
        let unique = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        for (value, text) in [
            (&b""[..], ""),
            (b"1", "1"),
            (b"\xff\0/\n", "\\xff\\u{0}/\\n"),
            (format!("me@x/{unique}").as_bytes(), &format!("me@x/{unique}")),
            (format!("/{unique}").as_bytes(), &format!("/{unique}")),
            (b"me@1/67e55044", "me@1/67e55044"),
        ] {
            let held = holder(value);
            assert_eq!((held.foreign(), held.label(), held.since()), (Some(text), None, None));
        }
        let long = holder(&[b'x'; 70_000]);
        assert!(long.foreign().unwrap().ends_with("x… (70000 bytes)"));
        let never = holder(format!("me@{}/{unique}", u64::MAX).as_bytes());
        assert_eq!(never.label(), Some("me"), "whatever its clock said");
    }
}
