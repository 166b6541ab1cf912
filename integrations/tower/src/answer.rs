//! [`Answers`]: how refusals are answered, where the application says it in its own way.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::Response;
use tairlock::Error;

use crate::{Problem, Refusal};

type Map = dyn Fn(&Refusal) -> Response<Bytes> + Send + Sync;

/// How refusals are answered: as [`Problem`], unless the application has a mapping of its own.
///
/// ```
/// use bytes::Bytes;
/// use http::Response;
/// use tairlock_tower::{Answers, Problem, Refusal};
///
/// let answers = Answers::new(|refusal| {
///     let problem = Problem::of(refusal);
///     let text = Bytes::from(format!("sorry: {}", problem.kind));
///     Response::builder().status(problem.status).body(text).unwrap()
/// });
/// let refusal = Refusal::Lock(tairlock::Error::Closed);
/// assert_eq!(answers.answer(&refusal).body(), "sorry: closed");
/// ```
#[derive(Clone, Default)]
pub struct Answers(Option<Arc<Map>>);

impl Answers {
    /// Answers by `map`.
    pub fn new(map: impl Fn(&Refusal) -> Response<Bytes> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(map)))
    }

    /// The answer to `refusal`.
    #[must_use]
    pub fn answer(&self, refusal: &Refusal) -> Response<Bytes> {
        self.0.as_ref().map_or_else(|| Problem::of(refusal).response(), |map| map(refusal))
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("own", &self.0.is_some()).finish()
    }
}

/// A refusal, with how it is to be answered. A handler's error type may be this one: it is made of
/// [`tairlock::Error`] by `?`, and by the attributes.
#[derive(Clone, Debug)]
pub struct Refused {
    refusal: Refusal,
    answers: Answers,
}

impl Refused {
    /// To be answered by `answers`.
    #[must_use]
    pub const fn new(refusal: Refusal, answers: Answers) -> Self {
        Self { refusal, answers }
    }

    /// Why the request was not served.
    #[must_use]
    pub const fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    /// The response, with the [`Refusal`] among its extensions, for what logs responses.
    #[must_use]
    pub fn response(&self) -> Response<Bytes> {
        let mut response = self.answers.answer(&self.refusal);
        response.extensions_mut().insert(self.refusal.clone());
        response
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal, Answers::default())
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refusal::Lock(error).into()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal.fmt(f)
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.refusal.source()
    }
}
