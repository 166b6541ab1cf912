//! What a reply must be: literal bytes but for a few marks.

use std::ops::RangeInclusive;

use crate::support::resp::Protocol;
use crate::support::words;

pub(crate) struct Expected(Vec<Line>);

enum Line {
    Exactly(Vec<u8>),
    StartsWith(Vec<u8>),
    Integer(RangeInclusive<i64>),
    Nil,
    NilArray,
}

impl Expected {
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.trim().split(" | ").map(line).collect())
    }

    /// The whole reply, to its last byte.
    pub(crate) fn matches(&self, mut reply: &[u8], protocol: Protocol) -> bool {
        self.0.iter().all(|line| match line.rest(reply, protocol) {
            Some(rest) => {
                reply = rest;
                true
            }
            None => false,
        }) && reply.is_empty()
    }
}

fn line(text: &str) -> Line {
    if text == "nil" {
        return Line::Nil;
    }
    if text == "nil-array" {
        return Line::NilArray;
    }
    if let Some(start) = text.strip_suffix('…') {
        return Line::StartsWith(start.into());
    }
    if let Some(quoted) = text.strip_prefix('"') {
        return Line::Exactly(words::unquote(quoted).0);
    }
    if let Some((from, to)) = text.strip_prefix(':').and_then(|text| text.split_once("..")) {
        let number = |text: &str| text.parse().expect("an integer");
        return Line::Integer(number(from)..=number(to));
    }
    Line::Exactly(text.into())
}

impl Line {
    /// What is left of `reply` after this line and its end.
    fn rest<'a>(&self, reply: &'a [u8], protocol: Protocol) -> Option<&'a [u8]> {
        let nil = |resp2: &'static [u8]| match protocol {
            Protocol::Resp2 => resp2,
            Protocol::Resp3 => b"_",
        };
        let literal = match self {
            Self::Exactly(bytes) => bytes.as_slice(),
            Self::Nil => nil(b"$-1"),
            Self::NilArray => nil(b"*-1"),
            Self::StartsWith(start) => {
                let rest = reply.strip_prefix(start.as_slice())?;
                return split_line(rest).map(|(_, rest)| rest);
            }
            Self::Integer(range) => {
                let (digits, rest) = split_line(reply.strip_prefix(b":")?)?;
                let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
                return range.contains(&number).then_some(rest);
            }
        };
        reply.strip_prefix(literal)?.strip_prefix(b"\r\n")
    }
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&bytes[..end], &bytes[end + 2..]))
}
