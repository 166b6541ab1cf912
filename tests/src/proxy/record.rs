//! The commands that clients sent, and in how many goes.

use std::fmt::{self, Write as _};
use std::time::Instant;

/// One command as the client sent it.
#[derive(Clone, Debug)]
pub struct Command {
    /// Which connection it came by, counted from 0 in the order of acceptance.
    pub connection: usize,
    /// Which round trip it belongs to, counted from 1 over all connections.
    pub round_trip: usize,
    /// Its words.
    pub words: Vec<Vec<u8>>,
    /// Whether the server got it: not if a fault kept it back.
    pub forwarded: bool,
    /// When it was received.
    pub at: Instant,
}

impl Command {
    /// Its first word, in capitals.
    #[must_use]
    pub fn name(&self) -> String {
        self.words.first().map_or_else(String::new, |word| text(word).to_ascii_uppercase())
    }

    /// Whether it begins with these words, in capitals or not: `"SET"`, `"CLIENT TRACKING"`.
    #[must_use]
    pub fn is(&self, words: &str) -> bool {
        begins_with(&self.words, words)
    }
}

/// Its words with blanks between, bytes that are no text escaped.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, word) in self.words.iter().enumerate() {
            if nth > 0 {
                f.write_char(' ')?;
            }
            f.write_str(&text(word))?;
        }
        Ok(())
    }
}

pub(super) fn text(word: &[u8]) -> String {
    let plain = str::from_utf8(word).is_ok_and(|word| !word.contains(char::is_control));
    if plain { String::from_utf8_lossy(word).into_owned() } else { word.escape_ascii().to_string() }
}

pub(super) fn begins_with(command: &[Vec<u8>], words: &str) -> bool {
    let mut rest = command.iter();
    words
        .split_whitespace()
        .all(|word| rest.next().is_some_and(|next| next.eq_ignore_ascii_case(word.as_bytes())))
}

#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) commands: Vec<Command>,
    pub(super) round_trips: usize,
}

impl Record {
    pub(super) fn count(&self, words: &str) -> usize {
        self.commands.iter().filter(|command| command.is(words)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_by_their_first_words() {
        let words: Vec<Vec<u8>> = ["client", "Tracking", "ON"].map(Into::into).into();
        for yes in ["CLIENT", "CLIENT TRACKING", "client tracking on", ""] {
            assert!(begins_with(&words, yes), "{yes:?}");
        }
        for no in ["TRACKING", "CLIEN", "CLIENT SETINFO", "CLIENT TRACKING ON BCAST"] {
            assert!(!begins_with(&words, no), "{no:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(text("größe".as_bytes()), "größe");
        assert_eq!(text(b"\xff\r\n"), r"\xff\r\n");
    }
}
