//! Where one RESP2 or RESP3 message ends and the next begins.

use thiserror::Error;

/// Bytes that are no RESP.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no RESP: {0}")]
pub struct Malformed(String);

/// The words of a command.
pub type Words = Vec<Vec<u8>>;

/// The length of the first whole message in `buf`, or `None` if more of it has to come.
///
/// An attribute counts as the beginning of the message that it describes.
///
/// # Errors
///
/// [`Malformed`] if this can't become a message.
pub fn frame(buf: &[u8]) -> Result<Option<usize>, Malformed> {
    let mut at = 0;
    let mut values = 1_usize;
    while values > 0 {
        let Some(Line { kind, text, end }) = line(buf, at)? else {
            return Ok(None);
        };
        at = end;
        let children = match kind {
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => 0,
            b'$' | b'!' | b'=' => {
                if let Some(len) = length(text)? {
                    at += len + 2;
                    if buf.len() < at {
                        return Ok(None);
                    }
                }
                0
            }
            b'*' | b'~' | b'>' => length(text)?.unwrap_or(0),
            b'%' => 2 * length(text)?.unwrap_or(0),
            // Its pairs, and the value that it is about.
            b'|' => 2 * length(text)?.unwrap_or(0) + 1,
            other => return Err(Malformed(format!("type {:?}", other as char))),
        };
        values = values - 1 + children;
    }
    Ok(Some(at))
}

/// The first whole command in `buf` as its words, with the length it took, or `None` if more of it
/// has to come. An empty list of words is an empty inline command, which nothing answers.
///
/// # Errors
///
/// [`Malformed`] if this can't become a command.
pub fn command(buf: &[u8]) -> Result<Option<(Words, usize)>, Malformed> {
    if buf.first().is_some_and(|&first| first != b'*') {
        return Ok(inline(buf));
    }
    let Some(Line { text, end, .. }) = line(buf, 0)? else {
        return Ok(None);
    };
    let count = length(text)?.unwrap_or(0);
    let mut at = end;
    let mut words = Vec::new();
    for _ in 0..count {
        let Some((word, end)) = bulk(buf, at)? else {
            return Ok(None);
        };
        words.push(word.to_vec());
        at = end;
    }
    Ok(Some((words, at)))
}

/// The first element of an array or push, where that is text: what kind of message it is.
#[must_use]
pub fn first_word(frame: &[u8]) -> Option<&[u8]> {
    let Line { kind, text, end } = line(frame, 0).ok()??;
    if !matches!(kind, b'*' | b'>') || length(text).ok()?? == 0 {
        return None;
    }
    let first = line(frame, end).ok()??;
    match first.kind {
        b'+' => Some(first.text),
        b'$' => Some(bulk(frame, end).ok()??.0),
        _ => None,
    }
}

struct Line<'a> {
    kind: u8,
    text: &'a [u8],
    end: usize,
}

fn line(buf: &[u8], at: usize) -> Result<Option<Line<'_>>, Malformed> {
    let Some((&kind, rest)) = buf.get(at..).and_then(<[u8]>::split_first) else {
        return Ok(None);
    };
    let Some(len) = rest.windows(2).position(|two| two == b"\r\n") else {
        return Ok(None);
    };
    Ok(Some(Line { kind, text: &rest[..len], end: at + 1 + len + 2 }))
}

fn bulk(buf: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, Malformed> {
    let Some(Line { kind, text, end }) = line(buf, at)? else {
        return Ok(None);
    };
    if kind != b'$' {
        return Err(Malformed(format!("{:?} where a bulk string belongs", kind as char)));
    }
    let len = length(text)?.ok_or_else(|| Malformed("a null inside a command".into()))?;
    Ok(buf.get(end..end + len + 2).map(|word| (&word[..len], end + len + 2)))
}

/// `-1` is RESP2's null. Streamed strings and aggregates (`$?`, `*?`) are sent by no server.
fn length(text: &[u8]) -> Result<Option<usize>, Malformed> {
    if text == b"-1" {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(text);
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let len = text.parse().ok().filter(|&len: &usize| digits && len <= 1 << 30);
    len.map(Some).ok_or_else(|| Malformed(format!("length {text:?}")))
}

fn inline(buf: &[u8]) -> Option<(Words, usize)> {
    let end = buf.iter().position(|&byte| byte == b'\n')?;
    let words = buf[..end].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    Some((words.map(<[u8]>::to_vec).collect(), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLIES: &[&str] = &[
        "+OK\r\n",
        "+\r\n",
        "-ERR no\r\n",
        ":-12\r\n",
        "$5\r\nhello\r\n",
        "$4\r\n\r\n\r\n\r\n",
        "$0\r\n\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*3\r\n+OK\r\n+\r\n:7\r\n",
        "*2\r\n*1\r\n:1\r\n$-1\r\n",
        "_\r\n",
        "#t\r\n",
        ",3.25\r\n",
        ",inf\r\n",
        "(3492890328409238509324850943850943825024385\r\n",
        "=7\r\ntxt:yes\r\n",
        "!10\r\nERR \r\nlost\r\n",
        "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n",
        "~2\r\n+a\r\n+b\r\n",
        ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n",
        "|1\r\n+ttl\r\n:3600\r\n$2\r\nok\r\n",
        "*2\r\n|1\r\n+ttl\r\n:1\r\n:1\r\n:2\r\n",
        "%0\r\n",
    ];

    #[test]
    fn every_type_ends_where_it_ends() {
        for reply in REPLIES {
            let mut buf = reply.as_bytes().to_vec();
            assert_eq!(frame(&buf), Ok(Some(buf.len())), "{reply:?}");
            buf.extend_from_slice(b"+next\r\n");
            assert_eq!(frame(&buf), Ok(Some(reply.len())), "{reply:?} with more behind");
        }
    }

    #[test]
    fn a_part_is_never_taken_for_the_whole() {
        for reply in REPLIES {
            for len in 0..reply.len() {
                assert_eq!(frame(&reply.as_bytes()[..len]), Ok(None), "{:?}", &reply[..len]);
            }
        }
    }

    #[test]
    fn what_is_no_resp_is_refused() {
        for bad in ["?\r\n", "$?\r\n", "*x\r\n", "$-2\r\n", "$+1\r\n", "$99999999999999999999\r\n"]
        {
            assert!(frame(bad.as_bytes()).is_err(), "{bad:?}");
        }
        for bad in ["*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*z\r\n"] {
            assert!(command(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    fn words(list: &[&str]) -> Vec<Vec<u8>> {
        list.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn commands_are_split_wherever_the_bytes_are() {
        let sent = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\n\r\n\r\n\r\nPING  x\r\n\r\n";
        for step in 1..sent.len() {
            let (mut buf, mut got) = (Vec::new(), Vec::new());
            for chunk in sent.chunks(step) {
                buf.extend_from_slice(chunk);
                while let Some((command, len)) = command(&buf).unwrap() {
                    buf.drain(..len);
                    got.push(command);
                }
            }
            let want = [&["GET", "k"][..], &["\r\n\r\n"], &["PING", "x"], &[]];
            assert_eq!(got, want.map(words), "in steps of {step}");
            assert_eq!(buf, b"");
        }
    }

    #[test]
    fn a_message_tells_its_kind() {
        assert_eq!(first_word(b">2\r\n$10\r\ninvalidate\r\n*0\r\n"), Some(&b"invalidate"[..]));
        assert_eq!(first_word(b"*2\r\n+OK\r\n:1\r\n"), Some(&b"OK"[..]));
        for other in ["*0\r\n", "*1\r\n:1\r\n", "+message\r\n", "$1\r\nx\r\n", "*-1\r\n"] {
            assert_eq!(first_word(other.as_bytes()), None, "{other:?}");
        }
    }
}
