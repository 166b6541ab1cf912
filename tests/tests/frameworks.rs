//! M31, M32: the attribute above and below those of web frameworks and caches, in every order.

use std::{
    fmt,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use cached::macros::cached;
use tairlock::{Client, distributed_lock, optimistic_retry};

fn client() -> &'static Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    CLIENT.get_or_init(Client::in_memory)
}

async fn is_locked(key: &str) -> bool {
    client().lock(key).try_acquire().await.expect("the embedded server answers").is_none()
}

/// An application's error, as both frameworks want it.
#[derive(Clone, Debug)]
struct AppError(tairlock::Error);

impl From<tairlock::Error> for AppError {
    fn from(error: tairlock::Error) -> Self {
        Self(error)
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl axum::response::IntoResponse for AppError {
    fn into_response(self) -> axum::response::Response {
        (axum::http::StatusCode::CONFLICT, self.to_string()).into_response()
    }
}

impl actix_web::ResponseError for AppError {
    fn status_code(&self) -> actix_web::http::StatusCode {
        actix_web::http::StatusCode::CONFLICT
    }
}

mod with_axum {
    use axum::{
        Router,
        body::Body,
        extract::{Path, State},
        http::{Method, Request, StatusCode},
        routing::get,
    };
    use tower::ServiceExt;

    use super::*;

    #[axum::debug_handler(state = Client)]
    #[distributed_lock(key = "x:above:{id}", wait = 0, using = locks)]
    async fn above(State(locks): State<Client>, Path(id): Path<u32>) -> Result<String, AppError> {
        Ok(format!("{}", locks.lock(format!("x:above:{id}")).try_acquire().await?.is_none()))
    }

    #[distributed_lock(key = "x:below:{id}", wait = 0, using = client())]
    #[axum::debug_handler(state = Client)]
    async fn below(State(_): State<Client>, Path(id): Path<u32>) -> Result<String, AppError> {
        Ok(format!("{}", is_locked(&format!("x:below:{id}")).await))
    }

    #[optimistic_retry(key = "x:again:{id}", default = 0, using = locks)]
    #[axum::debug_handler(state = Client)]
    async fn again(
        State(locks): State<Client>,
        Path(id): Path<u32>,
        #[value] sold: &mut u32,
        body: String,
    ) -> Result<String, AppError> {
        tokio::task::yield_now().await;
        *sold += id;
        Ok(format!("{sold}{body}"))
    }

    #[distributed_lock(key = "x:many:{a}", using = client())]
    #[allow(clippy::too_many_arguments)]
    async fn sixteen(
        a: Method,
        _b: Method,
        _c: Method,
        _d: Method,
        _e: Method,
        _f: Method,
        _g: Method,
        _h: Method,
        _i: Method,
        _j: Method,
        _k: Method,
        _l: Method,
        _m: Method,
        _n: Method,
        _o: Method,
        body: String,
    ) -> Result<String, AppError> {
        Ok(format!("{} {}", is_locked(&format!("x:many:{a}")).await, body.is_empty()))
    }

    #[tokio::test]
    async fn m32_a_router_of_handlers_under_the_lock() {
        let routes = Router::new()
            .route("/above/{id}", get(above))
            .route("/below/{id}", get(below))
            .route("/again/{id}", get(again))
            .route("/sixteen", get(sixteen))
            .with_state(client().clone());
        let ask = async |path: &str| {
            let request = Request::get(path).body(Body::empty()).expect("a request");
            let response = routes.clone().oneshot(request).await.expect("a response");
            let status = response.status();
            let bytes = axum::body::to_bytes(response.into_body(), 1024).await.expect("a body");
            (status, String::from_utf8(bytes.to_vec()).expect("text"))
        };
        assert_eq!(ask("/above/1").await, (StatusCode::OK, "true".to_owned()));
        assert_eq!(ask("/below/1").await, (StatusCode::OK, "true".to_owned()));
        assert_eq!(ask("/again/7").await, (StatusCode::OK, "7".to_owned()));
        assert_eq!(ask("/again/7").await, (StatusCode::OK, "14".to_owned()));
        assert_eq!(ask("/sixteen").await, (StatusCode::OK, "true true".to_owned()));
        let _guard = client().lock("x:above:7").acquire().await.expect("free");
        let (status, text) = ask("/above/7").await;
        assert!(status == StatusCode::CONFLICT && text.contains("x:above:7"), "{text}");
    }
}

mod with_actix {
    use actix_web::{App, HttpResponse, get, test, web};

    use super::*;

    #[get("/above/{id}")]
    #[distributed_lock(key = "y:above:{id}", wait = 0, using = client())]
    async fn above(id: web::Path<u32>) -> Result<HttpResponse, AppError> {
        let locked = is_locked(&format!("y:above:{id}")).await;
        Ok(HttpResponse::Ok().body(locked.to_string()))
    }

    #[distributed_lock(key = "y:below:{id}", wait = 0, using = client())]
    #[get("/below/{id}")]
    async fn below(id: web::Path<u32>) -> Result<HttpResponse, AppError> {
        let locked = is_locked(&format!("y:below:{id}")).await;
        Ok(HttpResponse::Ok().body(locked.to_string()))
    }

    #[get("/again/above/{id}")]
    #[optimistic_retry(key = "y:again:{id}", default = 0, using = client())]
    async fn again_above(id: web::Path<u32>, #[value] sold: &mut u32) -> Result<String, AppError> {
        *sold += 1;
        Ok(sold.to_string())
    }

    #[optimistic_retry(key = "y:again:{id}", default = 0, using = client())]
    #[get("/again/below/{id}")]
    async fn again_below(
        #[value] sold: &mut u32,
        id: web::Path<u32>,
        text: String,
    ) -> Result<HttpResponse, AppError> {
        *sold += 1;
        Ok(HttpResponse::Ok().body(sold.to_string() + &text))
    }

    #[actix_web::test]
    async fn m32_services_above_and_below_a_body_that_runs_again() {
        let app = test::init_service(App::new().service(again_above).service(again_below)).await;
        for (path, said) in [("above", "1"), ("below", "2"), ("above", "3")] {
            let request = test::TestRequest::get().uri(&format!("/again/{path}/5")).to_request();
            assert_eq!(test::call_and_read_body(&app, request).await, said, "{path}");
        }
    }

    #[actix_web::test]
    async fn m32_services_above_and_below_the_lock() {
        let app = test::init_service(App::new().service(above).service(below)).await;
        for path in ["/above/1", "/below/1"] {
            let request = test::TestRequest::get().uri(path).to_request();
            assert_eq!(test::call_and_read_body(&app, request).await, "true", "{path}");
        }
        for (path, key) in [("/above/2", "y:above:2"), ("/below/2", "y:below:2")] {
            let _guard = client().lock(key).acquire().await.expect("free");
            let request = test::TestRequest::get().uri(path).to_request();
            let response = test::call_service(&app, request).await;
            assert_eq!(response.status(), actix_web::http::StatusCode::CONFLICT, "{path}");
        }
    }
}

static RUNS: AtomicU32 = AtomicU32::new(0);

#[cached]
#[distributed_lock(key = "z:above:{id}", using = client())]
async fn cached_above(id: u32) -> Result<bool, AppError> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(is_locked(&format!("z:above:{id}")).await)
}

#[distributed_lock(key = "z:below:{id}", using = client())]
#[cached]
async fn cached_below(id: u32) -> Result<bool, AppError> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(is_locked(&format!("z:below:{id}")).await)
}

#[optimistic_retry(key = "z:again", default = 0, using = client())]
#[cached]
async fn cached_again(id: u32, #[value] n: &mut u32) -> Result<u32, AppError> {
    *n += id;
    Ok(*n)
}

#[tokio::test]
async fn m31_above_and_below_a_cache() {
    for _ in 0..2 {
        assert!(cached_above(1).await.expect("free"));
    }
    for _ in 0..2 {
        assert!(cached_below(1).await.expect("free"));
    }
    assert_eq!(RUNS.load(Ordering::Relaxed), 2);
    assert_eq!(cached_again(5).await.expect("nobody else"), 5);
    assert_eq!(cached_again(5).await.expect("nobody else"), 5, "the cache's");
}

/// Everything at once, in two orders.
#[async_trait]
trait Repository {
    async fn save(&self, id: u32) -> Result<bool, AppError>;
}

struct First;
struct Second;

#[async_trait]
impl Repository for First {
    #[tracing::instrument(skip(self))]
    #[distributed_lock(key = "z:first:{id}", using = client())]
    async fn save(&self, id: u32) -> Result<bool, AppError> {
        tokio::task::yield_now().await;
        Ok(is_locked(&format!("z:first:{id}")).await)
    }
}

#[async_trait]
impl Repository for Second {
    #[distributed_lock(key = "z:second:{id}", using = client())]
    #[tracing::instrument(skip(self))]
    async fn save(&self, id: u32) -> Result<bool, AppError> {
        tokio::task::yield_now().await;
        Ok(is_locked(&format!("z:second:{id}")).await)
    }
}

#[tracing::instrument]
#[tokio::test]
#[distributed_lock(key = "z:all", using = client())]
async fn m31_in_any_order_with_test_instrument_and_async_trait() -> Result<(), AppError> {
    assert!(is_locked("z:all").await);
    assert!(First.save(1).await? && Second.save(1).await?);
    Ok(())
}

#[distributed_lock(key = "z:all:outer", using = client())]
#[tokio::test]
#[tracing::instrument]
async fn m31_outermost_with_test_and_instrument() -> Result<(), AppError> {
    assert!(is_locked("z:all:outer").await);
    Ok(())
}
