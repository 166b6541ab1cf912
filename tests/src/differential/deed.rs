//! What others do to our keys: said to the server in commands, and to the store in its own terms.

use std::time::Duration;

use proptest::{prelude::*, sample::select};
use tairlock::{Key, Token, dialect::Command, memory::Store, time::Timestamp};

use super::{asked::tokens, fence, value};

/// What another program, or an operator, does to a key.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Puts a string there that never expires.
    Put(Key, Token),
    /// Puts something there that is no string, and never expires.
    PutOther(Key, Other),
    /// Deletes it.
    Delete(Key),
    /// Lets it expire so much later.
    Expire(Key, Duration),
}

/// A kind of value that no lock is.
#[derive(Clone, Copy, Debug)]
pub enum Other {
    /// A hash.
    Hash,
    /// A list.
    List,
    /// A set.
    Set,
    /// A stream.
    Stream,
    /// A TairString; a sorted set, where the server has none.
    TairString,
}

/// Any deed on any of `keys`.
pub(super) fn deed(keys: &[Key]) -> impl Strategy<Value = Deed> + use<> {
    let key = || select(keys.to_vec());
    let place = || select(fence::places(keys));
    let other = [Other::Hash, Other::List, Other::Set, Other::Stream, Other::TairString];
    let ends = [600_000, 975_000, 7_200_000].map(Duration::from_millis);
    prop_oneof![
        4 => (key(), select(texts())).prop_map(|(key, text)| Deed::Put(key, text)),
        2 => (key(), select(other.to_vec())).prop_map(|(key, other)| Deed::PutOther(key, other)),
        3 => key().prop_map(Deed::Delete),
        2 => (place(), select(fence::marks())).prop_map(|(key, text)| Deed::Put(key, text)),
        1 => place().prop_map(Deed::Delete),
        1 => place().prop_map(|key| Deed::PutOther(key, Other::Hash)),
        3 => (key(), select(ends.to_vec())).prop_map(|(key, end)| Deed::Expire(key, end)),
    ]
}

/// What a reply might be mistaken for, what servers store in a form of its own, and our own tokens.
fn texts() -> Vec<Token> {
    let foreign: [&[u8]; 11] = [
        b"OK",
        b"",
        b"0",
        b"1",
        b"-1",
        b"42",
        b"nil",
        b"QUEUED",
        b"+OK\r\n",
        b"\xff\0\r\n",
        b"W@1/5F0C/",
    ];
    foreign.map(Token::from_bytes).into_iter().chain(tokens()).collect()
}

impl Deed {
    pub(super) const fn key(&self) -> &Key {
        match self {
            Self::Put(key, _) | Self::PutOther(key, _) => key,
            Self::Delete(key) | Self::Expire(key, _) => key,
        }
    }

    /// `is_value`: whether a TairString is a versioned value to who speaks this dialect.
    pub(super) fn play(&self, store: &mut Store, now: Timestamp, is_value: bool) {
        match self {
            Self::Put(key, text) => store.put(key.clone(), text.clone()),
            Self::PutOther(key, Other::TairString) if is_value => {
                store.put_stored(key.clone(), value::foreign());
            }
            Self::PutOther(key, _) => store.put_foreign(key.clone()),
            Self::Delete(key) => {
                store.delete(key, now);
            }
            Self::Expire(key, end) => {
                store.expire(key, now + *end, now);
            }
        }
    }

    /// The commands; one reply comes for each, and none is an error.
    pub(super) fn say(&self, has_tairstring: bool) -> Vec<Command> {
        match self {
            Self::Put(key, text) => vec![on("SET", key).bytes(text.as_bytes().into())],
            Self::PutOther(key, other) => {
                vec![on("DEL", key), other.say(key, has_tairstring)]
            }
            Self::Delete(key) => vec![on("DEL", key)],
            Self::Expire(key, end) => vec![expire(key, *end)],
        }
    }
}

impl Other {
    fn say(self, key: &Key, has_tairstring: bool) -> Command {
        match self {
            Self::Hash => on("HSET", key).word("value").word("1"),
            Self::List => on("RPUSH", key).word("1"),
            Self::Set => on("SADD", key).word("1"),
            Self::Stream => on("XADD", key).word("*").word("value").word("1"),
            Self::TairString if has_tairstring => on("EXSET", key).word("1"),
            Self::TairString => on("ZADD", key).word("1").word("1"),
        }
    }
}

/// `name key …`
pub(super) fn on(name: &'static str, key: &Key) -> Command {
    Command::new(name).bytes(key.as_bytes().into())
}

/// Lets a key expire so much later by the server's clock.
pub(super) fn expire(key: &Key, after: Duration) -> Command {
    let ms = u64::try_from(after.as_millis()).expect("a time to live");
    on("PEXPIRE", key).number(ms)
}
