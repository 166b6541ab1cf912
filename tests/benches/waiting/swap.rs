//! Two who take turns: clients that want one lock again and again, beside two tasks that hand a token on by `BLPOP`.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tairlock::Client;
use tairlock_tests::Server;
use tokio::time::sleep;

use crate::{Options, Outcome, client, percentile};

const SECTION: Duration = Duration::from_millis(1);

/// Every second of the one is followed by a second of the other, so that both meet the same machine.
pub(crate) async fn swap(server: &Server, options: &Options) -> Outcome<()> {
    let clients = [client(server, options).await?, client(server, options).await?];
    let (mut ours, mut swaps, mut floor) = (Vec::new(), 0, Vec::new());
    for _ in 0..options.seconds {
        let order = Arc::new(Mutex::new(Vec::new()));
        let [one, two] = [0, 1]
            .map(|name| tokio::spawn(locking(name, clients[name].clone(), Arc::clone(&order))));
        ours.extend(one.await?);
        ours.extend(two.await?);
        let order = std::mem::take(&mut *order.lock().expect("no panic"));
        swaps += order.windows(2).filter(|two| two[0] != two[1]).count();
        floor.extend(popping(server).await?);
    }
    #[allow(clippy::cast_precision_loss, reason = "counts are small")]
    let share = 100.0 * swaps as f64 / ours.len().max(1) as f64;
    println!("2 clients in a loop, section {SECTION:?}: swapped {share:.1} %");
    let most = print("wait for the lock", ours);
    let least = print("wait for a BLPOP, same seconds", floor);
    println!("  longest to longest: {:.1}", most.as_secs_f64() / least.as_secs_f64());
    Ok(())
}

fn print(what: &str, mut waits: Vec<Duration>) -> Duration {
    waits.sort_unstable();
    let [p50, p99] = [50, 99].map(|share| percentile(&waits, share));
    let late = waits.iter().filter(|wait| **wait > Duration::from_millis(20)).count();
    let rare = waits[waits.len() * 999 / 1000];
    let longest = waits[waits.len() - 1];
    let count = waits.len();
    println!(
        "  {what}: p50 {p50:?}, p99 {p99:?}, p99.9 {rare:?}, longest {longest:?}, over 20 ms {late} of {count}"
    );
    longest
}

async fn locking(name: usize, client: Client, order: Arc<Mutex<Vec<usize>>>) -> Vec<Duration> {
    let until = Instant::now() + Duration::from_secs(1);
    let lock = client.lock("swap").wait(Duration::from_secs(20));
    let mut waits = Vec::new();
    while Instant::now() < until {
        let asked = Instant::now();
        let guard = lock.acquire().await.expect("acquired");
        waits.push(asked.elapsed());
        order.lock().expect("no panic").push(name);
        sleep(SECTION).await;
        _ = guard.release().await.expect("released");
    }
    waits
}

/// Each pops the token from its own list, and after the section pushes it to the other's.
async fn popping(server: &Server) -> Outcome<Vec<Duration>> {
    let until = Instant::now() + Duration::from_secs(1);
    let mut running = Vec::new();
    for (own, other) in [("ping", "pong"), ("pong", "ping")] {
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
        let client = redis::Client::open(server.url())?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        running.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            while Instant::now() < until {
                let asked = Instant::now();
                let mut pop = redis::cmd("BLPOP");
                let popped: Option<(String, String)> =
                    pop.arg(own).arg(1).query_async(&mut connection).await?;
                if popped.is_none() {
                    break;
                }
                waits.push(asked.elapsed());
                sleep(SECTION).await;
                redis::cmd("LPUSH").arg(other).arg("t").exec_async(&mut connection).await?;
            }
            Ok::<_, redis::RedisError>(waits)
        }));
    }
    redis::cmd("LPUSH").arg("ping").arg("t").exec(&mut server.cli())?;
    let mut waits = Vec::new();
    for task in running {
        waits.extend(task.await??);
    }
    redis::cmd("DEL").arg("ping").arg("pong").exec(&mut server.cli())?;
    Ok(waits)
}
