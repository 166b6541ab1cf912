//! The shop's routes.

use axum::{
    Json, Router,
    extract::{FromRef, Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::json;
use tairlock::{Client, distributed_lock};
use tairlock_axum::{Idempotency, IdempotencyLayer, Refused};

use crate::shop::{Failure, Order, Receipt, Report, Shop};

impl FromRef<Shop> for Client {
    fn from_ref(shop: &Shop) -> Self {
        shop.locks.clone()
    }
}

pub(crate) fn routes(shop: Shop, idempotency: Idempotency) -> Router {
    let once = IdempotencyLayer::new(idempotency);
    Router::new()
        .route("/stock/{sku}", get(left).put(fill))
        .route("/orders/{id}/checkout", post(checkout).layer(once))
        .route("/report", get(report))
        .route("/metrics", get(metrics))
        .with_state(shop)
}

/// One checkout of an order at a time, on all machines. A second one finds the order paid.
#[distributed_lock(key = "order:{id}", using = shop.locks, ttl = 5, wait = 10)]
async fn checkout(
    State(shop): State<Shop>,
    Path(id): Path<u64>,
    Json(order): Json<Order>,
) -> Result<(StatusCode, Json<Receipt>), Failure> {
    let receipt = shop.check_out(id, order).await?;
    Ok((StatusCode::CREATED, Json(receipt)))
}

#[derive(Deserialize)]
struct Fill {
    left: u32,
}

async fn fill(
    State(shop): State<Shop>,
    Path(sku): Path<String>,
    Json(fill): Json<Fill>,
) -> Result<Response, Refused> {
    let left = shop.fill(&sku, fill.left).await?;
    Ok(Json(json!({ "left": left })).into_response())
}

async fn left(State(shop): State<Shop>, Path(sku): Path<String>) -> Result<Response, Refused> {
    Ok(Json(json!({ "left": shop.left(&sku).await? })).into_response())
}

async fn report(State(shop): State<Shop>) -> Result<Json<Report>, Refused> {
    Ok(Json(shop.last_report().await?))
}

async fn metrics(State(shop): State<Shop>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shop.metrics()).into_response()
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let error = match self {
            Self::Lock(error) => return Refused::from(error).into_response(),
            Self::Paid => "paid already",
            Self::SoldOut => "sold out",
        };
        (StatusCode::CONFLICT, Json(json!({ "error": error }))).into_response()
    }
}
