//! A [`Token`] says who holds a lock: one per acquisition, never used twice.

use std::{fmt, sync::Arc};

use crate::error::ConfigError;

/// What stands under a lock's key while it is held: `label@unix_ms/uuid-v4`, or the UUID alone.
///
/// Uniqueness is the UUID's (122 bits from the operating system's randomness); label and time are for
/// the person who looks at the key. On a quorum a waiter may take a second one, `….1`. Whoever knows a
/// token can release its lock, so `Debug` shows the label and time only, and nothing in tairlock logs the
/// rest.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(Arc<[u8]>);

impl Token {
    /// The longest token, in bytes.
    pub const MAX_LEN: usize = 200;

    /// A new token under `label`, stamped with the wall clock's `unix_ms`.
    #[must_use]
    pub fn generate(label: &Label) -> Self {
        let unique = uuid::Uuid::new_v4().hyphenated();
        match &label.0 {
            None => Self(unique.to_string().into_bytes().into()),
            Some(label) => {
                let text = format!("{label}@{}/{unique}", crate::time::unix_ms());
                Self(text.into_bytes().into())
            }
        }
    }

    /// Another one for the same acquisition, whose `n`-th it is.
    pub(crate) fn nth(&self, n: usize) -> Self {
        let mut bytes = self.0.to_vec();
        bytes.extend(format!(".{n}").into_bytes());
        Self(bytes.into())
    }

    /// A token of the caller's making: for tests, simulations and drivers.
    #[must_use]
    pub fn from_bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self(bytes.as_ref().into())
    }

    /// The bytes that stand on the server. Treat them as a capability.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<[u8]> {
        Arc::clone(&self.0)
    }

    /// The label that it was made under, if it was under one.
    #[cfg_attr(not(test), allow(dead_code, reason = "without spans nobody asks"))]
    pub(crate) fn label(&self) -> Option<&str> {
        let head = &self.0[..self.0.iter().rposition(|&b| b == b'/')?];
        str::from_utf8(&head[..head.iter().rposition(|&b| b == b'@')?]).ok()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.0.iter().rposition(|&b| b == b'/').map_or(&b""[..], |at| &self.0[..at]);
        write!(f, "Token({}/…)", head.escape_ascii())
    }
}

/// The readable part of a token: who holds the lock, for the person who looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(Option<Arc<str>>);

impl Label {
    /// The longest label, in bytes.
    pub const MAX_LEN: usize = 128;

    /// A label of your own; `host:pid` is the default.
    ///
    /// # Errors
    /// [`ConfigError::BadLabel`] if it is empty, longer than [`Label::MAX_LEN`], or holds a control
    /// character.
    pub fn new(label: &str) -> Result<Self, ConfigError> {
        if label.is_empty() || label.len() > Self::MAX_LEN || label.chars().any(char::is_control) {
            return Err(ConfigError::BadLabel { len: label.len(), max: Self::MAX_LEN });
        }
        Ok(Self(Some(label.into())))
    }

    /// What it says, if it says anything.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// No label: tokens are a bare UUID, and the key tells nothing about its holder.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// `host:pid` of this process.
    #[must_use]
    pub fn host_and_pid() -> Self {
        let mut host = crate::time::host_name();
        host.retain(|c| !c.is_control());
        while host.len() > Self::MAX_LEN - 16 {
            host.pop();
        }
        Self(Some(format!("{host}:{}", std::process::id()).into()))
    }
}

impl Default for Label {
    fn default() -> Self {
        Self::host_and_pid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labelled_unique_and_short() {
        let label = Label::new("billing-7").unwrap();
        let (a, b) = (Token::generate(&label), Token::generate(&label));
        assert_ne!(a, b);
        assert!(a.as_bytes().starts_with(b"billing-7@"));
        assert_eq!(a.label(), Some("billing-7"));
        assert_eq!(Token::generate(&Label::new("a@b/c").unwrap()).label(), Some("a@b/c"));
        assert_eq!(Token::generate(&Label::off()).label(), None);
        let longest = Label::new(&"l".repeat(Label::MAX_LEN)).unwrap();
        assert!(Token::generate(&longest).as_bytes().len() <= Token::MAX_LEN);
        assert_eq!(Token::generate(&Label::off()).as_bytes().len(), 36);
        assert!(Label::new("").is_err() && Label::new("a\nb").is_err());
        assert!(Label::new(&"l".repeat(Label::MAX_LEN + 1)).is_err());
    }

    #[test]
    fn debug_hides_what_makes_it_unique() {
        let token = Token::generate(&Label::new("me").unwrap());
        let whole = String::from_utf8(token.as_bytes().to_vec()).unwrap();
        let secret = whole.rsplit_once('/').unwrap().1;
        assert!(!format!("{token:?}").contains(secret));
        assert!(!format!("{:?}", Token::generate(&Label::off())).contains('-'));
    }
}
