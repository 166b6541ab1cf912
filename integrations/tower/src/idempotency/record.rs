//! What stands on the server of a request: that it was begun, and what it was answered.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tairlock::Codec;

/// An answer as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The status.
    pub status: u16,
    /// The headers that are kept; the values' bytes as characters from U+0000 to U+00FF.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Stored {
    /// An answer without headers.
    #[must_use]
    pub const fn new(status: u16, body: Bytes) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    /// Adds a header.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        self.headers.push((name.to_owned(), value.iter().copied().map(char::from).collect()));
    }

    /// The headers, with their values as bytes.
    pub fn headers(&self) -> impl Iterator<Item = (&str, Vec<u8>)> {
        let bytes =
            |text: &String| text.chars().map(|one| u8::try_from(one).unwrap_or(b'?')).collect();
        self.headers.iter().map(move |(name, value)| (name.as_str(), bytes(value)))
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// What the request asks for.
    pub(super) fingerprint: String,
    /// Who began it; no two are alike.
    pub(super) run: String,
    pub(super) state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Begun,
    Done(Stored),
    /// It was done, and the answer was too long to be kept.
    NotKept,
}

/// A line of JSON, and behind it the body as it is.
pub(super) const RECORD: Codec<Record> = Codec::new("an idempotency record", encode, decode);

#[derive(Serialize, Deserialize)]
struct Head {
    fingerprint: String,
    run: String,
    state: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Begun,
    Done,
    NotKept,
}

type Wrong = Box<dyn std::error::Error + Send + Sync>;

fn encode(record: &Record) -> Result<Vec<u8>, Wrong> {
    let (state, stored) = match &record.state {
        State::Begun => (Word::Begun, None),
        State::Done(stored) => (Word::Done, Some(stored)),
        State::NotKept => (Word::NotKept, None),
    };
    let head = Head {
        fingerprint: record.fingerprint.clone(),
        run: record.run.clone(),
        state,
        status: stored.map(|stored| stored.status),
        headers: stored.map(|stored| stored.headers.clone()).unwrap_or_default(),
    };
    let mut bytes = serde_json::to_vec(&head)?;
    bytes.push(b'\n');
    bytes.extend_from_slice(stored.map_or(&[], |stored| &stored.body));
    Ok(bytes)
}

fn decode(bytes: &[u8]) -> Result<Record, Wrong> {
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or("no line of JSON")?;
    let head: Head = serde_json::from_slice(&bytes[..end])?;
    let state = match head.state {
        Word::Begun => State::Begun,
        Word::NotKept => State::NotKept,
        Word::Done => State::Done(Stored {
            status: head.status.ok_or("no status")?,
            headers: head.headers,
            body: Bytes::copy_from_slice(&bytes[end + 1..]),
        }),
    };
    Ok(Record { fingerprint: head.fingerprint, run: head.run, state })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut stored = Stored::new(201, Bytes::from_static(b"\n\0{}\xff"));
        stored.push("etag", b"\"\xe9\"");
        for state in [State::Begun, State::NotKept, State::Done(stored.clone())] {
            let record = Record { fingerprint: "f".into(), run: "r".into(), state };
            assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
        }
        let headers: Vec<_> = stored.headers().collect();
        assert_eq!(headers, [("etag", b"\"\xe9\"".to_vec())]);
        for bad in [&b""[..], b"{}", b"{}\n", b"x\n"] {
            assert!(decode(bad).is_err());
        }
    }
}
