//! What the tests share: finding servers, running them, talking to them.
#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod find;
pub(crate) mod resp;
pub(crate) mod server;
pub(crate) mod state;
pub(crate) mod words;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};

use find::Found;

/// How long anything may take that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Asks until the answer is `Ok`, or patience ends with the last `Err`.
pub(crate) fn until<T>(mut ask: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            answer => return answer,
        }
    }
}

/// A case: its name, and what it does with a server's binary.
pub(crate) type Case = (&'static str, fn(&Path) -> Result<(), String>);

/// Runs each case on each server. A server that is missing fails its cases; one that is optional
/// and not there shows up as ignored.
pub(crate) fn run(cases: &[Case]) -> ! {
    let mut trials = Vec::new();
    for server in find::servers() {
        for &(name, case) in cases {
            let Found { binary, .. } = server.clone();
            let wanted = binary.is_some();
            let trial = Trial::test(format!("{}::{name}", server.name), move || match binary {
                Some(Ok(binary)) => case(&binary).map_err(Failed::from),
                Some(Err(missing)) => Err(missing.into()),
                None => Err("not there".into()),
            });
            trials.push(trial.with_ignored_flag(!wanted));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}
