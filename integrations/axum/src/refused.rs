//! [`Refused`]: a refusal as a response.

use std::fmt;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use tairlock::Error;
use tairlock_tower::{Answers, Refusal};

/// A refusal as a response: what [`Locked`](crate::Locked) rejects with, and an error type for handlers.
///
/// ```
/// # use axum::extract::Path;
/// use tairlock::distributed_lock;
/// use tairlock_axum::Refused;
///
/// #[distributed_lock(key = "order:{id}")]
/// async fn settle(Path(id): Path<u64>) -> Result<String, Refused> {
///     Ok(format!("order {id} is settled"))
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Refused(tairlock_tower::Refused);

impl Refused {
    /// To be answered by `answers`.
    #[must_use]
    pub const fn new(refusal: Refusal, answers: Answers) -> Self {
        Self(tairlock_tower::Refused::new(refusal, answers))
    }

    /// Why the request was not served.
    #[must_use]
    pub const fn refusal(&self) -> &Refusal {
        self.0.refusal()
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0.response().map(Body::from)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.into())
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}
