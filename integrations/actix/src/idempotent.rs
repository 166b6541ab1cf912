//! [`Idempotent`]: requests with an `Idempotency-Key`, for actix applications.

use std::{
    fmt,
    future::{Future, Ready, poll_fn, ready},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use actix_web::{
    Error, HttpMessage as _, HttpResponse,
    body::{BodySize, BoxBody, MessageBody},
    dev::{Payload, Service, ServiceRequest, ServiceResponse, Transform},
    rt,
};
use bytes::{Bytes, BytesMut};
use tairlock_tower::{
    Idempotency, Refusal,
    idempotency::{Ended, Entry, Fingerprint, REPLAYED, Run, Stored},
};
use tracing::Instrument as _;

use crate::{Refused, refused::status, request::Seen};

/// Does requests with an `Idempotency-Key` once, and answers those that repeat them alike: a middleware,
/// for `wrap`. One [`Idempotency`] serves all workers. An example is at the [crate's](crate) top.
///
/// A request that has begun is a task of its own, so that it comes to its end also if its connection is
/// dropped.
#[derive(Clone)]
#[must_use]
pub struct Idempotent {
    idempotency: Idempotency,
    scope: Rc<Scope>,
}

type Scope = dyn Fn(&ServiceRequest) -> Option<String>;

impl Idempotent {
    /// Treats requests so.
    pub fn new(idempotency: Idempotency) -> Self {
        Self { idempotency, scope: Rc::new(|_| None) }
    }

    /// Whose key it is: an account, a tenant. Keys of two scopes have nothing to do with each other.
    ///
    /// By default there is one scope. **A service with several customers must set this**, from what it
    /// has authenticated: whoever sends another's key, path and body would be given that one's answer. It
    /// must be the same when a client repeats its request, which a token that is refreshed is not.
    pub fn scope(mut self, scope: impl Fn(&ServiceRequest) -> Option<String> + 'static) -> Self {
        self.scope = Rc::new(scope);
        self
    }
}

impl<S, B> Transform<S, ServiceRequest> for Idempotent
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Transform = IdempotentService<S>;
    type InitError = ();
    type Future = Ready<Result<IdempotentService<S>, ()>>;

    fn new_transform(&self, service: S) -> Self::Future {
        ready(Ok(IdempotentService { inner: Rc::new(service), layer: self.clone() }))
    }
}

/// A service under [`Idempotent`].
#[derive(Debug)]
pub struct IdempotentService<S> {
    inner: Rc<S>,
    layer: Idempotent,
}

type Answer = Result<ServiceResponse<BoxBody>, Error>;

impl<S, B> Service<ServiceRequest> for IdempotentService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Answer>>>;

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let (inner, layer) = (Rc::clone(&self.inner), self.layer.clone());
        Box::pin(async move { serve(inner, layer, request).await })
    }
}

async fn serve<S, B>(inner: Rc<S>, layer: Idempotent, mut request: ServiceRequest) -> Answer
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    let Idempotent { idempotency, scope } = layer;
    let answers = idempotency.its_answers().clone();
    let refused = |refusal| Error::from(Refused::new(refusal, answers));
    let key = match idempotency.key_of(&Seen(request.request()), scope(&request)) {
        Ok(Some(key)) => key,
        Ok(None) => return Ok(inner.call(request).await?.map_into_boxed_body()),
        Err(refusal) => return Err(refused(refusal)),
    };
    let body = match whole(request.take_payload(), idempotency.its_request_limit()).await {
        Ok(body) => body,
        Err(refusal) => return Err(refused(refusal)),
    };
    let (method, uri) = (request.method().as_str(), request.uri());
    let print = Fingerprint::of(method, uri.path(), uri.query(), &body);
    match Box::pin(idempotency.enter(key, print)).await {
        Err(refusal) => Err(refused(refusal)),
        Ok(Entry::Replay(stored)) => Ok(request.into_response(replay(stored))),
        Ok(Entry::Run(run)) => {
            request.set_payload(Payload::from(body));
            match rt::spawn(work(inner, idempotency, run, request).in_current_span()).await {
                Ok(Done::Answer(response)) => Ok(*response),
                Ok(Done::Own(error)) => Err(error),
                Ok(Done::Refused(refusal)) => Err(refused(refusal)),
                Err(ended) => match ended.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The worker goes down.
                    Err(_) => Err(refused(Refusal::Lock(tairlock::Error::Closed))),
                },
            }
        }
        Ok(_) => Err(refused(Refusal::Lock(tairlock::Error::Closed))),
    }
}

impl fmt::Debug for Idempotent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Idempotent").field(&self.idempotency).finish()
    }
}

/// How a request was done.
enum Done {
    Answer(Box<ServiceResponse<BoxBody>>),
    Own(Error),
    Refused(Refusal),
}

async fn work<S, B>(
    inner: Rc<S>,
    idempotency: Idempotency,
    mut run: Box<Run>,
    request: ServiceRequest,
) -> Done
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody + 'static,
{
    if let Err(refusal) = run.begin().await {
        return Done::Refused(refusal);
    }
    let work = async {
        let (request, response) = inner.call(request).await?.into_parts();
        let (response, body) = response.into_parts();
        let body = if idempotency.keeps(response.status().as_u16()) {
            read(body, idempotency.its_response_limit()).await
        } else {
            Read::NotAsked(body.boxed())
        };
        Ok((request, response, body))
    };
    let (request, response, body) = match run.cover(work).await {
        Err(refusal) => return Done::Refused(refusal),
        Ok(Ok(answer)) => answer,
        Ok(Err(own)) => return failed(&idempotency, run, own).await,
    };
    let (ended, body) = match body {
        Read::NotAsked(body) => (Ended::Undone, Some(body)),
        Read::TooLong(body) => (Ended::NotKept, Some(body)),
        Read::Broken => (Ended::NotKept, None),
        Read::Whole(body) => {
            (Ended::Kept(stored(&idempotency, &response, &body)), Some(BoxBody::new(body)))
        }
    };
    match (run.end(ended).await, body) {
        (Ok(()), Some(body)) => {
            Done::Answer(Box::new(ServiceResponse::new(request, response.set_body(body))))
        }
        (Ok(()), None) => Done::Refused(Refusal::AnswerBroken),
        (Err(refusal), _) => Done::Refused(refusal),
    }
}

/// A handler's error is a response too, which actix makes of it further up.
async fn failed(idempotency: &Idempotency, run: Box<Run>, own: Error) -> Done {
    let response = own.error_response();
    let ended = if idempotency.keeps(response.status().as_u16()) {
        let (response, body) = response.into_parts();
        match read(body, idempotency.its_response_limit()).await {
            Read::Whole(body) => Ended::Kept(stored(idempotency, &response, &body)),
            _ => Ended::NotKept,
        }
    } else {
        Ended::Undone
    };
    match run.end(ended).await {
        Ok(()) => Done::Own(own),
        Err(refusal) => Done::Refused(refusal),
    }
}

fn stored(idempotency: &Idempotency, response: &HttpResponse<()>, body: &Bytes) -> Stored {
    let mut stored = Stored::new(response.status().as_u16(), body.clone());
    for (name, value) in response.headers() {
        if idempotency.keeps_header(name.as_str()) {
            stored.push(name.as_str(), value.as_bytes());
        }
    }
    stored
}

fn replay(stored: Stored) -> HttpResponse {
    let mut response = HttpResponse::build(status(stored.status));
    for (name, value) in stored.headers() {
        response.append_header((name, value.as_slice()));
    }
    response.insert_header((REPLAYED, "true"));
    response.body(stored.body)
}

/// A request's body.
async fn whole(payload: Payload, limit: usize) -> Result<Bytes, Refusal> {
    let mut payload = payload;
    let mut bytes = BytesMut::new();
    loop {
        let next = poll_fn(|cx| futures_core::Stream::poll_next(Pin::new(&mut payload), cx)).await;
        match next {
            None => return Ok(bytes.freeze()),
            Some(Err(_)) => return Err(Refusal::BodyBroken),
            Some(Ok(chunk)) if bytes.len() + chunk.len() > limit => {
                return Err(Refusal::BodyTooLong { limit });
            }
            Some(Ok(chunk)) => bytes.extend_from_slice(&chunk),
        }
    }
}

/// A response's body.
enum Read {
    NotAsked(BoxBody),
    Whole(Bytes),
    TooLong(BoxBody),
    Broken,
}

async fn read<B: MessageBody + 'static>(body: B, limit: usize) -> Read {
    if matches!(body.size(), BodySize::Sized(size) if size > limit as u64) {
        return Read::TooLong(body.boxed());
    }
    let mut body = Box::pin(body);
    let mut bytes = BytesMut::new();
    loop {
        match poll_fn(|cx| body.as_mut().poll_next(cx)).await {
            None => return Read::Whole(bytes.freeze()),
            Some(Err(_)) => return Read::Broken,
            Some(Ok(chunk)) => bytes.extend_from_slice(&chunk),
        }
        if bytes.len() > limit {
            let first = Some(bytes.freeze());
            return Read::TooLong(BoxBody::new(Resumed { first, rest: body }));
        }
    }
}

/// A body of which the beginning was read already.
struct Resumed<B> {
    first: Option<Bytes>,
    rest: Pin<Box<B>>,
}

impl<B: MessageBody> MessageBody for Resumed<B> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        // Of one that has said its length, too long is known before.
        BodySize::Stream
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, B::Error>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => self.rest.as_mut().poll_next(cx),
        }
    }
}
