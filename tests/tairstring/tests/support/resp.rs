//! A connection that hands out replies as raw bytes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::{PATIENCE, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Resp2,
    Resp3,
}

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(port: u16, protocol: Protocol) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut connection = Self { stream: BufReader::new(stream) };
        if protocol == Protocol::Resp3 {
            connection.call("HELLO 3")?;
        }
        Ok(connection)
    }

    /// One command line, and the raw reply to it.
    pub(crate) fn call(&mut self, line: &str) -> io::Result<Vec<u8>> {
        self.call_words(&words::split(line))
    }

    pub(crate) fn call_words(&mut self, words: &[Vec<u8>]) -> io::Result<Vec<u8>> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend(format!("${}\r\n", word.len()).bytes());
            request.extend(word);
            request.extend(b"\r\n");
        }
        self.stream.get_mut().write_all(&request)?;
        self.receive()
    }

    /// The next reply or push, whole.
    pub(crate) fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut raw = Vec::new();
        read_value(&mut self.stream, &mut raw)?;
        Ok(raw)
    }
}

/// Appends one value to `raw`.
pub(crate) fn read_value(stream: &mut impl BufRead, raw: &mut Vec<u8>) -> io::Result<()> {
    let start = raw.len();
    if stream.read_until(b'\n', raw)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let length = || {
        let text = raw.get(start + 1..).unwrap_or_default().trim_ascii();
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| io::Error::other(format!("no length in {}", words::show(text))))
    };
    match raw[start] {
        b'$' | b'=' => {
            let length: i64 = length()?;
            if let Ok(length) = u64::try_from(length) {
                stream.take(length + 2).read_to_end(raw)?;
            }
        }
        kind @ (b'*' | b'~' | b'>' | b'%') => {
            let length: i64 = length()?;
            let factor = if kind == b'%' { 2 } else { 1 };
            for _ in 0..length * factor {
                read_value(stream, raw)?;
            }
        }
        _ => {}
    }
    Ok(())
}
