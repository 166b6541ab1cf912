//! The shop's routes.

use actix_web::{
    HttpResponse, ResponseError, get,
    http::StatusCode,
    post, put,
    web::{Data, Json, Path, ServiceConfig, scope},
};
use serde::Deserialize;
use serde_json::json;
use tairlock::distributed_lock;
use tairlock_actix::{Idempotency, Idempotent, Refused};

use crate::shop::{Failure, Order, Shop};

pub(crate) fn routes(shop: Shop, idempotency: Idempotency) -> impl FnOnce(&mut ServiceConfig) {
    move |app| {
        app.app_data(Data::new(shop))
            .service(fill)
            .service(stock)
            .service(report)
            .service(metrics)
            .service(scope("/orders").wrap(Idempotent::new(idempotency)).service(checkout));
    }
}

/// One checkout of an order at a time, on all machines. A second one finds the order paid.
#[post("/{id}/checkout")]
#[distributed_lock(key = "order:{id}", using = shop.locks, ttl = 5, wait = 10)]
async fn checkout(
    shop: Data<Shop>,
    id: Path<u64>,
    order: Json<Order>,
) -> Result<HttpResponse, Failure> {
    let receipt = shop.check_out(*id, order.into_inner()).await?;
    Ok(HttpResponse::Created().json(receipt))
}

#[derive(Deserialize)]
struct Fill {
    left: u32,
}

#[put("/stock/{sku}")]
async fn fill(
    shop: Data<Shop>,
    sku: Path<String>,
    fill: Json<Fill>,
) -> Result<HttpResponse, Refused> {
    let left = shop.fill(&sku, fill.left).await?;
    Ok(HttpResponse::Ok().json(json!({ "left": left })))
}

#[get("/stock/{sku}")]
async fn stock(shop: Data<Shop>, sku: Path<String>) -> Result<HttpResponse, Refused> {
    Ok(HttpResponse::Ok().json(json!({ "left": shop.left(&sku).await? })))
}

#[get("/report")]
async fn report(shop: Data<Shop>) -> Result<HttpResponse, Refused> {
    Ok(HttpResponse::Ok().json(shop.last_report().await?))
}

#[get("/metrics")]
async fn metrics(shop: Data<Shop>) -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(shop.metrics())
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lock(error) => error.fmt(f),
            Self::Paid => f.write_str("paid already"),
            Self::SoldOut => f.write_str("sold out"),
        }
    }
}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Lock(error) => Refused::from(error.clone()).status_code(),
            Self::Paid | Self::SoldOut => StatusCode::CONFLICT,
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            Self::Lock(error) => Refused::from(error.clone()).error_response(),
            Self::Paid | Self::SoldOut => {
                HttpResponse::Conflict().json(json!({ "error": self.to_string() }))
            }
        }
    }
}
