//! Waiting for a busy lock: how fast it is handed on, at how many commands, and who gets how much.
//!
//! `cargo bench -p tairlock-tests --bench waiting [-- --server redis7 --seconds 5 --poll --only herd]`.
//! `--server` is `redis7`, `redis8`, `valkey9` or `tair`; `--poll` measures clients that poll.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod blocking;
mod swap;

use std::time::{Duration, Instant};

use tairlock::{Client, Wake};
use tairlock_tests::{Server, binaries::Binary};
use tokio::time::sleep;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

struct Options {
    server: String,
    seconds: u64,
    wake: Wake,
    only: Option<String>,
}

fn options() -> Options {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let poll = arguments.iter().any(|argument| argument == "--poll");
    Options {
        server: after("--server").unwrap_or_else(|| "redis7".to_owned()),
        seconds: after("--seconds").and_then(|text| text.parse().ok()).unwrap_or(5),
        wake: if poll { Wake::Poll } else { Wake::Push },
        only: after("--only"),
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, url, how] = &arguments[..]
        && role == "--waiter"
    {
        return blocking::waiter(url, how == "polls");
    }
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
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    if wanted("blocking") {
        blocking::hand_off(&server, &options)?;
    }
    runtime.block_on(async {
        if wanted("hand-off") {
            hand_off(&server, &options).await?;
        }
        if wanted("blpop") {
            blpop(&server).await?;
        }
        if wanted("expiry") {
            expiry(&server, &options).await?;
        }
        if wanted("swap") {
            swap::swap(&server, &options).await?;
        }
        if wanted("herd") {
            for clients in [2, 4, 8, 16, 32, 64] {
                share(&server, &options, clients, Duration::ZERO).await?;
            }
            share(&server, &options, 32, Duration::from_millis(1)).await?;
        }
        if wanted("tasks") {
            tasks(&server, &options).await?;
        }
        if wanted("alone") {
            share(&server, &options, 1, Duration::ZERO).await?;
        }
        if wanted("idle") {
            idle(&server, &options, 50, 50).await?;
            idle(&server, &options, 1, 1).await?;
            idle(&server, &options, 1, 1_000).await?;
        }
        Ok(())
    })
}

async fn client(server: &Server, options: &Options) -> Outcome<Client> {
    Ok(Client::builder().url(server.url()).wake(options.wake).build().await?)
}

/// How many commands the server has executed, listeners' handshakes and this question left out.
fn commands(server: &Server) -> Outcome<u64> {
    let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut server.cli())?;
    let counted = ["set", "pttl", "evalsha", "eval", "delex", "delifeq", "cad", "cas"];
    let calls = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        counted.contains(&name).then(|| rest.split(',').next()?.parse::<u64>().ok()).flatten()
    };
    Ok(stats.lines().filter_map(calls).sum())
}

fn percentile(sorted: &[Duration], share: usize) -> Duration {
    sorted[(sorted.len() * share / 100).min(sorted.len() - 1)]
}

fn print_times(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let [p50, p99] = [50, 99].map(|share| percentile(&times, share));
    let most = times[times.len() - 1];
    println!("{what}: p50 {p50:?}, p99 {p99:?}, longest {most:?}, of {}", times.len());
}

/// One client holds and another waits; from the release to the grant.
async fn hand_off(server: &Server, options: &Options) -> Outcome<()> {
    for raw in [false, true] {
        let (holder, waiter) = (client(server, options).await?, client(server, options).await?);
        let mut times = Vec::new();
        let mut cli = server.cli();
        let mut between = 0;
        for round in 0..300 {
            let guard = holder.lock("h").acquire().await?;
            let lock = waiter.lock("h").wait(Duration::from_secs(10));
            let waiting = tokio::spawn(async move {
                let guard = lock.acquire().await;
                (Instant::now(), guard)
            });
            sleep(Duration::from_millis(25)).await;
            let before = commands(server)?;
            let freed = Instant::now();
            if raw {
                redis::cmd("DEL").arg("h").exec(&mut cli)?;
            } else {
                _ = guard.release().await?;
                // The holder's command is not one of the waiter's.
                between -= if round > 0 { 1 } else { 0 };
                let (at, taken) = waiting.await?;
                if round > 0 {
                    times.push(at - freed);
                    between += i64::try_from(commands(server)? - before)?;
                }
                _ = taken?.release().await?;
                sleep(Duration::from_millis(25)).await;
                continue;
            }
            let (at, taken) = waiting.await?;
            times.push(at - freed);
            between += i64::try_from(commands(server)? - before)?;
            drop(guard);
            _ = taken?.release().await?;
            sleep(Duration::from_millis(25)).await;
        }
        let rounds = times.len();
        let what = if raw { "after a DEL" } else { "after a release" };
        print_times(&format!("hand-off {what}"), times);
        #[allow(clippy::cast_precision_loss, reason = "counts are small")]
        let each = between as f64 / rounds as f64;
        println!("  commands after it: {each:.2} a hand-off");
    }
    Ok(())
}

/// What a hand-off through a list takes on this machine.
async fn blpop(server: &Server) -> Outcome<()> {
    let client = redis::Client::open(server.url())?;
    let mut pushing = client.get_multiplexed_async_connection().await?;
    let mut times = Vec::new();
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    let popping = client.get_multiplexed_async_connection_with_config(&config).await?;
    for _ in 0..300 {
        let mut popping = popping.clone();
        let waiting = tokio::spawn(async move {
            let popped = redis::cmd("BLPOP").arg("l").arg(10).exec_async(&mut popping).await;
            (Instant::now(), popped)
        });
        sleep(Duration::from_millis(5)).await;
        let freed = Instant::now();
        redis::cmd("LPUSH").arg("l").arg("t").exec_async(&mut pushing).await?;
        let (at, popped) = waiting.await?;
        popped?;
        times.push(at.saturating_duration_since(freed));
    }
    print_times("a BLPOP's hand-off", times);
    Ok(())
}

/// A holder that died: from the end of its TTL to the grant.
async fn expiry(server: &Server, options: &Options) -> Outcome<()> {
    let waiter = client(server, options).await?;
    let (mut times, mut cli) = (Vec::new(), server.cli());
    for _ in 0..20 {
        redis::cmd("SET").arg("e").arg("dead").arg("PX").arg(300).exec(&mut cli)?;
        let set = Instant::now();
        let guard = waiter.lock("e").wait(Duration::from_secs(10)).acquire().await?;
        times.push(set.elapsed().saturating_sub(Duration::from_millis(300)));
        _ = guard.release().await?;
    }
    print_times("expiry of a dead holder", times);
    Ok(())
}

/// Clients that take the lock, hold it for `section`, give it back and want it again.
async fn share(server: &Server, options: &Options, count: usize, section: Duration) -> Outcome<()> {
    let mut clients = Vec::new();
    for _ in 0..count {
        clients.push(client(server, options).await?);
    }
    contend(server, options, &format!("{count} clients"), clients, section).await
}

async fn tasks(server: &Server, options: &Options) -> Outcome<()> {
    let clients = std::iter::repeat_n(client(server, options).await?, 32).collect();
    contend(server, options, "1 client, 32 tasks", clients, Duration::ZERO).await
}

#[allow(clippy::cast_precision_loss, reason = "counts are small")]
async fn contend(
    server: &Server,
    options: &Options,
    who: &str,
    clients: Vec<Client>,
    section: Duration,
) -> Outcome<()> {
    redis::cmd("CONFIG").arg("RESETSTAT").exec(&mut server.cli())?;
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::<usize>::new()));
    let began = Instant::now();
    let until = began + Duration::from_secs(options.seconds);
    let running: Vec<_> = clients
        .into_iter()
        .enumerate()
        .map(|(number, client)| {
            let order = order.clone();
            tokio::spawn(async move {
                let (mut grants, mut longest) = (0_u64, Duration::ZERO);
                let lock = client.lock("s").wait(Duration::from_secs(20));
                while Instant::now() < until {
                    let asked = Instant::now();
                    let guard = lock.acquire().await.expect("acquired");
                    longest = longest.max(asked.elapsed());
                    order.lock().expect("no panic").push(number);
                    if !section.is_zero() {
                        sleep(section).await;
                    }
                    _ = guard.release().await.expect("released");
                    grants += 1;
                }
                (grants, longest)
            })
        })
        .collect();
    let (mut grants, mut longest) = (Vec::new(), Duration::ZERO);
    for task in running {
        let (of_one, waited) = task.await?;
        grants.push(of_one as f64);
        longest = longest.max(waited);
    }
    let sum: f64 = grants.iter().sum();
    let squares: f64 = grants.iter().map(|n| n * n).sum();
    let mean = sum / grants.len() as f64;
    let least = grants.iter().copied().fold(f64::MAX, f64::min) / mean;
    let most = grants.iter().copied().fold(0.0, f64::max) / mean;
    let order = order.lock().expect("no panic");
    let swaps = order.windows(2).filter(|two| two[0] != two[1]).count() as f64;
    println!(
        "{who}, section {section:?}: {:.0} grants/s, {:.2} commands each, Jain {:.3}, \
         {least:.2} to {most:.2} of the mean, swapped {:.1} %, longest wait {longest:?}",
        sum / began.elapsed().as_secs_f64(),
        commands(server)? as f64 / sum,
        sum * sum / (grants.len() as f64 * squares),
        100.0 * swaps / (order.len() - 1).max(1) as f64,
    );
    Ok(())
}

/// Waiters behind a holder that renews: commands a second.
#[allow(clippy::cast_precision_loss, reason = "counts are small")]
async fn idle(server: &Server, options: &Options, count: usize, waiters: usize) -> Outcome<()> {
    let holder = client(server, options).await?;
    let guard = holder.lock("i").ttl(Duration::from_secs(3)).acquire().await?;
    let mut clients = Vec::new();
    for _ in 0..count {
        clients.push(client(server, options).await?);
    }
    let waiting: Vec<_> = (0..waiters)
        .map(|number| {
            let lock = clients[number % count].lock("i").wait(Duration::from_secs(60));
            tokio::spawn(async move { lock.acquire().await })
        })
        .collect();
    sleep(Duration::from_secs(2)).await;
    let before = commands(server)?;
    let began = Instant::now();
    sleep(Duration::from_secs(options.seconds.max(6))).await;
    let rate = (commands(server)? - before) as f64 / began.elapsed().as_secs_f64();
    println!("{count} clients, {waiters} waiters, holder with a TTL of 3 s: {rate:.1} commands/s");
    for waiter in waiting {
        waiter.abort();
    }
    _ = guard.release().await?;
    Ok(())
}
