//! What spans and metrics cost an acquire and release on loopback, against the same without a listener.
//!
//! `cargo bench -p tairlock-tests --bench observability [-- --rounds 41 --server redis7 --written]`. Spans are on
//! with a subscriber of `tracing-subscriber` that formats them, and with `--written` writes a line into nothing for
//! each that ends; metrics with a Prometheus recorder. Off is neither, with both features compiled in all the same.
//! All take turns in one run, so that what else the machine does befalls all. Everything runs on one thread.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::{Duration, Instant};

use metrics_exporter_prometheus::PrometheusBuilder;
use tairlock_tests::{Server, binaries::Binary};
use tokio::task::LocalSet;
use tracing_subscriber::fmt::format::FmtSpan;

/// How long each is measured at a time.
const SPELL: Duration = Duration::from_millis(100);

fn after(name: &str) -> Option<String> {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1).cloned()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = after("--rounds").and_then(|text| text.parse().ok()).unwrap_or(41);
    let server = match after("--server").as_deref() {
        Some("redis8") => Server::redis8(),
        Some("valkey9") => Server::valkey9(),
        Some("tair") => Server::redis7().module(Binary::TairString.find()?),
        _ => Server::redis7(),
    };
    let server = server.start()?;
    println!("| driver | off, µs a pair | spans | metrics | both | both against off |");
    println!("|---|---:|---:|---:|---:|---:|");
    for tasks in [1, 64] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(tairlock::Client::connect(server.url()))?;
        let what = format!("async, {tasks} {}", if tasks == 1 { "task" } else { "tasks" });
        compare(&what, rounds, || LocalSet::new().block_on(&runtime, concurrently(&client, tasks)));
    }
    let client = tairlock_sync::Client::connect(server.url())?;
    compare("blocking, 1 thread", rounds, || {
        let lock = client.lock("pair").name("pair");
        let began = Instant::now();
        let mut pairs = 0;
        while began.elapsed() < SPELL {
            let guard = lock.acquire().expect("it is free");
            _ = guard.release().expect("it is ours");
            pairs += 1;
        }
        (pairs, began.elapsed())
    });
    Ok(())
}

async fn concurrently(client: &tairlock::Client, tasks: usize) -> (u32, Duration) {
    let began = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let lock = client.lock(format!("pair:{task}")).name("pair");
            tokio::task::spawn_local(async move {
                let mut pairs = 0;
                while began.elapsed() < SPELL {
                    let guard = lock.acquire().await.expect("it is free");
                    _ = guard.release().await.expect("it is ours");
                    pairs += 1;
                }
                pairs
            })
        })
        .collect();
    let mut pairs = 0;
    for task in running {
        pairs += task.await.expect("no panic");
    }
    (pairs, began.elapsed())
}

/// Measures `work` with nobody listening, with each, and with both, in turn.
fn compare(what: &str, rounds: usize, work: impl Fn() -> (u32, Duration)) {
    let written = std::env::args().any(|argument| argument == "--written");
    let recorder = PrometheusBuilder::new().build_recorder();
    let mut times = [const { Vec::new() }; 4];
    for round in 0..=rounds {
        for (at, times) in times.iter_mut().enumerate() {
            let (spans, metrics) = (at & 1 != 0, at & 2 != 0);
            let _spans = spans.then(|| {
                let subscriber = tracing_subscriber::fmt()
                    .with_span_events(if written { FmtSpan::CLOSE } else { FmtSpan::NONE })
                    .with_writer(std::io::sink);
                tracing::subscriber::set_default(subscriber.finish())
            });
            let _metrics = metrics.then(|| metrics::set_default_local_recorder(&recorder));
            let (pairs, elapsed) = work();
            // The first round warms up.
            if round > 0 {
                times.push(elapsed.as_secs_f64() * 1e6 / f64::from(pairs));
            }
        }
        recorder.handle().run_upkeep();
    }
    let [off, spans, metrics, both] = times.map(median);
    let more = (both / off - 1.0) * 100.0;
    println!("| {what} | {off:.1} | {spans:.1} | {metrics:.1} | {both:.1} | {more:+.1} % |");
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}
