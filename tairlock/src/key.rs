//! A [`Key`] names a lock: any non-empty byte string up to [`Key::MAX_LEN`].

use std::{fmt, sync::Arc};

use crate::error::ConfigError;

/// The name of a lock, prefix included, as the server sees it.
///
/// Cheap to clone. `Display` and `Debug` escape what is not printable and cut what is long, so that a
/// key can stand in an error or a log line.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<[u8]>);

impl Key {
    /// The longest key that is accepted, in bytes.
    ///
    /// Servers take up to 512 MB; a key of that size is a mistake, and every command repeats it.
    pub const MAX_LEN: usize = 64 * 1024;

    /// Checks `bytes` and makes them a key.
    ///
    /// # Errors
    /// [`ConfigError::EmptyKey`] and [`ConfigError::KeyTooLong`].
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Self, ConfigError> {
        Self::with_prefix(b"", bytes.as_ref())
    }

    /// As [`Key::new`], with `prefix` in front; it is `bytes` that must not be empty.
    ///
    /// # Errors
    /// As [`Key::new`]; the length counts both parts.
    pub fn with_prefix(prefix: &[u8], bytes: &[u8]) -> Result<Self, ConfigError> {
        if bytes.is_empty() {
            return Err(ConfigError::EmptyKey);
        }
        let len = prefix.len() + bytes.len();
        if len > Self::MAX_LEN {
            return Err(ConfigError::KeyTooLong { len, max: Self::MAX_LEN });
        }
        if prefix.is_empty() {
            return Ok(Self(bytes.into()));
        }
        Ok(Self([prefix, bytes].concat().into()))
    }

    /// A name that we make of another, and so may be longer than one that is given.
    pub(crate) fn of_ours(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    /// The bytes that the server sees.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<[u8]> {
        Arc::clone(&self.0)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 128;
        let shown = &self.0[..self.0.len().min(SHOWN)];
        for chunk in shown.utf8_chunks() {
            // As a whole up to the next that is escaped: most keys have none, and spans show every key.
            for part in chunk.valid().split_inclusive(char::is_control) {
                let printable = part.trim_end_matches(char::is_control);
                f.write_str(printable)?;
                for c in part[printable.len()..].chars() {
                    write!(f, "{}", c.escape_default())?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        if self.0.len() > SHOWN { write!(f, "… ({} bytes)", self.0.len()) } else { Ok(()) }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_but_none_and_not_too_many() {
        assert_eq!(Key::new(""), Err(ConfigError::EmptyKey));
        assert_eq!(Key::with_prefix(b"app:", b""), Err(ConfigError::EmptyKey));
        assert_eq!(Key::new([0, 0xff, b'\n']).unwrap().as_bytes(), [0, 0xff, b'\n']);
        assert!(Key::new(vec![b'k'; Key::MAX_LEN]).is_ok());
        assert_eq!(
            Key::with_prefix(b"p", &vec![b'k'; Key::MAX_LEN]),
            Err(ConfigError::KeyTooLong { len: Key::MAX_LEN + 1, max: Key::MAX_LEN })
        );
    }

    #[test]
    fn shown_escaped_and_cut() {
        assert_eq!(Key::new(b"a\x00\xffb").unwrap().to_string(), "a\\u{0}\\xffb");
        let long = Key::new("k".repeat(1000)).unwrap().to_string();
        assert!(long.ends_with("… (1000 bytes)") && long.len() < 160, "{long}");
    }
}
