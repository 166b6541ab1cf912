//! Two clients that want one lock again and again: they take turns, at a bounded number of commands.

use std::{sync::Mutex, thread, time::Duration};

use tairlock::Release;
use tairlock_tests::{
    Server,
    world::{Ask, World},
};

use crate::{client_at, for_each_driver};

for_each_driver!(two_in_a_loop_take_turns,);

const EACH: usize = 200;
const SECTION: Duration = Duration::from_millis(1);

/// How many commands about locks the server has executed.
fn commands(server: &Server) -> usize {
    let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut server.cli()).unwrap();
    let calls = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let counted = ["set", "get", "pttl", "eval", "evalsha"].contains(&name);
        counted.then(|| rest.split(',').next()?.parse::<usize>().ok())?
    };
    stats.lines().filter_map(calls).sum()
}

/// By counts alone: how long each waits is measured by `benches/waiting`, beside what the machine itself adds.
fn two_in_a_loop_take_turns(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let clients = [client_at(world, server.url()), client_at(world, server.url())];
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for (name, client) in clients.iter().enumerate() {
            let order = &order;
            scope.spawn(move || {
                for _ in 0..EACH {
                    let guard = client.acquire(&Ask::new("k").wait(30_000)).expect("served");
                    order.lock().expect("no panic").push(name);
                    thread::sleep(SECTION);
                    assert_eq!(guard.release().expect("release"), Release::Released);
                }
            });
        }
    });
    let sent = commands(&server);
    assert!(sent <= 6 * 2 * EACH, "{sent} commands for {} acquisitions", 2 * EACH);

    let order = order.into_inner().expect("no panic");
    // While both were at it: one has begun before the other, and has ended before.
    let first = order.iter().position(|&name| name != order[0]).expect("both were served");
    let last = order.iter().rposition(|&name| name != order[order.len() - 1]);
    let together = &order[first - 1..=last.expect("both were served")];
    assert!(together.len() > EACH, "they hardly met: {order:?}");
    let swaps = together.windows(2).filter(|two| two[0] != two[1]).count();
    assert!(swaps * 5 >= together.len() * 4, "{swaps} of {}: {order:?}", together.len());
}
