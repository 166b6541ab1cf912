//! What spans and metrics cost an acquire and release on loopback, against the same without a listener.
//!
//! `cargo bench -p tairlock-tests --bench observability [-- --rounds 200 --server redis7 --written]`. Spans are on
//! with a subscriber of `tracing-subscriber` that formats them, and with `--written` writes a line into nothing for
//! each that ends; metrics with a Prometheus recorder. Off is neither, with both features compiled in all the same.
//! All take turns in one run, so that what else the machine does befalls all. Everything runs on one thread. Times
//! are in microseconds for an acquire and its release; "more" is the median over the rounds of both against off.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tairlock_tests::{Server, binaries::Binary};
use tokio::task::LocalSet;
use tracing::{Subscriber, subscriber::Interest};
use tracing_subscriber::{
    Layer,
    fmt::format::FmtSpan,
    layer::{Context, SubscriberExt as _},
};

static SPANS: AtomicBool = AtomicBool::new(false);
static METRICS: AtomicBool = AtomicBool::new(false);

/// The program's subscriber and recorder, as a service has them; both can be switched off.
struct Switch<T>(T);

impl<S: Subscriber> Layer<S> for Switch<()> {
    fn register_callsite(&self, _: &'static tracing::Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        SPANS.load(Ordering::Relaxed)
    }
}

impl Recorder for Switch<PrometheusRecorder> {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, about: &Metadata<'_>) -> Counter {
        let on = METRICS.load(Ordering::Relaxed);
        if on { self.0.register_counter(key, about) } else { Counter::noop() }
    }

    fn register_gauge(&self, key: &Key, about: &Metadata<'_>) -> Gauge {
        let on = METRICS.load(Ordering::Relaxed);
        if on { self.0.register_gauge(key, about) } else { Gauge::noop() }
    }

    fn register_histogram(&self, key: &Key, about: &Metadata<'_>) -> Histogram {
        let on = METRICS.load(Ordering::Relaxed);
        if on { self.0.register_histogram(key, about) } else { Histogram::noop() }
    }
}

fn install() -> Result<PrometheusHandle, Box<dyn std::error::Error>> {
    let written = std::env::args().any(|argument| argument == "--written");
    let spans = tracing_subscriber::fmt::layer()
        .with_span_events(if written { FmtSpan::CLOSE } else { FmtSpan::NONE })
        .with_writer(std::io::sink);
    let subscriber = tracing_subscriber::registry().with(spans).with(Switch(()));
    tracing::subscriber::set_global_default(subscriber)?;
    let recorder = PrometheusBuilder::new().build_recorder();
    let scraped = recorder.handle();
    metrics::set_global_recorder(Switch(recorder)).map_err(|error| error.to_string())?;
    Ok(scraped)
}

/// How long each is measured at a time.
const SPELL: Duration = Duration::from_millis(20);

fn after(name: &str) -> Option<String> {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1).cloned()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = after("--rounds").and_then(|text| text.parse().ok()).unwrap_or(200);
    let server = match after("--server").as_deref() {
        Some("redis8") => Server::redis8(),
        Some("valkey9") => Server::valkey9(),
        Some("tair") => Server::redis7().module(Binary::TairString.find()?),
        _ => Server::redis7(),
    };
    let (server, scraped) = (server.start()?, install()?);
    println!(
        "| | a pair, off | both on | more | its thread's time, off | spans | metrics | both |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for tasks in [1, 64] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(tairlock::Client::connect(server.url()))?;
        let what = format!("async, {tasks} {}", if tasks == 1 { "task" } else { "tasks" });
        compare(&what, rounds, &scraped, || {
            LocalSet::new().block_on(&runtime, concurrently(&client, tasks))
        });
    }
    let client = tairlock_sync::Client::connect(server.url())?;
    compare("blocking, 1 thread", rounds, &scraped, || {
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
fn compare(
    what: &str,
    rounds: usize,
    scraped: &PrometheusHandle,
    work: impl Fn() -> (u32, Duration),
) {
    let (mut times, mut busy) = ([const { Vec::new() }; 4], [const { Vec::new() }; 4]);
    for round in 0..=rounds {
        for nth in 0..4 {
            // None of them is always the first.
            let at = (nth + round) % 4;
            let (spans, metrics) = (at & 1 != 0, at & 2 != 0);
            SPANS.store(spans, Ordering::Relaxed);
            METRICS.store(metrics, Ordering::Relaxed);
            let began = own_time();
            let (pairs, elapsed) = work();
            // The first round warms up.
            if round > 0 {
                times[at].push(micros(elapsed, pairs));
                busy[at].push(micros(own_time().saturating_sub(began), pairs));
            }
        }
        scraped.run_upkeep();
    }
    // Of one round, as what else the machine does changes from round to round.
    let ratios = times[0].iter().zip(&times[3]).map(|(off, both)| (both / off - 1.0) * 100.0);
    let more = median(ratios.collect());
    let [own_off, spans, metrics, both] = busy.map(median);
    let [off, _, _, on] = times.map(median);
    println!(
        "| {what} | {off:.1} | {on:.1} | {more:+.1} % | {own_off:.1} | {:+.2} | {:+.2} | {:+.2} |",
        spans - own_off,
        metrics - own_off,
        both - own_off
    );
}

/// How long this thread has run, which others on the machine change less.
fn own_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn micros(time: Duration, pairs: u32) -> f64 {
    time.as_secs_f64() * 1e6 / f64::from(pairs)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
