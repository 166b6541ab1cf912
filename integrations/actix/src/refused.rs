//! [`Refused`]: a refusal as a response.

use std::fmt;

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use tairlock::Error;
use tairlock_tower::{Answers, Refusal};

/// A refusal as a response: what [`Locked`](crate::Locked) rejects with, and an error type for handlers.
///
/// ```
/// # use actix_web::{post, web};
/// use tairlock::distributed_lock;
/// use tairlock_actix::Refused;
///
/// #[post("/orders/{id}/settle")]
/// #[distributed_lock(key = "order:{id}")]
/// async fn settle(id: web::Path<u64>) -> Result<String, Refused> {
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

impl ResponseError for Refused {
    fn status_code(&self) -> StatusCode {
        status(self.0.response().status().as_u16())
    }

    fn error_response(&self) -> HttpResponse {
        let (parts, body) = self.0.response().into_parts();
        let mut response = HttpResponse::build(status(parts.status.as_u16()));
        for (name, value) in &parts.headers {
            response.append_header((name.as_str(), value.as_bytes()));
        }
        response.body(body)
    }
}

/// A status of http 1 in http 0.2, which actix speaks.
pub(crate) fn status(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
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
