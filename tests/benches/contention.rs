//! Many clients on one value: who gets how much, at how many commands, with which pause after conflicts.
//!
//! `cargo bench -p tairlock-tests --bench contention [-- --seconds 5 --clients 64 --server redis7 --all]`.
//! `--all` measures the alternatives to the chosen pause as well; `--server` is `redis7`, `redis8`,
//! `valkey9` or `tair`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tairlock::{Client, Error, proto::Pacing};
use tairlock_tests::{Server, binaries::Binary};

const KEY: &str = "value";

/// What is tried, with the pause that updates use in front.
fn pacings(all: bool) -> Vec<(&'static str, Pacing)> {
    let of = |every, first, longest| Pacing {
        every,
        first: Duration::from_micros(first),
        longest: Duration::from_micros(longest),
    };
    let mut pacings = vec![("chosen", Pacing::DEFAULT)];
    if all {
        pacings.extend([
            ("none", of(u32::MAX, 0, 0)),
            ("every 2nd, 24 ms", of(2, 24_000, 24_000)),
            ("every 2nd, 48 ms", of(2, 48_000, 48_000)),
            ("every 2nd, 8 to 32 ms", of(2, 8_000, 32_000)),
            ("every 2nd, 16 to 48 ms", of(2, 16_000, 48_000)),
            ("every 2nd, 24 to 48 ms", of(2, 24_000, 48_000)),
            ("every 2nd, 32 to 64 ms", of(2, 32_000, 64_000)),
            ("every 2nd, 16 to 32 ms", of(2, 16_000, 32_000)),
            ("every 2nd, 16 to 64 ms", of(2, 16_000, 64_000)),
            ("after each, 1 to 64 ms", of(1, 1_000, 64_000)),
            ("every 2nd, 0.1 to 1 ms", of(2, 100, 1_000)),
            ("every 2nd, 0.5 to 4 ms", of(2, 500, 4_000)),
            ("every 2nd, 1 to 8 ms", of(2, 1_000, 8_000)),
            ("every 2nd, 1 to 16 ms", of(2, 1_000, 16_000)),
            ("every 2nd, 2 to 16 ms", of(2, 2_000, 16_000)),
            ("every 2nd, 4 to 16 ms", of(2, 4_000, 16_000)),
            ("every 2nd, 8 ms", of(2, 8_000, 8_000)),
            ("every 2nd, 16 ms", of(2, 16_000, 16_000)),
            ("every 2nd, 4 to 32 ms", of(2, 4_000, 32_000)),
            ("every 2nd, 32 ms", of(2, 32_000, 32_000)),
            ("every 2nd, 1 to 64 ms", of(2, 1_000, 64_000)),
            ("every 2nd, 8 to 64 ms", of(2, 8_000, 64_000)),
            ("every 3rd, 8 ms", of(3, 8_000, 8_000)),
        ]);
    }
    pacings
}

struct Options {
    seconds: u64,
    clients: usize,
    server: String,
    all: bool,
}

fn options() -> Options {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    Options {
        seconds: after("--seconds").and_then(|text| text.parse().ok()).unwrap_or(5),
        clients: after("--clients").and_then(|text| text.parse().ok()).unwrap_or(64),
        server: after("--server").unwrap_or_else(|| "redis7".to_owned()),
        all: arguments.iter().any(|argument| argument == "--all"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = options();
    let builder = match options.server.as_str() {
        "redis8" => Server::redis8(),
        "valkey9" => Server::valkey9(),
        "tair" => Server::redis7().module(Binary::TairString.find()?),
        _ => Server::redis7(),
    };
    let server = builder.start()?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    println!("| pause | load | commits/s | commands a commit | Jain | least of mean | exhausted |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    for (name, pacing) in pacings(options.all) {
        for (load, think) in [("closed loop", 0), ("0–2 ms of thinking", 2_000)] {
            let shares = runtime.block_on(contend(&server, &options, pacing, think))?;
            shares.print(name, &format!("{} clients, {load}", options.clients));
        }
    }
    let shares = runtime.block_on(one_client(&server, &options))?;
    shares.print("chosen", &format!("1 client, {} tasks", options.clients));
    Ok(())
}

/// What came of one measurement.
struct Shares {
    commits: Vec<u64>,
    exhausted: u64,
    commands: u64,
    elapsed: Duration,
}

#[allow(clippy::cast_precision_loss, reason = "counts of commits are small")]
impl Shares {
    fn print(&self, pause: &str, load: &str) {
        let sum: u64 = self.commits.iter().sum();
        let squares: f64 = self.commits.iter().map(|&n| (n as f64).powi(2)).sum();
        let count = self.commits.len() as f64;
        let jain = (sum as f64).powi(2) / (count * squares);
        let least = *self.commits.iter().min().unwrap_or(&0) as f64 / (sum as f64 / count);
        let rate = sum as f64 / self.elapsed.as_secs_f64();
        let commands = self.commands as f64 / sum as f64;
        let exhausted = self.exhausted;
        println!(
            "| {pause} | {load} | {rate:.0} | {commands:.2} | {jain:.3} | {least:.2} | {exhausted} |"
        );
    }
}

async fn contend(
    server: &Server,
    options: &Options,
    pacing: Pacing,
    think: u64,
) -> Result<Shares, Box<dyn std::error::Error>> {
    let mut clients = Vec::new();
    for _ in 0..options.clients {
        clients.push(Client::connect(server.url()).await?);
    }
    measure(server, options.seconds, clients, pacing, think).await
}

async fn one_client(
    server: &Server,
    options: &Options,
) -> Result<Shares, Box<dyn std::error::Error>> {
    let client = Client::connect(server.url()).await?;
    let clients = std::iter::repeat_n(client, options.clients).collect();
    measure(server, options.seconds, clients, Pacing::DEFAULT, 0).await
}

async fn measure(
    server: &Server,
    seconds: u64,
    clients: Vec<Client>,
    pacing: Pacing,
    think: u64,
) -> Result<Shares, Box<dyn std::error::Error>> {
    let mut cli = server.cli();
    redis::cmd("FLUSHALL").exec(&mut cli)?;
    redis::cmd("CONFIG").arg("RESETSTAT").exec(&mut cli)?;
    static EXHAUSTED: AtomicU64 = AtomicU64::new(0);
    EXHAUSTED.store(0, Ordering::Relaxed);
    let began = Instant::now();
    let until = began + Duration::from_secs(seconds);
    let running: Vec<_> = clients
        .into_iter()
        .zip(1_u64..)
        .map(|(client, number)| {
            tokio::spawn(async move {
                let value = client.versioned::<u64>(KEY).default(0).pacing(pacing);
                let (mut commits, mut draw) = (0_u64, number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                while Instant::now() < until {
                    let add = |count: &mut u64| {
                        *count += 1;
                        Ok::<_, Error>(())
                    };
                    match value.update(add).await {
                        Ok(()) => commits += 1,
                        Err(Error::Exhausted { .. }) => {
                            EXHAUSTED.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                    if think > 0 {
                        draw ^= draw << 13;
                        draw ^= draw >> 7;
                        draw ^= draw << 17;
                        tokio::time::sleep(Duration::from_micros(draw % think)).await;
                    }
                }
                commits
            })
        })
        .collect();
    let mut commits = Vec::new();
    for task in running {
        commits.push(task.await?);
    }
    let elapsed = began.elapsed();
    let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut cli)?;
    let commands = calls(&stats);
    let client = Client::connect(server.url()).await?;
    let stored = client.versioned::<u64>(KEY).read().await?.map_or(0, |snapshot| snapshot.value);
    assert_eq!(stored, commits.iter().sum::<u64>(), "an update was lost");
    let exhausted = EXHAUSTED.load(Ordering::Relaxed);
    Ok(Shares { commits, exhausted, commands, elapsed })
}

/// How many commands about values were sent by clients; those that scripts call are not counted.
fn calls(stats: &str) -> u64 {
    let sent = ["evalsha", "eval", "excas", "exget", "exset"];
    let named = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        sent.contains(&name).then(|| rest.split(',').next()?.parse::<u64>().ok()).flatten()
    };
    stats.lines().filter_map(named).sum()
}
