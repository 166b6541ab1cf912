//! How many instructions a function under the attribute takes against the guard written by hand, in memory.
//!
//! Counted by valgrind, as the difference between many calls and few, so that what a process begins with is
//! not in it. A guard by hand is bare, or watched: the body ends with the lease, as the attribute's does.
//!
//! Valgrind takes away the page in which the kernel tells the time, so:
//! `RUSTFLAGS='--cfg rustix_use_libc' cargo bench -p tairlock-tests --bench attribute`. Where there is no
//! valgrind, it says so.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{
    hint::black_box,
    process::{Command, ExitCode},
};

const FEW: u32 = 200;
const MANY: u32 = 1_200;

mod of_tokio {
    use tairlock::{Client, Error, distributed_lock};

    #[distributed_lock(key = "order:{id}", using = client)]
    async fn attribute(client: &Client, id: u64) -> Result<u64, Error> {
        Ok(body(id).await)
    }

    async fn body(id: u64) -> u64 {
        id + 1
    }

    async fn by_hand(client: &Client, id: u64) -> Result<u64, Error> {
        let guard = client.lock(format!("order:{id}")).acquire().await?;
        let output = body(id).await;
        _ = guard.release().await?;
        Ok(output)
    }

    /// Which ends with the lease, as the attribute's does.
    async fn by_hand_and_watched(client: &Client, id: u64) -> Result<u64, Error> {
        let guard = client.lock(format!("order:{id}")).acquire().await?;
        let output = tokio::select! {
            biased;
            _ = guard.lost() => return Err(Error::Closed),
            output = body(id) => output,
        };
        _ = guard.release().await?;
        Ok(output)
    }

    pub(crate) fn play(who: &str, calls: u32) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(async {
            let client = Client::in_memory();
            for _ in 0..calls {
                let id = std::hint::black_box(7);
                let output = match who {
                    "attribute" => attribute(&client, id).await,
                    "watched" => by_hand_and_watched(&client, id).await,
                    _ => by_hand(&client, id).await,
                };
                std::hint::black_box(output.expect("a free lock"));
            }
        });
    }
}

mod blocking {
    use tairlock_sync::{Client, Error, distributed_lock};

    #[distributed_lock(key = "order:{id}", using = client)]
    fn attribute(client: &Client, id: u64) -> Result<u64, Error> {
        Ok(id + 1)
    }

    fn by_hand(client: &Client, id: u64) -> Result<u64, Error> {
        let guard = client.lock(format!("order:{id}")).acquire()?;
        let output = id + 1;
        _ = guard.release()?;
        Ok(output)
    }

    pub(crate) fn play(who: &str, calls: u32) {
        let client = Client::in_memory();
        for _ in 0..calls {
            let id = std::hint::black_box(7);
            let output = match who {
                "attribute" => attribute(&client, id),
                _ => by_hand(&client, id),
            };
            std::hint::black_box(output.expect("a free lock"));
        }
    }
}

/// What valgrind counts in a process that plays so.
fn count(driver: &str, who: &str, calls: u32) -> Option<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(std::env::current_exe().ok()?).args(["--play", driver, who, &calls.to_string()]);
    let output = valgrind.output().ok().filter(|output| output.status.success())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

fn per_call(driver: &str, who: &str) -> Option<f64> {
    let (few, many) = (count(driver, who, FEW)?, count(driver, who, MANY)?);
    Some((many - few) as f64 / f64::from(MANY - FEW))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [play, driver, who, calls] = &arguments[..]
        && play == "--play"
    {
        let calls = calls.parse().expect("a number");
        match driver.as_str() {
            "tokio" => of_tokio::play(black_box(who), calls),
            _ => blocking::play(black_box(who), calls),
        }
        return ExitCode::SUCCESS;
    }
    println!("instructions per call, acquired and released, in memory");
    for (driver, who) in [("tokio", "watched"), ("tokio", "bare"), ("blocking", "bare")] {
        let (Some(hand), Some(attribute)) = (per_call(driver, who), per_call(driver, "attribute"))
        else {
            println!("skipped: there is no valgrind here, or it ended the program (see above)");
            return ExitCode::SUCCESS;
        };
        let more = (attribute / hand - 1.0) * 100.0;
        println!(
            "{driver:9} by hand ({who}) {hand:8.0}   attribute {attribute:8.0}   {more:+.1} %"
        );
    }
    ExitCode::SUCCESS
}
