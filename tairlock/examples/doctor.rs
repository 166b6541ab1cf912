//! `cargo run --example doctor -- redis://127.0.0.1/`: what a crash or failover of this server can take
//! from the locks on it. Several URLs are a quorum. Ends with 1 where it is not sound.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::process::ExitCode;

use tairlock::Client;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let urls: Vec<String> = std::env::args().skip(1).collect();
    let client = match &urls[..] {
        [] => Client::in_memory(),
        [url] => Client::connect(url).await?,
        urls => Client::builder().quorum(urls).build().await?,
    };
    let report = client.doctor().await?;
    print!("{report}");
    Ok(if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
