//! A holder that is paused beyond its lease writes too late, and a database refuses it by its fence.
//!
//! ```sh
//! cargo run -p fenced-sql
//! ```
//!
//! Nothing else is needed: the locks are on the embedded server, the database is SQLite in memory. On
//! a server of yours it is `Client::connect("redis://…")`, and any SQL database will do.

mod account;

use std::{thread, time::Duration};

use account::Bank;
use tairlock::{Client, LockGuard};

/// Short, so that the pause need not be long.
const TTL: Duration = Duration::from_millis(200);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    say(
        "Two cashiers take 70 and 10 out of an account with 100, each under the lock of the account.",
    );
    say("The first is paused for longer than its lease, between its read and its write.\n");

    say("Without a fence:");
    let left = withdraw_twice(&Client::in_memory(), &Bank::open()?, false).await?;
    say(&format!("  left: {left}, and it should be 20: the late write has undone the other's\n"));

    say("With a fence:");
    let left = withdraw_twice(&Client::in_memory(), &Bank::open()?, true).await?;
    say(&format!("  left: {left}: the late cashier was refused, and can begin anew"));
    Ok(())
}

async fn withdraw_twice(client: &Client, bank: &Bank, checks: bool) -> anyhow::Result<i64> {
    // A process that stands still renews nothing, which is played here by not renewing.
    let lock = client.lock("account:7").ttl(TTL).fence(true).renew(false);

    let first = lock.acquire().await?;
    let seen = bank.balance()?;
    say(&format!("  first cashier: has the lock, fence {}, reads {seen}", of(&first)?));
    // A long pause: garbage collection, a stopped virtual machine, a laptop's lid.
    thread::sleep(TTL * 2);

    let second = lock.acquire().await?;
    let read = bank.balance()?;
    say(&format!("  second cashier: has the lock, fence {}, reads {read}", of(&second)?));
    write(bank, &second, read - 10, checks, "second")?;
    second.release().await.map(drop)?;

    // It does not look at its lease. If it did, the pause could still come right behind the look.
    write(bank, &first, seen - 70, checks, "first")?;
    bank.balance()
}

fn write(
    bank: &Bank,
    guard: &LockGuard,
    balance: i64,
    checks: bool,
    who: &str,
) -> anyhow::Result<()> {
    let written =
        if checks { bank.write_fenced(balance, of(guard)?)? } else { bank.write(balance)? };
    let what = if written { "written" } else { "refused, as a later holder has written" };
    say(&format!("  {who} cashier: writes {balance}: {what}"));
    Ok(())
}

fn of(guard: &LockGuard) -> anyhow::Result<i64> {
    let fence = guard.fence().ok_or_else(|| anyhow::anyhow!("a fence was asked for"))?;
    // Below 2^53, so that it fits any database's integers.
    Ok(i64::try_from(fence)?)
}

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn say(text: &str) {
    println!("{text}");
}
