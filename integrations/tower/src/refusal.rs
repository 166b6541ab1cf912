//! [`Refusal`]: why a request was not served.

use tairlock::Error;

use crate::BadKey;

/// Why a request was not served. [`Problem::of`](crate::Problem::of) says what the caller is told.
///
/// Its text is for logs: it names keys and servers, which the caller's answer does not.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The lock was not had, the lease was lost, or a value could not be changed.
    #[error(transparent)]
    Lock(#[from] Error),
    /// The request does not say which lock it needs.
    #[error(transparent)]
    Key(#[from] BadKey),
    /// The request needs an `Idempotency-Key`, and has none.
    #[error("a request without Idempotency-Key, where one is required")]
    IdempotencyKeyMissing,
    /// The `Idempotency-Key` cannot be used.
    #[error("an Idempotency-Key that cannot be used: {0}")]
    IdempotencyKeyInvalid(&'static str),
    /// The `Idempotency-Key` was used for another request.
    #[error("Idempotency-Key of {key} was used for a request with other method, path or body")]
    IdempotencyKeyReused {
        /// The record's key.
        key: String,
    },
    /// The first request with this `Idempotency-Key` is still under way.
    #[error("the first request of {key} is still under way")]
    InFlight {
        /// The record's key.
        key: String,
    },
    /// A request with this `Idempotency-Key` was begun and never brought to an end: its process died, its
    /// handler panicked, or its lease was lost. What it did is not known.
    #[error("a request of {key} was begun and not brought to an end; what it did is not known")]
    Unfinished {
        /// The record's key.
        key: String,
    },
    /// The request with this `Idempotency-Key` was done, and its answer was too long to be kept.
    #[error("the request of {key} was done, and its answer was not kept")]
    NotKept {
        /// The record's key.
        key: String,
    },
    /// The request was done, and meanwhile another one with its `Idempotency-Key` was begun, since this
    /// one's lease had ended.
    #[error("the request of {key} was begun again elsewhere before this one was done")]
    Overtaken {
        /// The record's key.
        key: String,
    },
    /// The request's body is longer than an idempotent request may be.
    #[error("a body of more than {limit} bytes in an idempotent request")]
    BodyTooLong {
        /// How many bytes there may be.
        limit: usize,
    },
    /// The request's body could not be read to its end.
    #[error("the body of an idempotent request broke off")]
    BodyBroken,
    /// The request was done, and its answer's body could not be read to its end.
    #[error("the answer to an idempotent request broke off")]
    AnswerBroken,
}
