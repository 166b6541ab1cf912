//! A small shop on actix-web, on one machine or many. The README beside this file shows it at work.
//!
//! ```sh
//! cargo run -p tairlock-actix --example actix_shop
//! cargo run -p tairlock-actix --example actix_shop -- --url redis://127.0.0.1/
//! ```

mod routes;
#[path = "../../../axum/examples/shop/setup.rs"]
mod setup;
// The very shop of the axum example: it knows of no framework.
#[path = "../../../axum/examples/shop/shop.rs"]
mod shop;

use actix_web::{App, HttpServer, rt};
use clap::Parser as _;
use setup::{Args, say};
use shop::Shop;
use tairlock_actix::Idempotency;

#[actix_web::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let metrics = setup::watch()?;
    let client = args.client().await?;
    let shop = Shop::new(client.clone(), args.payment(), metrics);
    let idempotency = Idempotency::new(client.clone());
    let job = rt::spawn(shop.clone().report_every(args.report_every()));

    // One client for all workers: those who wait for a lock stand in one line.
    let once = idempotency.clone();
    let app = move || App::new().configure(routes::routes(shop.clone(), once.clone()));
    let server = HttpServer::new(app).workers(2).bind(&args.listen)?;
    let told_to_stop = setup::told_to_stop()?;
    for address in server.addrs() {
        say(&format!("listening on http://{address}"));
    }

    // First what has begun and whose client may have left, for which actix's workers do not wait; then
    // those under way; then the locks. By itself, actix would drop what is under way at a Ctrl-C.
    let running = server.disable_signals().shutdown_timeout(30).run();
    let handle = running.handle();
    rt::spawn(async move {
        told_to_stop.await;
        idempotency.close().await;
        handle.stop(true).await;
    });
    running.await?;
    job.abort();
    let released = client.close().await;
    say(if released { "everything is released" } else { "what is not released ends with its ttl" });
    Ok(())
}
