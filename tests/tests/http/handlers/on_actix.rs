//! The annotated handlers of actix on the page `docs/handlers.md`, word by word.

use std::{rc::Rc, sync::mpsc::channel};

use actix_web::{
    App, HttpRequest, HttpServer, post,
    web::{Data, Json, Path, Query},
};
use tairlock::{Client, distributed_lock, optimistic_retry};
use tairlock_actix::Refused;

use super::{Page, Transfer, play};

fn tenant(request: &HttpRequest) -> &str {
    let tenant = request.headers().get("x-tenant");
    tenant.and_then(|tenant| tenant.to_str().ok()).unwrap_or("nobody")
}

/// Below the route: key from the path, client from the application's data.
#[post("/orders/{id}/settle")]
#[distributed_lock(key = "order:{id}", using = locks, ttl = 5, lease = lease)]
async fn settle(locks: Data<Client>, id: Path<u64>) -> Result<String, Refused> {
    // Held across an await: this handler is not `Send`, and need not be.
    let receipt = Rc::new(format!("order {id}"));
    actix_web::rt::task::yield_now().await;
    Ok(format!("{receipt}, held: {}", lease.is_held()))
}

/// Above it, which is the same; key from the body, which is JSON.
#[distributed_lock(key = "account:{transfer.from}", using = locks)]
#[post("/transfers")]
async fn transfer(locks: Data<Client>, transfer: Json<Transfer>) -> Result<String, Refused> {
    Ok(format!("{} from {}", transfer.amount, transfer.from))
}

/// Key from a header and the query: any expression.
#[post("/pages")]
#[distributed_lock(key = format!("tenant:{}:{}", tenant(&request), page.name), using = locks)]
async fn publish(
    locks: Data<Client>,
    request: HttpRequest,
    page: Query<Page>,
) -> Result<String, Refused> {
    Ok(format!("{} of {}", page.name, tenant(&request)))
}

/// The same, below the route.
#[post("/stock/{sku}")]
#[optimistic_retry(key = "stock:{sku}", default = 0, using = locks)]
async fn restock(
    locks: Data<Client>,
    sku: Path<String>,
    #[value] stock: &mut u64,
    more: String,
) -> Result<String, Refused> {
    *stock += more.parse::<u64>().unwrap_or(0);
    Ok(stock.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn actix_takes_annotated_handlers() {
    let (locks, (send, receive)) = (Client::in_memory(), channel());
    let data = Data::new(locks.clone());
    std::thread::spawn(move || {
        let app = move || {
            let app = App::new().app_data(data.clone()).service(restock);
            app.service(settle).service(transfer).service(publish)
        };
        actix_web::rt::System::new().block_on(async move {
            let server = HttpServer::new(app).workers(1).disable_signals();
            let server = server.bind("127.0.0.1:0").expect("a free port");
            let addr = server.addrs()[0];
            let running = server.run();
            send.send((addr, running.handle())).expect("somebody waits for it");
            running.await.expect("it runs");
        });
    });
    let (addr, handle) = receive.recv().expect("it starts");
    play(addr, &locks).await;
    handle.stop(false).await;
}
