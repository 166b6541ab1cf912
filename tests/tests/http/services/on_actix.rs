//! The service on actix.

use std::{
    sync::{Arc, mpsc::channel},
    thread,
};

use actix_web::{
    App, HttpResponse, HttpServer,
    dev::ServiceRequest,
    get, post,
    rt::System,
    web::{Data, Path, post as posted, resource, scope},
};
use tairlock::distributed_lock;
use tairlock_actix::{Idempotent, Locked, Refused};

use super::{Service, thing};
use crate::{
    refusals,
    stage::{Hasty, Item, Stage},
};

type Shared = Data<Arc<Stage>>;

pub(super) fn serve(stage: Arc<Stage>) -> Service {
    let (send, receive) = channel();
    thread::spawn(move || {
        let app = move || {
            let account = |request: &ServiceRequest| {
                let account = request.headers().get("x-account")?.to_str().ok()?;
                Some(account.to_owned())
            };
            let once = Idempotent::new(stage.idempotency.clone()).scope(account);
            App::new()
                .app_data(Data::new(Arc::clone(&stage)))
                .app_data(Data::new(stage.locks.clone()))
                .app_data(stage.answers.clone())
                .service(attribute)
                .service(extractor)
                .service(hasty)
                .service(hasty_attribute)
                .service(panic_under_attribute)
                .service(panic_under_extractor)
                .service(run)
                .service(refuse)
                .service(resource("/once").wrap(once.clone()).route(posted().to(thing_once)))
                .service(resource("/other").wrap(once.clone()).route(posted().to(thing_once)))
                .service(scope("/nested").wrap(once).route("/once", posted().to(thing_once)))
        };
        System::new().block_on(async move {
            let server = HttpServer::new(app).workers(2).disable_signals();
            let server = server.bind("127.0.0.1:0").expect("a free port");
            let addr = server.addrs()[0];
            let running = server.run();
            send.send((addr, running.handle())).expect("somebody waits for it");
            running.await.expect("it runs");
        });
    });
    let (addr, handle) = receive.recv().expect("it starts");
    // The order is given at once; what is awaited is the end.
    Service { addr, stop: Some(Box::new(move || drop(handle.stop(false)))) }
}

#[post("/attribute/{id}")]
#[distributed_lock(key = "item:{id}", using = stage.locks, wait = 50)]
async fn attribute(stage: Shared, id: Path<u64>) -> Result<String, Refused> {
    stage.visit().await;
    Ok(format!("item {id}"))
}

#[post("/extractor/{id}")]
async fn extractor(stage: Shared, item: Locked<Item>) -> String {
    stage.visit().await;
    format!("item {}", item.0)
}

#[post("/hasty/{id}")]
async fn hasty(stage: Shared, item: Locked<Hasty>) -> String {
    stage.visit().await;
    format!("item {}", item.0.0)
}

#[post("/hasty-attribute/{id}")]
#[distributed_lock(key = "item:{id}", using = stage.locks, wait = "20ms")]
async fn hasty_attribute(stage: Shared, id: Path<u64>) -> Result<String, Refused> {
    stage.visit().await;
    Ok(format!("item {id}"))
}

#[post("/panic/{id}")]
#[distributed_lock(key = "item:{id}", using = stage.locks)]
async fn panic_under_attribute(stage: Shared, id: Path<u64>) -> Result<String, Refused> {
    stage.visit().await;
    panic!("item {id}, as the test wants it");
}

#[post("/panic-extractor/{id}")]
async fn panic_under_extractor(stage: Shared, item: Locked<Item>) -> String {
    stage.visit().await;
    panic!("item {}, as the test wants it", item.0);
}

#[post("/run/{id}")]
async fn run(stage: Shared, item: Locked<Item>) -> Result<String, Refused> {
    let id = item.0;
    let visit = async {
        stage.visit().await;
        Ok(format!("item {id}"))
    };
    item.into_held().run(visit).await
}

#[get("/refuse/{name}")]
async fn refuse(stage: Shared, name: Path<String>) -> Result<String, Refused> {
    Err(Refused::new(refusals::named(&name), stage.answers.clone()))
}

async fn thing_once(stage: Shared, asked: String) -> HttpResponse {
    let nth = stage.visit().await;
    match asked.as_str() {
        "fail" => HttpResponse::InternalServerError().finish(),
        "panic" => panic!("as the test wants it"),
        "long" => {
            let pieces = thing::pieces().map(|piece| Ok::<_, actix_web::Error>(piece.into()));
            HttpResponse::Ok().streaming(Pieces(pieces.into_iter()))
        }
        _ => HttpResponse::Created()
            .insert_header(("location", format!("/things/{nth}")))
            .insert_header(("x-secret", "7"))
            .body(format!("thing {nth}: {asked}")),
    }
}

type Piece = Result<bytes::Bytes, actix_web::Error>;

struct Pieces(std::array::IntoIter<Piece, { thing::LONG / 10 }>);

impl futures_core::Stream for Pieces {
    type Item = Piece;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Piece>> {
        std::task::Poll::Ready(self.0.next())
    }
}
