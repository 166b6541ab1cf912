//! Which fault a command or reply meets.

use std::fmt::Write as _;
use std::time::Duration;

use super::record::{begins_with, text};

/// What befalls one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It never arrives: the connection is cut instead of forwarding it.
    LoseRequest,
    /// It is carried out, but neither its reply nor any later one comes back on this connection,
    /// which stays open.
    Swallow,
    /// It is carried out, and the connection is cut instead of passing the reply on.
    SwallowAndCut,
    /// It is carried out, and the connection is cut after half of the reply's bytes.
    CutMidFrame,
    /// It is carried out, and its reply (and so all later ones) takes that much longer.
    Delay(Duration),
    /// It is carried out, and these bytes come back in place of its reply.
    Replace(Vec<u8>),
    /// It is not carried out, and these bytes come back.
    Answer(Vec<u8>),
    /// It is not carried out, and comes back as an unknown command.
    Unknown,
}

/// What a server says of a command that it doesn't know.
pub(super) fn unknown(command: &[Vec<u8>]) -> Vec<u8> {
    let mut words = command.iter().map(|word| text(word));
    let name = words.next().unwrap_or_default();
    let mut reply = format!("-ERR unknown command '{name}', with args beginning with: ");
    for word in words {
        // Servers stop at 128 characters.
        if reply.len() > 128 {
            break;
        }
        let _ = write!(reply, "'{word}' ");
    }
    reply.push_str("\r\n");
    reply.into_bytes()
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    once: Vec<(String, Fault)>,
    always: Vec<(String, Fault)>,
    pub(super) delay: Duration,
    pub(super) hold: bool,
    pub(super) black_hole: bool,
    pub(super) refuse: bool,
}

impl Faults {
    pub(super) fn once(&mut self, words: &str, fault: Fault) {
        self.once.push((words.into(), fault));
    }

    pub(super) fn always(&mut self, words: &str, fault: Fault) {
        // The last word said about a command counts.
        self.always.retain(|(known, _)| !known.eq_ignore_ascii_case(words));
        self.always.push((words.into(), fault));
    }

    pub(super) fn allow(&mut self, words: &str) {
        self.once.retain(|(known, _)| !known.eq_ignore_ascii_case(words));
        self.always.retain(|(known, _)| !known.eq_ignore_ascii_case(words));
    }

    /// The fault that this command meets, which is used up if it was meant for one command.
    pub(super) fn strike(&mut self, command: &[Vec<u8>]) -> Option<Fault> {
        if let Some(nth) = self.once.iter().position(|(words, _)| begins_with(command, words)) {
            return Some(self.once.remove(nth).1);
        }
        let (_, fault) = self.always.iter().rfind(|(words, _)| begins_with(command, words))?;
        Some(fault.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<Vec<u8>> {
        list.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn a_fault_for_one_command_goes_before_one_for_all_and_is_used_up() {
        let mut faults = Faults::default();
        faults.always("SET", Fault::Unknown);
        faults.once("set", Fault::Swallow);
        let set = words(&["SET", "k", "v"]);
        assert_eq!(faults.strike(&words(&["GET", "k"])), None);
        assert_eq!(faults.strike(&set), Some(Fault::Swallow));
        assert_eq!(faults.strike(&set), Some(Fault::Unknown));
        faults.always("Set", Fault::LoseRequest);
        assert_eq!(faults.strike(&set), Some(Fault::LoseRequest));
        faults.allow("SET");
        assert_eq!(faults.strike(&set), None);
    }

    #[test]
    fn an_unknown_command_is_told_in_the_servers_words() {
        let reply = unknown(&words(&["CAD", "k", "v"]));
        let text = "-ERR unknown command 'CAD', with args beginning with: 'k' 'v' \r\n";
        assert_eq!(String::from_utf8_lossy(&reply), text);
        assert!(unknown(&words(&["X", &"y".repeat(200), "no\r\nmore"])).ends_with(b"' \r\n"));
    }
}
