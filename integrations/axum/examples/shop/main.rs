//! A small shop on axum, on one machine or many. The README beside this file shows it at work.
//!
//! ```sh
//! cargo run -p tairlock-axum --example axum_shop
//! cargo run -p tairlock-axum --example axum_shop -- --url redis://127.0.0.1/
//! ```

mod routes;
mod setup;
mod shop;

use clap::Parser as _;
use setup::{Args, say};
use shop::Shop;
use tairlock_axum::Idempotency;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let metrics = setup::watch()?;
    let client = args.client().await?;
    let shop = Shop::new(client.clone(), args.payment(), metrics);
    let idempotency = Idempotency::new(client.clone());
    let routes = routes::routes(shop.clone(), idempotency.clone());

    let told_to_stop = setup::told_to_stop()?;
    let job = tokio::spawn(shop.report_every(args.report_every()));
    let listener = TcpListener::bind(&args.listen).await?;
    say(&format!("listening on http://{}", listener.local_addr()?));

    // First no new requests, then those under way, also those whose clients have left; then the locks.
    axum::serve(listener, routes).with_graceful_shutdown(told_to_stop).await?;
    idempotency.close().await;
    job.abort();
    let released = client.close().await;
    say(if released { "everything is released" } else { "what is not released ends with its ttl" });
    Ok(())
}
