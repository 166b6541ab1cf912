//! Acquire and release, as a share of what the connection itself can do in the same run.
//!
//! `cargo bench -p tairlock --bench pairs -- redis://127.0.0.1/`: 64 tasks on one connection, and one task
//! alone, each with `TCP_NODELAY` on and off. The floor is a bare `SET … NX PX` and `DEL` on redis-rs.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::{Duration, Instant};

use redis::{Client, IntoConnectionInfo as _, aio::MultiplexedConnection};

const ROUNDS: usize = 5;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(url) = std::env::args().skip(1).find(|argument| argument.contains("://")) else {
        println!("pairs: name a server, `cargo bench --bench pairs -- redis://127.0.0.1/`");
        return Ok(());
    };
    println!("| tasks | nodelay | floor, pairs/s | tairlock, pairs/s | ratio |");
    println!("|---:|---|---:|---:|---:|");
    for tasks in [1, 64] {
        for nodelay in [false, true] {
            let info = url.as_str().into_connection_info()?;
            let settings = info.tcp_settings().clone().set_nodelay(nodelay);
            let client = Client::open(info.set_tcp_settings(settings))?;
            let connection = client.get_multiplexed_async_connection().await?;
            let locks = tairlock::Client::builder().redis_client(client).build().await?;
            let (mut floors, mut ours) = (Vec::new(), Vec::new());
            // In turn, so that what else the machine does befalls both.
            for _ in 0..ROUNDS {
                floors.push(rate(tasks, |task| floor(connection.clone(), task)).await);
                ours.push(rate(tasks, |task| pairs(locks.clone(), task)).await);
            }
            let (floor, ours) = (median(floors), median(ours));
            println!("| {tasks} | {nodelay} | {floor:.0} | {ours:.0} | {:.2} |", ours / floor);
        }
    }
    Ok(())
}

/// Pairs a second over about half a second.
async fn rate<F, Fut>(tasks: usize, work: F) -> f64
where
    F: Fn(usize) -> Fut,
    Fut: Future<Output = usize> + Send + 'static,
{
    let began = Instant::now();
    let running: Vec<_> = (0..tasks).map(|task| tokio::spawn(work(task))).collect();
    let mut done = 0;
    for task in running {
        done += task.await.unwrap_or_default();
    }
    #[allow(clippy::cast_precision_loss, reason = "a count of pairs is small")]
    let done = done as f64;
    done / began.elapsed().as_secs_f64()
}

const TIME: Duration = Duration::from_millis(500);

async fn floor(mut connection: MultiplexedConnection, task: usize) -> usize {
    let key = format!("floor:{task}");
    let began = Instant::now();
    let mut done = 0;
    while began.elapsed() < TIME {
        let mut set = redis::cmd("SET");
        set.arg(&key)
            .arg("a token of about the same length as ours")
            .arg("NX")
            .arg("PX")
            .arg(10_000);
        let set: redis::RedisResult<()> = set.query_async(&mut connection).await;
        let del: redis::RedisResult<()> =
            redis::cmd("DEL").arg(&key).query_async(&mut connection).await;
        done += usize::from(set.is_ok() && del.is_ok());
    }
    done
}

async fn pairs(client: tairlock::Client, task: usize) -> usize {
    let lock = client.lock(format!("pairs:{task}"));
    let began = Instant::now();
    let mut done = 0;
    while began.elapsed() < TIME {
        if let Ok(guard) = lock.acquire().await {
            done += usize::from(guard.release().await.is_ok());
        }
    }
    done
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
