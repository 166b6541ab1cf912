//! Fenced values: what is asked about them, and what is answered.

use std::sync::Arc;

use crate::{Error, Fault, Key, Operation, fault::FaultKind, proto::Verdict};

/// What can be asked about a fenced value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FencedAction {
    /// What is there?
    #[default]
    Get,
    /// Write this, unless something newer is there.
    Set(FencedValue),
}

/// A fenced value as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencedValue {
    /// The value, encoded.
    pub value: Arc<[u8]>,
    /// The fence that it was written with.
    pub fence: u64,
}

/// A fenced value as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written<T> {
    /// The value.
    pub value: T,
    /// The fence that it was written with.
    pub fence: u64,
}

impl FencedAction {
    /// What came of a write with `fence`.
    ///
    /// # Errors
    /// [`Error::StaleFence`], [`Error::Backend`].
    pub fn written(key: Key, fence: u64, reply: Result<Verdict, Fault>) -> Result<(), Error> {
        match reply {
            Ok(Verdict::Accepted) => Ok(()),
            Ok(Verdict::Refused(newest)) => Err(Error::StaleFence { key, fence, newest }),
            other => Err(unread(key, Operation::Write, other)),
        }
    }

    /// What came of a read.
    ///
    /// # Errors
    /// [`Error::Backend`].
    pub fn read(key: Key, reply: Result<Verdict, Fault>) -> Result<Option<FencedValue>, Error> {
        match reply {
            Ok(Verdict::Fenced(value)) => Ok(Some(value)),
            Ok(Verdict::Gone) => Ok(None),
            other => Err(unread(key, Operation::Read, other)),
        }
    }
}

fn unread(key: Key, operation: Operation, reply: Result<Verdict, Fault>) -> Error {
    let fault = reply.map_or_else(
        |fault| fault,
        |other| {
            let text = format!("a question about a fenced value was answered with {other:?}");
            Fault::ambiguous(FaultKind::Protocol, text)
        },
    );
    Error::Backend { key: Some(key), operation, fault }
}
