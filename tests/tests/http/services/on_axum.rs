//! The service on axum.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::Body,
    extract::{FromRef, Path, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tairlock::{Client, distributed_lock};
use tairlock_axum::{IdempotencyLayer, LockLayer, Locked, Refused};
use tokio::net::TcpListener;

use super::{Service, thing};
use crate::{
    refusals,
    stage::{Hasty, Item, Stage},
};

#[derive(Clone)]
struct Shared(Arc<Stage>);

impl FromRef<Shared> for Client {
    fn from_ref(shared: &Shared) -> Self {
        shared.0.locks.clone()
    }
}

pub(super) async fn serve(stage: Arc<Stage>) -> Service {
    let account = |parts: &Parts| {
        let account = parts.headers.get("x-account")?.to_str().ok()?;
        Some(account.to_owned())
    };
    let once = IdempotencyLayer::new(stage.idempotency.clone()).scope(account);
    let by_id = LockLayer::new(stage.locks.clone(), |request: &Parts| {
        let id = request.uri.path().strip_prefix("/layered/")?;
        Some(format!("item:{id}"))
    });
    let by_id = by_id.options(|lock| lock.wait(Duration::from_secs(50)));
    let app = Router::new()
        .route("/attribute/{id}", post(attribute))
        .route("/extractor/{id}", post(extractor))
        .route("/hasty/{id}", post(hasty))
        .route("/hasty-attribute/{id}", post(hasty_attribute))
        .route("/panic/{id}", post(panic_under_attribute))
        .route("/panic-extractor/{id}", post(panic_under_extractor))
        .route("/run/{id}", post(run))
        .route("/layered/{id}", post(layered).layer(by_id))
        .route("/line/{id}", post(line))
        .route("/refuse/{name}", get(refuse))
        .route("/once", post(thing_once).layer(once.clone()))
        .route("/other", post(thing_once).layer(once.clone()))
        .nest("/nested", Router::new().route("/once", post(thing_once)).layer(once))
        .layer(Extension(stage.answers.clone()))
        .with_state(Shared(stage));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let addr = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move { axum::serve(listener, app).await });
    Service { addr, stop: Some(Box::new(move || task.abort())) }
}

#[distributed_lock(key = "item:{id}", using = shared.0.locks, wait = 50)]
async fn attribute(State(shared): State<Shared>, Path(id): Path<u64>) -> Result<String, Refused> {
    shared.0.visit().await;
    Ok(format!("item {id}"))
}

async fn extractor(State(shared): State<Shared>, item: Locked<Item>) -> String {
    shared.0.visit().await;
    format!("item {}", item.0)
}

async fn hasty(State(shared): State<Shared>, item: Locked<Hasty>) -> String {
    shared.0.visit().await;
    format!("item {}", item.0.0)
}

#[distributed_lock(key = "item:{id}", using = shared.0.locks, wait = "20ms")]
async fn hasty_attribute(
    State(shared): State<Shared>,
    Path(id): Path<u64>,
) -> Result<String, Refused> {
    shared.0.visit().await;
    Ok(format!("item {id}"))
}

#[distributed_lock(key = "item:{id}", using = shared.0.locks)]
async fn panic_under_attribute(
    State(shared): State<Shared>,
    Path(id): Path<u64>,
) -> Result<String, Refused> {
    shared.0.visit().await;
    panic!("item {id}, as the test wants it");
}

async fn panic_under_extractor(State(shared): State<Shared>, item: Locked<Item>) -> String {
    shared.0.visit().await;
    panic!("item {}, as the test wants it", item.0);
}

async fn run(State(shared): State<Shared>, item: Locked<Item>) -> Result<String, Refused> {
    let id = item.0;
    let visit = async {
        shared.0.visit().await;
        Ok(format!("item {id}"))
    };
    item.into_held().run(visit).await
}

async fn layered(State(shared): State<Shared>, Path(id): Path<u64>) -> String {
    shared.0.visit().await;
    format!("item {id}")
}

/// As `attribute`, seen from before it has the lock.
async fn line(state: State<Shared>, id: Path<u64>) -> Result<String, Refused> {
    let shared = state.0.clone();
    let _here = shared.0.come_in();
    attribute(state, id).await
}

async fn refuse(State(shared): State<Shared>, Path(name): Path<String>) -> Refused {
    Refused::new(refusals::named(&name), shared.0.answers.clone())
}

async fn thing_once(State(shared): State<Shared>, asked: String) -> Response {
    let nth = shared.0.visit().await;
    let headers = [("location", format!("/things/{nth}")), ("x-secret", "7".to_owned())];
    match asked.as_str() {
        "fail" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "panic" => panic!("as the test wants it"),
        "long" => Body::from_stream(Pieces(thing::pieces().into_iter())).into_response(),
        _ => (StatusCode::CREATED, headers, format!("thing {nth}: {asked}")).into_response(),
    }
}

struct Pieces(std::array::IntoIter<&'static str, { thing::LONG / 10 }>);

impl futures_core::Stream for Pieces {
    type Item = Result<&'static str, std::convert::Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.next().map(Ok))
    }
}
