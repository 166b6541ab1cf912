//! Many held leases: what keeping them takes of a core, in how many batches, and whether any is lost.
//!
//! `cargo bench -p tairlock-tests --bench keeping [-- --leases 10000 --ttl 3 --seconds 60 --blocking --server redis7]`.
//! The server is a process of its own; this one does nothing but keep its leases while that is measured.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use tairlock::{Lease, LeaseState};
use tairlock_tests::Server;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// So many acquires and releases are under way at once in async code.
const AT_ONCE: usize = 64;

struct Options {
    leases: usize,
    ttl: Duration,
    seconds: u64,
    blocking: bool,
    server: String,
}

fn options() -> Options {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name, default| after(name).and_then(|text| text.parse().ok()).unwrap_or(default);
    Options {
        leases: usize::try_from(number("--leases", 10_000)).unwrap_or(10_000),
        ttl: Duration::from_secs(number("--ttl", 3)),
        seconds: number("--seconds", 60),
        blocking: arguments.iter().any(|argument| argument == "--blocking"),
        server: after("--server").unwrap_or_else(|| "redis7".to_owned()),
    }
}

fn main() -> Outcome<()> {
    let options = options();
    let builder = match options.server.as_str() {
        "redis8" => Server::redis8(),
        "valkey9" => Server::valkey9(),
        _ => Server::redis7(),
    };
    let server = builder.start()?;
    if options.blocking { blocking(&server, &options) } else { asynchronous(&server, &options) }
}

fn asynchronous(server: &Server, options: &Options) -> Outcome<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let client = runtime.block_on(tairlock::Client::connect(server.url()))?;
    let began = Instant::now();
    let guards = runtime.block_on(async {
        let tasks: Vec<_> = (0..AT_ONCE)
            .map(|first| {
                let (client, ttl, leases) = (client.clone(), options.ttl, options.leases);
                tokio::spawn(async move {
                    let mut guards = Vec::new();
                    for at in (first..leases).step_by(AT_ONCE) {
                        guards.push(client.lock(format!("k{at}")).ttl(ttl).acquire().await?);
                    }
                    Ok::<_, tairlock::Error>(guards)
                })
            })
            .collect();
        let mut guards = Vec::with_capacity(options.leases);
        for task in tasks {
            guards.extend(task.await??);
        }
        Ok::<_, Box<dyn std::error::Error>>(guards)
    })?;
    println!("async: {} leases taken in {:?}", guards.len(), began.elapsed());
    measure(server, options)?;
    count(server, options, guards.iter().map(tairlock::LockGuard::lease))?;
    let began = Instant::now();
    drop(guards);
    println!("  all given back: {} in {:?}", runtime.block_on(client.close()), began.elapsed());
    Ok(())
}

fn blocking(server: &Server, options: &Options) -> Outcome<()> {
    let client = tairlock_sync::Client::connect(server.url())?;
    let began = Instant::now();
    let mut guards = Vec::with_capacity(options.leases);
    for at in 0..options.leases {
        guards.push(client.lock(format!("k{at}")).ttl(options.ttl).acquire()?);
    }
    println!("blocking: {} leases taken in {:?}", guards.len(), began.elapsed());
    measure(server, options)?;
    count(server, options, guards.iter().map(tairlock_sync::LockGuard::lease))?;
    let began = Instant::now();
    drop(guards);
    println!("  all given back: {} in {:?}", client.close(), began.elapsed());
    Ok(())
}

/// What this process and its server do while the leases are kept.
#[allow(clippy::cast_precision_loss, reason = "counts are small")]
fn measure(server: &Server, options: &Options) -> Outcome<()> {
    // What was taken in one go is spread by its first renewals.
    thread::sleep(options.ttl);
    let threads = threads()?;
    let (cpu, reads, renewals) =
        (cpu()?, stat(server, "total_reads_processed")?, renewals(server)?);
    let began = Instant::now();
    thread::sleep(Duration::from_secs(options.seconds));
    let took = began.elapsed().as_secs_f64();
    let share = 100.0 * (self::cpu()? - cpu).as_secs_f64() / took;
    let reads = (stat(server, "total_reads_processed")? - reads) as f64 / took;
    let renewals = (self::renewals(server)? - renewals) as f64 / took;
    println!(
        "  ttl {:?}, {took:.0} s: {share:.2} % of a core, {renewals:.0} renewals/s in {reads:.1} reads/s of the server",
        options.ttl,
    );
    println!("  threads: {threads:?}");
    Ok(())
}

fn count<'a>(
    server: &Server,
    options: &Options,
    leases: impl Iterator<Item = &'a Lease>,
) -> Outcome<()> {
    let (mut held, mut uncertain) = (0, 0);
    for lease in leases {
        match lease.state() {
            LeaseState::Held => held += 1,
            LeaseState::Uncertain => uncertain += 1,
            _ => {}
        }
    }
    let keys: usize = redis::cmd("DBSIZE").query(&mut server.cli())?;
    let lost = options.leases - held - uncertain;
    println!("  held {held}, uncertain {uncertain}, lost {lost}; keys on the server {keys}");
    Ok(())
}

/// The time that all threads of this process have run.
fn cpu() -> Outcome<Duration> {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(u64::try_from(spent.tv_sec)?, u32::try_from(spent.tv_nsec)?))
}

/// The threads of this process, by name.
fn threads() -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for task in fs::read_dir("/proc/self/task")? {
        names.push(fs::read_to_string(task?.path().join("comm"))?.trim_end().to_owned());
    }
    names.sort_unstable();
    Ok(names)
}

fn stat(server: &Server, name: &str) -> Outcome<u64> {
    let stats: String = redis::cmd("INFO").arg("stats").query(&mut server.cli())?;
    let value = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(value.ok_or("no such figure")?.trim_end().parse()?)
}

/// How many renewals the server has executed.
fn renewals(server: &Server) -> Outcome<u64> {
    let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut server.cli())?;
    let calls = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        ["evalsha", "set"].contains(&name).then(|| rest.split(',').next()?.parse::<u64>().ok())?
    };
    Ok(stats.lines().filter_map(calls).sum())
}
