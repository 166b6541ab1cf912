//! [`Problem`]: what a caller is told about a refusal, as `application/problem+json` (RFC 9457).

use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode, header};
use serde::Serialize;
use tairlock::{ConfigError, Error, FaultKind};

use crate::Refusal;

/// Where the problems are described; the kind is the anchor.
const DESCRIBED: &str = "https://github.com/tairlock/tairlock/blob/main/docs/handlers.md#";

/// When to come back after somebody else held the lock, or changed the value.
const SOON: Option<Duration> = Some(Duration::from_secs(1));
/// When to come back after a server failed.
const LATER: Option<Duration> = Some(Duration::from_secs(2));

/// What a caller is told: a status, a kind to branch on, and when to try again.
///
/// It holds nothing that the caller did not say: no key, no server's name, no error's text.
///
/// ```
/// use tairlock_tower::{Problem, Refusal};
///
/// let problem = Problem::of(&Refusal::Lock(tairlock::Error::Closed));
/// assert_eq!((problem.status.as_u16(), problem.kind), (503, "closed"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// A word that stays the same between versions; the end of the body's `type`.
    pub kind: &'static str,
    /// What happened, in a sentence.
    pub title: &'static str,
    /// When the same request may well succeed: the header `Retry-After`, in whole seconds. `None` where
    /// the same request would fail again, or where part of it may have been done.
    pub retry_after: Option<Duration>,
}

impl Problem {
    /// What the caller is told about `refusal`.
    #[must_use]
    pub const fn of(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Lock(error) => Self::of_error(error),
            Refusal::Key(_) => {
                say(400, "bad-key", "The request does not say what it is about.", None)
            }
            Refusal::IdempotencyKeyMissing => {
                say(400, "idempotency-key-missing", "This request needs an Idempotency-Key.", None)
            }
            Refusal::IdempotencyKeyInvalid(_) => {
                say(400, "idempotency-key-invalid", "The Idempotency-Key cannot be used.", None)
            }
            Refusal::IdempotencyKeyReused { .. } => say(
                422,
                "idempotency-key-reused",
                "The Idempotency-Key was used for another request.",
                None,
            ),
            Refusal::InFlight { .. } => say(
                409,
                "in-flight",
                "The first request with this Idempotency-Key is still under way.",
                SOON,
            ),
            Refusal::Unfinished { .. } => say(
                409,
                "unfinished",
                "A request with this Idempotency-Key was begun and not brought to an end; \
                 what it did is not known.",
                None,
            ),
            Refusal::NotKept { .. } => say(
                409,
                "not-kept",
                "The request with this Idempotency-Key was done; its answer was not kept.",
                None,
            ),
            Refusal::Overtaken { .. } => say(
                503,
                "overtaken",
                "The request was begun a second time while it was being done.",
                None,
            ),
            Refusal::BodyTooLong { .. } => say(413, "too-long", "The request is too long.", None),
            Refusal::BodyBroken => say(400, "body-broken", "The request broke off.", None),
            Refusal::AnswerBroken => {
                say(500, "answer-broken", "The request was done; its answer broke off.", None)
            }
        }
    }

    /// What the caller is told about an error of a lock or a value: for an application's own error type.
    #[must_use]
    pub const fn of_error(error: &Error) -> Self {
        match error {
            Error::Busy { .. } => say(423, "busy", "Somebody else is at it.", SOON),
            Error::TimedOut { .. } => {
                say(423, "timed-out", "Somebody else was at it for all of the wait.", SOON)
            }
            Error::NotReplicated { .. } => say(
                503,
                "not-replicated",
                "The lock could not be kept in as many places as it must be.",
                LATER,
            ),
            // Part of the work may be done: nobody is invited to do it again.
            Error::Lost { .. } | Error::StaleFence { .. } => {
                say(503, "lost", "The lock was lost; part of the request may have been done.", None)
            }
            Error::MaybeCommitted { .. } => {
                say(503, "maybe-committed", "The change may have been made or not.", None)
            }
            Error::Conflict { .. } => {
                say(409, "conflict", "It was changed by somebody else; read it again.", None)
            }
            Error::Exhausted { .. } => {
                say(409, "exhausted", "Others changed it each time that it was tried.", SOON)
            }
            Error::Absent { .. } => say(404, "absent", "There is no such thing.", None),
            Error::Config(ConfigError::EmptyKey | ConfigError::KeyTooLong { .. }) => {
                say(400, "bad-key", "The request does not say what it is about.", None)
            }
            Error::Closed => say(503, "closed", "The service is going down.", SOON),
            Error::Backend { fault, .. } | Error::NoQuorum { fault, .. }
                if fault.is_transient() || matches!(fault.kind(), FaultKind::OutOfMemory) =>
            {
                say(503, "unavailable", "The lock server cannot be used at the moment.", LATER)
            }
            _ => say(500, "misconfigured", "The service is not set up rightly.", None),
        }
    }

    /// The URI that names the kind of problem, and leads to its description.
    #[must_use]
    pub fn type_uri(&self) -> String {
        format!("{DESCRIBED}{}", self.kind)
    }

    /// The body: `type`, `title` and `status`, as JSON.
    #[must_use]
    pub fn body(&self) -> Bytes {
        #[derive(Serialize)]
        struct Body<'a> {
            r#type: &'a str,
            title: &'a str,
            status: u16,
        }
        let uri = self.type_uri();
        let body = Body { r#type: &uri, title: self.title, status: self.status.as_u16() };
        // Three plain fields: they can be written.
        serde_json::to_vec(&body).unwrap_or_default().into()
    }

    /// The whole response.
    #[must_use]
    pub fn response(&self) -> Response<Bytes> {
        let mut response = Response::new(self.body());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let json = header::HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, json);
        // The same request may be answered otherwise a moment later.
        let fresh = header::HeaderValue::from_static("no-store");
        headers.insert(header::CACHE_CONTROL, fresh);
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, after.as_secs().max(1).into());
        }
        response
    }
}

const fn say(
    status: u16,
    kind: &'static str,
    title: &'static str,
    retry_after: Option<Duration>,
) -> Problem {
    let Ok(status) = StatusCode::from_u16(status) else { panic!("no status") };
    Problem { status, kind, title, retry_after }
}
