//! The lock layer around services of every temper.

use std::{
    convert::Infallible,
    future::{Future, Ready, pending, poll_fn, ready},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, request::Parts};
use http_body_util::{BodyExt as _, Full};
use tairlock::Client;
use tairlock_tower::{AnswerBody, Asked, BadKey, LockKey, LockLayer, Refusal, Until};
use tokio::sync::Notify;
use tower::{
    BoxError, Layer as _, Service, ServiceExt as _, limit::ConcurrencyLimit, service_fn,
    timeout::Timeout,
};

type Body = Full<Bytes>;
type Answer = Response<AnswerBody<Body>>;

fn request(path: &str) -> Request<Body> {
    Request::post(path).body(Body::default()).unwrap()
}

fn by_path(client: &Client) -> LockLayer {
    LockLayer::new(client.clone(), |request: &Parts| {
        request.uri.path().strip_prefix("/locked/").map(str::to_owned)
    })
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("it takes for ever")
}

async fn is_free(client: &Client, key: &str) -> bool {
    match client.lock(key).try_acquire().await.unwrap() {
        None => false,
        Some(guard) => guard.release().await.unwrap().was_held(),
    }
}

/// Waits for a release in the background.
async fn free(client: &Client, key: &str) {
    let lock = client.lock(key).wait(Duration::from_secs(9));
    assert!(within(lock.acquire()).await.unwrap().release().await.unwrap().was_held());
}

/// A service that must be asked whether it is ready, each clone by itself.
#[derive(Default)]
struct Strict {
    is_ready: bool,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self { is_ready: false }
    }
}

impl Service<Request<Body>> for Strict {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "called without being ready");
        ready(Ok(Response::new(Body::default())))
    }
}

#[tokio::test]
async fn the_service_that_is_ready_is_the_one_that_is_called() {
    let client = Client::in_memory();
    let mut service = by_path(&client).layer(Strict::default());
    for path in ["/locked/a", "/locked/a", "/free"] {
        let answer = within(service.ready().await.unwrap().call(request(path))).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn what_the_service_reserved_stays_reserved_during_the_wait() {
    let client = Client::in_memory();
    let guard = client.lock("a").acquire().await.unwrap();
    let mut service = by_path(&client).layer(ConcurrencyLimit::new(Strict::default(), 1));
    let waiting = service.ready().await.unwrap().call(request("/locked/a"));
    let mut waiting = std::pin::pin!(waiting);
    assert!(futures_util::poll!(&mut waiting).is_pending());
    let mut other = service.clone();
    let asked = poll_fn(|cx| Poll::Ready(other.poll_ready(cx).is_ready())).await;
    assert!(!asked, "the only place is taken");
    assert!(guard.release().await.unwrap().was_held());
    assert_eq!(within(waiting).await.unwrap().status(), StatusCode::OK);
    within(other.ready()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_at_a_time_by_key_and_the_others_beside_it() {
    let client = Client::in_memory();
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gauge = Arc::clone(&most);
    let service = service_fn(move |_: Request<Body>| {
        let (inside, most) = (Arc::clone(&inside), Arc::clone(&gauge));
        async move {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, Infallible>(Response::new(Body::default()))
        }
    });
    let layer = by_path(&client).options(|lock| lock.wait(Duration::from_secs(20)));
    let service = layer.layer(service);
    let asked: Vec<_> =
        (0..64).map(|_| tokio::spawn(service.clone().oneshot(request("/locked/a")))).collect();
    for answer in asked {
        assert_eq!(within(answer).await.unwrap().unwrap().status(), StatusCode::OK);
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_timeout_above_ends_the_wait_and_the_work() {
    let client = Client::in_memory();
    let guard = client.lock("a").acquire().await.unwrap();
    let entered = Arc::new(Notify::new());
    let tell = Arc::clone(&entered);
    let stuck = service_fn(move |_: Request<Body>| {
        tell.notify_one();
        pending::<Result<Response<Body>, BoxError>>()
    });
    let layer = by_path(&client).options(|lock| lock.wait(Duration::from_secs(20)));
    let service = Timeout::new(layer.layer(stuck), Duration::from_millis(50));
    // While it waits for the lock.
    let late = within(service.clone().oneshot(request("/locked/a"))).await;
    assert!(late.unwrap_err().is::<tower::timeout::error::Elapsed>());
    assert!(guard.release().await.unwrap().was_held());
    free(&client, "a").await;
    // While it is at work.
    let late = tokio::spawn(service.oneshot(request("/locked/a")));
    within(entered.notified()).await;
    assert!(within(late).await.unwrap().is_err());
    free(&client, "a").await;
}

async fn answered(until: Until) -> (Client, Answer) {
    let client = Client::in_memory();
    let service =
        service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new("body".into())));
    let service = by_path(&client).until(until).layer(service);
    let answer = within(service.oneshot(request("/locked/a"))).await.unwrap();
    (client, answer)
}

#[tokio::test]
async fn the_lock_is_free_with_the_head_or_with_the_end_of_the_body() {
    let (client, answer) = answered(Until::Head).await;
    assert!(is_free(&client, "a").await, "before the head is passed on");
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "body");

    let (client, answer) = answered(Until::Body).await;
    assert!(!is_free(&client, "a").await);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "body");
    free(&client, "a").await;

    let (client, answer) = answered(Until::Body).await;
    drop(answer);
    free(&client, "a").await;
}

#[tokio::test]
async fn on_loss_the_work_is_dropped_and_it_is_said() {
    struct Told(Arc<AtomicUsize>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (client, dropped) = (Client::in_memory(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&dropped);
    let stuck = service_fn(move |_: Request<Body>| {
        let told = Told(Arc::clone(&count));
        async move {
            let _told = told;
            pending::<Result<Response<Body>, Infallible>>().await
        }
    });
    let layer = by_path(&client).options(|lock| lock.ttl(Duration::from_millis(50)).renew(false));
    let answer = within(layer.layer(stuck).oneshot(request("/locked/a"))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    let refusal = answer.extensions().get::<Refusal>();
    assert!(matches!(refusal, Some(Refusal::Lock(error)) if error.is_lost()), "{refusal:?}");
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_services_own_error_is_passed_on() {
    let client = Client::in_memory();
    let service = service_fn(async |_: Request<Body>| Err::<Response<Body>, _>("own"));
    let service = by_path(&client).layer(service);
    for path in ["/locked/a", "/free"] {
        assert_eq!(within(service.clone().oneshot(request(path))).await.unwrap_err(), "own");
    }
    free(&client, "a").await;
}

#[tokio::test]
async fn a_key_type_says_key_and_options() {
    struct Tenant(String);
    impl LockKey for Tenant {
        fn find(request: &dyn Asked) -> Result<Self, BadKey> {
            let name = request.header("x-tenant").ok_or(BadKey("whose is it?"))?;
            Ok(Self(format!("{name}{}", request.query().unwrap_or_default())))
        }
        fn key(&self) -> String {
            format!("tenant:{}", self.0)
        }
        fn options(lock: tairlock::Lock) -> tairlock::Lock {
            lock.wait(Duration::ZERO)
        }
    }
    let client = Client::in_memory();
    let service = LockLayer::of::<Tenant>(client.clone()).layer(Strict::default());
    let answer = within(service.clone().oneshot(request("/"))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    let _guard = client.lock("tenant:acme?").acquire().await.unwrap();
    let mut asked = request("/?%3F");
    asked.headers_mut().insert("x-tenant", "acme".parse().unwrap());
    assert_eq!(within(service.clone().oneshot(asked.clone())).await.unwrap().status(), 200);
    let _guard = client.lock("tenant:acme%3F").acquire().await.unwrap();
    assert_eq!(within(service.oneshot(asked)).await.unwrap().status(), StatusCode::LOCKED);
}
