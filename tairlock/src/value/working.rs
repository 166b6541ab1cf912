//! The copy of a value that an update works on, and what it came to.

use std::sync::Arc;

use super::{Codec, Stored, ValueRequest};
use crate::{Error, Key};

/// What an update leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// What was there.
    Nothing,
    /// These bytes.
    Write(Arc<[u8]>),
    /// Nothing.
    Remove,
}

/// Hands out copies of a value, one per attempt, and compares what comes back.
#[derive(Clone, Debug)]
pub struct Working<T> {
    key: Key,
    codec: Codec<T>,
    default: Option<Arc<[u8]>>,
    /// What the last copy was, in this codec's own spelling: another program may have written the
    /// same value with other blanks.
    before: Option<Vec<u8>>,
}

impl<T> Working<T> {
    /// For an update of `request`.
    #[must_use]
    pub fn new(request: &ValueRequest, codec: Codec<T>) -> Self {
        Self { key: request.key.clone(), codec, default: request.default.clone(), before: None }
    }

    /// A copy of what is `stored`, or of the default where nothing is.
    ///
    /// # Errors
    /// [`Error::Decode`].
    pub fn copy(&mut self, stored: Option<&Stored>) -> Result<Option<T>, Error> {
        self.before = None;
        let Some(bytes) = stored.map(|stored| &stored.value).or(self.default.as_ref()) else {
            return Ok(None);
        };
        let value = self.codec.decode(&self.key, bytes)?;
        self.before = Some(self.codec.encode(&self.key, &value)?);
        Ok(Some(value))
    }

    /// What has become of the copy.
    ///
    /// # Errors
    /// [`Error::Encode`].
    pub fn change(&self, value: Option<&T>) -> Result<Change, Error> {
        let after = value.map(|value| self.codec.encode(&self.key, value)).transpose()?;
        Ok(match after {
            after if after == self.before => Change::Nothing,
            Some(bytes) => Change::Write(bytes.into()),
            None => Change::Remove,
        })
    }
}
