//! Splits a command line into words, with `"…"` and escapes as `redis-cli` has them.

/// Words stand apart by spaces; within quotes `\r`, `\n`, `\"`, `\\` and `\xHH` are bytes.
pub(crate) fn split(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (rest[..end].into(), &rest[end..])
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// Reads up to the closing quote; returns the bytes and what follows.
pub(crate) fn unquote(text: &str) -> (Vec<u8>, &str) {
    let mut bytes = Vec::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => return (bytes, chars.as_str()),
            '\\' => match chars.next() {
                Some('r') => bytes.push(b'\r'),
                Some('n') => bytes.push(b'\n'),
                Some('x') => {
                    let hex: String = chars.by_ref().take(2).collect();
                    bytes.push(u8::from_str_radix(&hex, 16).expect("two hex digits after \\x"));
                }
                Some(other) => bytes.extend(other.to_string().bytes()),
                None => break,
            },
            other => bytes.extend(other.to_string().bytes()),
        }
    }
    panic!("no closing quote: {text}");
}

/// Bytes for a person to read.
pub(crate) fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
