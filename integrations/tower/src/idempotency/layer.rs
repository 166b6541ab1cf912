//! [`IdempotencyLayer`]: requests with an `Idempotency-Key`, for tower services.

use std::{
    fmt, mem,
    panic::resume_unwind,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tower_layer::Layer;
use tower_service::Service;
use tracing::Instrument as _;

use super::{Ended, Entry, Fingerprint, Idempotency, REPLAYED, Run, Stored};
use crate::{AnswerBody, Refusal, Refused};

/// Does requests with an `Idempotency-Key` once, and answers those that repeat them alike.
///
/// Needs a tokio runtime: a request that has begun is a task of its own, so that it comes to its end
/// also if its client leaves. It is in the same tracing span, and sees no task-local value.
///
/// ```
/// use std::{convert::Infallible, sync::atomic::{AtomicU32, Ordering}};
///
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use tairlock_tower::{Idempotency, IdempotencyLayer};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// static PAID: AtomicU32 = AtomicU32::new(0);
///
/// # #[tokio::main] async fn main() {
/// let idempotency = Idempotency::new(tairlock::Client::in_memory());
/// let service = ServiceBuilder::new()
///     .layer(IdempotencyLayer::new(idempotency))
///     .service(service_fn(async |_: Request<Full<Bytes>>| {
///         let nth = PAID.fetch_add(1, Ordering::Relaxed);
///         Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(format!("receipt {nth}")))))
///     }));
///
/// let pay = || Request::post("/pay").header("idempotency-key", "\"7f3a\"").body(Full::default());
/// let first = service.clone().oneshot(pay().unwrap()).await.unwrap();
/// let again = service.oneshot(pay().unwrap()).await.unwrap();
/// assert!(!first.headers().contains_key("idempotency-replayed"));
/// assert_eq!(again.headers()["idempotency-replayed"], "true");
/// assert_eq!(PAID.load(Ordering::Relaxed), 1);
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct IdempotencyLayer {
    idempotency: Idempotency,
    scope: Arc<Scope>,
    uri: fn(&Parts) -> &Uri,
}

type Scope = dyn Fn(&Parts) -> Option<String> + Send + Sync;

impl IdempotencyLayer {
    /// Treats requests so.
    pub fn new(idempotency: Idempotency) -> Self {
        Self { idempotency, scope: Arc::new(|_| None), uri: |parts| &parts.uri }
    }

    /// Whose key it is: an account, a tenant. Keys of two scopes have nothing to do with each other.
    ///
    /// By default there is one scope. **A service with several customers must set this**, from what it
    /// has authenticated: whoever sends another's key, path and body would be given that one's answer. It
    /// must be the same when a client repeats its request, which a token that is refreshed is not.
    pub fn scope(
        mut self,
        scope: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.scope = Arc::new(scope);
        self
    }

    /// Where the address is as it was sent, for routers that change it on the way.
    #[doc(hidden)]
    pub fn uri(mut self, uri: fn(&Parts) -> &Uri) -> Self {
        self.uri = uri;
        self
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = IdempotencyService<S>;

    fn layer(&self, inner: S) -> IdempotencyService<S> {
        IdempotencyService { inner, layer: self.clone() }
    }
}

/// A service under an [`IdempotencyLayer`].
#[derive(Clone, Debug)]
pub struct IdempotencyService<S> {
    inner: S,
    layer: IdempotencyLayer,
}

impl<S, A, B> Service<Request<A>> for IdempotencyService<S>
where
    S: Service<Request<A>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    A: Body + From<Bytes> + Send + 'static,
    A::Data: Send,
    A::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Send,
{
    type Response = Response<AnswerBody<B>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        // The one that said it is ready; its clone has yet to be asked.
        let fresh = self.inner.clone();
        let mut ready = mem::replace(&mut self.inner, fresh);
        let IdempotencyLayer { idempotency, scope, uri } = self.layer.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let refused = |refusal| {
                let refused = Refused::new(refusal, idempotency.its_answers().clone());
                Ok(refused.response().map(AnswerBody::whole))
            };
            let key = match idempotency.key_of(&parts, scope(&parts)) {
                Ok(Some(key)) => key,
                Ok(None) => {
                    let response = ready.call(Request::from_parts(parts, body)).await?;
                    return Ok(response.map(AnswerBody::of));
                }
                Err(refusal) => return refused(refusal),
            };
            let body = match whole(body, idempotency.its_request_limit()).await {
                Ok(body) => body,
                Err(refusal) => return refused(refusal),
            };
            let (method, uri) = (parts.method.as_str(), uri(&parts));
            let print = Fingerprint::of(method, uri.path(), uri.query(), &body);
            match Box::pin(idempotency.enter(key, print)).await {
                Err(refusal) => refused(refusal),
                Ok(Entry::Replay(stored)) => Ok(replay(stored)),
                Ok(Entry::Run(run)) => {
                    let request = Request::from_parts(parts, A::from(body));
                    let work = work(idempotency.clone(), run, ready, request);
                    match tokio::spawn(work.in_current_span()).await {
                        Ok(Done::Answer(response)) => Ok(response),
                        Ok(Done::Own(error)) => Err(error),
                        Ok(Done::Refused(refusal)) => refused(refusal),
                        Err(ended) => match ended.try_into_panic() {
                            Ok(panic) => resume_unwind(panic),
                            // The runtime goes down.
                            Err(_) => refused(Refusal::Lock(tairlock::Error::Closed)),
                        },
                    }
                }
            }
        })
    }
}

impl fmt::Debug for IdempotencyLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IdempotencyLayer").field(&self.idempotency).finish()
    }
}

/// How a request was done.
enum Done<B, E> {
    Answer(Response<AnswerBody<B>>),
    Own(E),
    Refused(Refusal),
}

impl<B, E> From<Refusal> for Done<B, E> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

async fn work<S, A, B>(
    idempotency: Idempotency,
    mut run: Box<Run>,
    mut ready: S,
    request: Request<A>,
) -> Done<B, S::Error>
where
    S: Service<Request<A>, Response = Response<B>>,
    B: Body<Data = Bytes>,
{
    if let Err(refusal) = run.begin().await {
        return refusal.into();
    }
    let work = async {
        let (parts, body) = ready.call(request).await?.into_parts();
        let body = if idempotency.keeps(parts.status.as_u16()) {
            read(body, idempotency.its_response_limit()).await
        } else {
            Read::NotAsked(body)
        };
        Ok((parts, body))
    };
    let (parts, body) = match run.cover(work).await {
        Err(refusal) => return refusal.into(),
        Ok(Ok(answer)) => answer,
        Ok(Err(own)) => {
            _ = run.end(Ended::Undone).await;
            return Done::Own(own);
        }
    };
    let (ended, body) = match body {
        Read::NotAsked(body) => (Ended::Undone, Some(AnswerBody::of(body))),
        Read::TooLong(body) => (Ended::NotKept, Some(body)),
        Read::Broken => (Ended::NotKept, None),
        Read::Whole(body) => {
            let mut stored = Stored::new(parts.status.as_u16(), body.clone());
            for (name, value) in &parts.headers {
                if idempotency.keeps_header(name.as_str()) {
                    stored.push(name.as_str(), value.as_bytes());
                }
            }
            (Ended::Kept(stored), Some(AnswerBody::whole(body)))
        }
    };
    match (run.end(ended).await, body) {
        (Ok(()), Some(body)) => Done::Answer(Response::from_parts(parts, body)),
        (Ok(()), None) => Refusal::AnswerBroken.into(),
        (Err(refusal), _) => refusal.into(),
    }
}

fn replay<B>(stored: Stored) -> Response<AnswerBody<B>> {
    let mut response = Response::new(AnswerBody::whole(stored.body.clone()));
    *response.status_mut() = StatusCode::from_u16(stored.status).unwrap_or_default();
    for (name, value) in stored.headers() {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_bytes(&value))
        {
            response.headers_mut().append(name, value);
        }
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

/// A request's body.
async fn whole<A>(body: A, limit: usize) -> Result<Bytes, Refusal>
where
    A: Body,
    A::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Box::pin(Limited::new(body, limit).collect()).await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::BodyTooLong { limit }),
        Err(_) => Err(Refusal::BodyBroken),
    }
}

/// A response's body.
enum Read<B> {
    NotAsked(B),
    Whole(Bytes),
    TooLong(AnswerBody<B>),
    Broken,
}

async fn read<B: Body<Data = Bytes>>(body: B, limit: usize) -> Read<B> {
    if body.size_hint().lower() > limit as u64 {
        return Read::TooLong(AnswerBody::of(body));
    }
    let mut body = Box::pin(body);
    let mut bytes = BytesMut::new();
    loop {
        match body.frame().await {
            None => return Read::Whole(bytes.freeze()),
            Some(Err(_)) => return Read::Broken,
            Some(Ok(frame)) => bytes.extend_from_slice(&frame.into_data().unwrap_or_default()),
        }
        if bytes.len() > limit {
            return Read::TooLong(AnswerBody::resumed(bytes.freeze(), body));
        }
    }
}
