//! The blocking driver's hand-off from one process to another, beside that of a `BLPOP`.

use std::{
    io::{BufRead, BufReader, Write, stdin, stdout},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tairlock_sync::Client;
use tairlock_tests::Server;

use crate::{Options, Outcome, print_times};

const ROUNDS: usize = 300;

/// The holder is here, the waiter in another process; from before the release to after the grant.
pub(crate) fn hand_off(server: &Server, options: &Options) -> Outcome<()> {
    let polls = if options.wake == tairlock::Wake::Poll { "polls" } else { "listens" };
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--waiter", &server.url(), polls])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let result = rounds(server, &mut child);
    drop(child.stdin.take());
    child.wait()?;
    result
}

fn rounds(server: &Server, child: &mut Child) -> Outcome<()> {
    let missing = || std::io::Error::other("the waiter has no pipes");
    let mut orders = child.stdin.take().ok_or_else(missing)?;
    let mut answers = BufReader::new(child.stdout.take().ok_or_else(missing)?).lines();
    let mut answer = move || -> Outcome<u128> { Ok(answers.next().ok_or("it ended")??.parse()?) };
    let holder = Client::builder().url(server.url()).build()?;
    let (mut locks, mut pops, mut cli) = (Vec::new(), Vec::new(), server.cli());
    for round in 0..ROUNDS {
        let guard = holder.lock("b").wait(Duration::from_secs(10)).acquire()?;
        writeln!(orders, "lock")?;
        sleep(Duration::from_millis(25));
        let freed = now();
        _ = guard.release()?;
        let took = answer()?.saturating_sub(freed);
        // The first opens the listener.
        if round > 0 {
            locks.push(Duration::from_nanos(u64::try_from(took)?));
        }

        writeln!(orders, "pop")?;
        sleep(Duration::from_millis(25));
        let freed = now();
        redis::cmd("LPUSH").arg("l").arg("t").exec(&mut cli)?;
        let took = answer()?.saturating_sub(freed);
        pops.push(Duration::from_nanos(u64::try_from(took)?));
    }
    print_times("blocking hand-off between two processes", locks);
    print_times("a blocking BLPOP's hand-off, in turns with it", pops);
    Ok(())
}

/// The other process: does what it is told, and says when it was served.
pub(crate) fn waiter(url: &str, polls: bool) -> Outcome<()> {
    let wake = if polls { tairlock::Wake::Poll } else { tairlock::Wake::Push };
    let client = Client::builder().url(url).wake(wake).build()?;
    let mut cli = redis::Client::open(url)?.get_connection()?;
    for order in stdin().lines() {
        if order? == "lock" {
            let guard = client.lock("b").wait(Duration::from_secs(10)).acquire()?;
            writeln!(stdout(), "{}", now())?;
            _ = guard.release()?;
        } else {
            let _: (String, String) = redis::cmd("BLPOP").arg("l").arg(10).query(&mut cli)?;
            writeln!(stdout(), "{}", now())?;
        }
    }
    Ok(())
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}
