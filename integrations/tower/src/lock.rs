//! [`LockLayer`]: one request at a time, by a key that is found in the request.

use std::{
    fmt, mem,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response, request::Parts};
use http_body::Body;
use tairlock::{Client, Lock};
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    AnswerBody, Answers, LockKey, Refusal, Refused,
    held::{settle, under},
    key::lock,
};

/// When the lock of a request is given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Until {
    /// When the service has answered: before the response's head is passed on, the lock is free. A lease
    /// that was lost meanwhile makes the response a refusal.
    #[default]
    Head,
    /// When the response's body has ended, or is dropped. What is sent is not called back if the lease
    /// is lost.
    Body,
}

/// Takes a lock for every request before it is passed on.
///
/// The wait for the lock is part of the response's future: dropped by a timeout above or because the
/// client left, it leaves nothing behind. So is the service's own work. The service is asked with the
/// readiness that it announced; what it reserved for the request stays reserved during the wait.
///
/// Needs a tokio runtime. An example is at the [crate's](crate) top.
#[derive(Clone)]
#[must_use]
pub struct LockLayer(Rule);

#[derive(Clone)]
struct Rule {
    find: Arc<Find>,
    options: Arc<dyn Fn(Lock) -> Lock + Send + Sync>,
    answers: Answers,
    until: Until,
}

type Find = dyn Fn(&Parts) -> Result<Option<Lock>, Refusal> + Send + Sync;

impl LockLayer {
    /// Locks the key that `find` makes of a request; `None` lets the request through without a lock.
    pub fn new<K: AsRef<[u8]>>(
        client: Client,
        find: impl Fn(&Parts) -> Option<K> + Send + Sync + 'static,
    ) -> Self {
        Self::by(move |parts| Ok(find(parts).map(|key| client.lock(key))))
    }

    /// Locks the [`LockKey`] of a request. There are no route parameters here: frameworks have
    /// extractors for those.
    pub fn of<K: LockKey>(client: Client) -> Self {
        Self::by(move |parts| Ok(Some(lock(&client, &K::find(parts)?))))
    }

    /// The lock's options: `.options(|lock| lock.ttl(…).wait(…))`.
    pub fn options(mut self, options: impl Fn(Lock) -> Lock + Send + Sync + 'static) -> Self {
        self.0.options = Arc::new(options);
        self
    }

    /// How refusals are answered.
    pub fn answers(mut self, answers: Answers) -> Self {
        self.0.answers = answers;
        self
    }

    /// When the lock is given back; [`Until::Head`] by default.
    pub const fn until(mut self, until: Until) -> Self {
        self.0.until = until;
        self
    }

    fn by(find: impl Fn(&Parts) -> Result<Option<Lock>, Refusal> + Send + Sync + 'static) -> Self {
        let (find, options) = (Arc::new(find), Arc::new(|lock| lock));
        Self(Rule { find, options, answers: Answers::default(), until: Until::default() })
    }
}

impl<S> Layer<S> for LockLayer {
    type Service = LockService<S>;

    fn layer(&self, inner: S) -> LockService<S> {
        LockService { inner, rule: self.0.clone() }
    }
}

/// A service under a [`LockLayer`].
#[derive(Clone)]
pub struct LockService<S> {
    inner: S,
    rule: Rule,
}

impl<S, A, B> Service<Request<A>> for LockService<S>
where
    S: Service<Request<A>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    A: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
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
        let ready = mem::replace(&mut self.inner, fresh);
        let rule = self.rule.clone();
        Box::pin(async move {
            let answers = rule.answers.clone();
            match rule.serve(ready, request).await {
                Ok(response) => Ok(response),
                Err(Failed::Own(error)) => Err(error),
                Err(Failed::Refused(refusal)) => {
                    Ok(Refused::new(refusal, answers).response().map(AnswerBody::whole))
                }
            }
        })
    }
}

/// The service's own error, which is passed on, or a refusal, which is answered.
enum Failed<E> {
    Own(E),
    Refused(Refusal),
}

impl<E, R: Into<Refusal>> From<R> for Failed<E> {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

impl Rule {
    async fn serve<S, A, B>(
        self,
        mut ready: S,
        request: Request<A>,
    ) -> Result<Response<AnswerBody<B>>, Failed<S::Error>>
    where
        S: Service<Request<A>, Response = Response<B>>,
    {
        let (parts, body) = request.into_parts();
        let lock = (self.find)(&parts)?.map(|lock| (self.options)(lock));
        let request = Request::from_parts(parts, body);
        let Some(lock) = lock else {
            let response = ready.call(request).await.map_err(Failed::Own)?;
            return Ok(response.map(AnswerBody::of));
        };
        let guard = Box::pin(lock.acquire()).await?;
        let response = under(&guard, ready.call(request)).await?.map_err(Failed::Own)?;
        let response = response.map(AnswerBody::of);
        match self.until {
            Until::Body => Ok(response.map(|body| body.holding(guard))),
            Until::Head => {
                settle(guard).await?;
                Ok(response)
            }
        }
    }
}

impl fmt::Debug for LockLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockLayer").field("until", &self.0.until).finish_non_exhaustive()
    }
}

impl<S: fmt::Debug> fmt::Debug for LockService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockService").field("inner", &self.inner).finish_non_exhaustive()
    }
}
