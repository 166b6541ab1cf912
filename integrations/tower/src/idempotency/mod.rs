//! Requests with an `Idempotency-Key`: done once, and answered alike however often they come.
//!
//! [`Idempotency`] is what tower's [`IdempotencyLayer`] and the actix middleware have in common. It
//! follows the IETF draft on the header, and is built on a lock, which says that somebody is at it, and a
//! versioned value, the *record*, which says what became of it:
//!
//! | record | lock | what a request with the key is told |
//! |---|---|---|
//! | none | free | it is done; *begun* is recorded before |
//! | begun | held | it waits ([`wait`](Idempotency::wait)), then 409 `in-flight` with `Retry-After` |
//! | begun | free | the one that began died: 409 `unfinished`, or it is done again ([`unfinished`](Idempotency::unfinished)) |
//! | done | | the first answer, with `Idempotency-Replayed: true` |
//! | for another request | | 422 `idempotency-key-reused` |
//!
//! Which answers are kept: statuses below 500 but 408, 409, 423, 425 and 429. Any other answer says that
//! the work was not done: the record is removed, and the next request with the key does it.
//! ([`keep`](Idempotency::keep) decides otherwise.)
//!
//! A request that has begun is brought to its end even if its client leaves, so that the answer is there
//! when the client asks again. Of an answer, the status, the chosen headers and the body are kept, for
//! 24 h; trailers are not. The body is read before any of it is sent, up to a limit: one that is longer is
//! sent as it comes, and later requests are told 409 `not-kept`. An endless body has no place here.
//!
//! An answer is recorded only if its record is still the one that it began. A process that was paused for
//! longer than its lease, and whose request was begun again elsewhere, answers 503 `overtaken`: two may
//! have been done then, and it is said.

mod ask;
mod layer;
mod record;
mod run;

use std::{fmt, sync::Arc, time::Duration};

pub use ask::Fingerprint;
pub use layer::{IdempotencyLayer, IdempotencyService};
pub use record::Stored;
pub use run::{Ended, Entry, Run};
use tairlock::Client;
use tokio::sync::watch;

use crate::Answers;

/// The header that names a request.
pub const HEADER: &str = "idempotency-key";

/// The header that marks an answer that was given before.
pub const REPLAYED: &str = "idempotency-replayed";

/// What becomes of a request that was begun and not brought to an end: its process died, its handler
/// panicked, or its lease was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unfinished {
    /// 409 `unfinished`, until the record expires: somebody has to find out what was done.
    #[default]
    Refuse,
    /// It is done again, once the lease has ended. For work that can be done in part and repeated.
    RunAgain,
}

/// How requests with an `Idempotency-Key` are treated. Cheap to clone; clones are one.
///
/// ```
/// use std::time::Duration;
/// use tairlock_tower::{Idempotency, Unfinished};
///
/// let idempotency = Idempotency::new(tairlock::Client::in_memory())
///     .required(true)
///     .expire_after(Duration::from_secs(60 * 60))
///     .unfinished(Unfinished::RunAgain);
/// ```
#[derive(Clone)]
#[must_use]
pub struct Idempotency {
    client: Client,
    rule: Arc<Rule>,
    running: Arc<watch::Sender<Running>>,
}

/// How many requests are under way, and whether more may be begun.
#[derive(Default)]
struct Running {
    requests: usize,
    closed: bool,
}

#[derive(Clone)]
struct Rule {
    methods: Vec<String>,
    required: bool,
    ttl: Duration,
    wait: Duration,
    expire_after: Duration,
    request_limit: usize,
    response_limit: usize,
    keep: Arc<dyn Fn(u16) -> bool + Send + Sync>,
    headers: Vec<String>,
    unfinished: Unfinished,
    answers: Answers,
}

impl Idempotency {
    /// With every option at its default.
    pub fn new(client: Client) -> Self {
        let rule = Rule {
            methods: ["POST", "PATCH"].map(str::to_owned).into(),
            required: false,
            ttl: Duration::from_secs(10),
            wait: Duration::from_secs(3),
            expire_after: Duration::from_secs(24 * 60 * 60),
            request_limit: 1 << 20,
            response_limit: 1 << 20,
            keep: Arc::new(says_that_it_was_done),
            headers: HEADERS.map(str::to_owned).into(),
            unfinished: Unfinished::default(),
            answers: Answers::default(),
        };
        Self { client, rule: Arc::new(rule), running: Arc::default() }
    }

    /// The methods whose requests are treated so; others pass, whatever they carry. `POST` and `PATCH` by
    /// default: the others are idempotent, or ought to be.
    pub fn methods<M: Into<String>>(self, methods: impl IntoIterator<Item = M>) -> Self {
        self.set(|rule| rule.methods = methods.into_iter().map(Into::into).collect())
    }

    /// Whether a request without the header is refused, with 400. Defaults to `false`: it passes.
    pub fn required(self, required: bool) -> Self {
        self.set(|rule| rule.required = required)
    }

    /// The ttl of the lock, which is renewed while a request is under way: how long after a crash its
    /// request counts as unfinished. Defaults to 10 s.
    pub fn ttl(self, ttl: Duration) -> Self {
        self.set(|rule| rule.ttl = ttl)
    }

    /// How long a request waits for the first one with its key. Defaults to 3 s; zero is one try.
    pub fn wait(self, wait: Duration) -> Self {
        self.set(|rule| rule.wait = wait)
    }

    /// How long an answer is kept, from when it was given; and how long it is remembered that a request
    /// was begun. Defaults to 24 h. Longer than any client tries again, and than any request takes.
    pub fn expire_after(self, expire_after: Duration) -> Self {
        self.set(|rule| rule.expire_after = expire_after)
    }

    /// The longest body of a request, in bytes; a longer one is refused with 413. Defaults to 1 MiB.
    pub fn request_limit(self, bytes: usize) -> Self {
        self.set(|rule| rule.request_limit = bytes)
    }

    /// The longest body of an answer that is kept, in bytes. Defaults to 1 MiB.
    pub fn response_limit(self, bytes: usize) -> Self {
        self.set(|rule| rule.response_limit = bytes)
    }

    /// Which statuses say that the work was done, so that the answer is kept. By default those below 500
    /// but 408, 409, 423, 425 and 429.
    pub fn keep(self, keep: impl Fn(u16) -> bool + Send + Sync + 'static) -> Self {
        self.set(|rule| rule.keep = Arc::new(keep))
    }

    /// The headers of an answer that are kept, in place of these: `content-type`, `content-encoding`,
    /// `content-language`, `content-disposition`, `location`, `etag`, `last-modified`, `link`. A cookie
    /// that is kept is given to whoever repeats the request.
    pub fn headers<H: AsRef<str>>(self, names: impl IntoIterator<Item = H>) -> Self {
        let small = |name: H| name.as_ref().to_ascii_lowercase();
        self.set(|rule| rule.headers = names.into_iter().map(small).collect())
    }

    /// What becomes of a request that was begun and not brought to an end.
    pub fn unfinished(self, unfinished: Unfinished) -> Self {
        self.set(|rule| rule.unfinished = unfinished)
    }

    /// How refusals are answered.
    pub fn answers(self, answers: Answers) -> Self {
        self.set(|rule| rule.answers = answers)
    }

    /// Begins no request any more, and waits until none is under way: those whose clients have left too,
    /// for which a server that goes down does not wait. A request that would have to be begun is answered
    /// 503 `closed`; what is on record is replayed.
    ///
    /// Before [`Client::close`](tairlock::Client::close). In actix also before the server is stopped, since
    /// its workers end with their last connection; elsewhere best after the server has ended.
    ///
    /// # Cancel safety
    /// Dropped, it stays closed, and loses nothing.
    pub async fn close(&self) {
        self.running.send_modify(|running| running.closed = true);
        // The sender is ours, so the channel is not closed.
        _ = self.running.subscribe().wait_for(|running| running.requests == 0).await;
    }

    /// How refusals are answered.
    #[doc(hidden)]
    #[must_use]
    pub fn its_answers(&self) -> &Answers {
        &self.rule.answers
    }

    /// The longest body of a request.
    #[doc(hidden)]
    #[must_use]
    pub fn its_request_limit(&self) -> usize {
        self.rule.request_limit
    }

    /// The longest body of an answer.
    #[doc(hidden)]
    #[must_use]
    pub fn its_response_limit(&self) -> usize {
        self.rule.response_limit
    }

    /// Whether an answer with this status is kept.
    #[doc(hidden)]
    #[must_use]
    pub fn keeps(&self, status: u16) -> bool {
        (self.rule.keep)(status)
    }

    /// Whether this header of an answer is kept.
    #[doc(hidden)]
    #[must_use]
    pub fn keeps_header(&self, name: &str) -> bool {
        self.rule.headers.iter().any(|kept| kept == name)
    }

    fn set(mut self, change: impl FnOnce(&mut Rule)) -> Self {
        change(Arc::make_mut(&mut self.rule));
        self
    }
}

const HEADERS: [&str; 8] = [
    "content-type",
    "content-encoding",
    "content-language",
    "content-disposition",
    "location",
    "etag",
    "last-modified",
    "link",
];

const fn says_that_it_was_done(status: u16) -> bool {
    status < 500 && !matches!(status, 408 | 409 | 423 | 425 | 429)
}

impl fmt::Debug for Idempotency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency")
            .field("client", &self.client)
            .field("unfinished", &self.rule.unfinished)
            .finish_non_exhaustive()
    }
}
