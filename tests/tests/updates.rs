//! `#[optimistic_retry]` on real servers, alone and by many at once: nothing is lost, and little is sent.

use std::io;

use tairlock::Error;
use tairlock_tests::{
    Proxy, Server, binaries::Binary, program::Program, proxy::Fault, server::Builder,
};

/// Both forms that values have, and the command that changes one.
fn servers() -> [(&'static str, Builder, &'static str); 2] {
    let tair = Server::redis7().module(Binary::TairString.find().expect("the module"));
    [("hash", Server::redis7(), "EVALSHA"), ("TairString", tair, "EXCAS")]
}

/// Runs a program of each kind at once, on a new server; answers what was added, and what is there.
fn count(server: Builder, kinds: &[&str], many: u64, often: u64) -> io::Result<(u64, u64)> {
    let server = server.start().expect("a server");
    let url = server.url();
    let client = tairlock_sync::Client::connect(&*url).expect("a client");
    for key in ["programs", "n"] {
        client.versioned::<u64>(key).create(&0).expect("created");
    }
    let [programs, many, often] = [kinds.len() as u64, many, often].map(|n| n.to_string());
    let start = |kind: &&str| {
        let arguments = [&*url, kind, &programs, &many, &often];
        Program::start(env!("CARGO_BIN_EXE_counter"), &arguments)
    };
    let mut started = kinds.iter().map(start).collect::<io::Result<Vec<_>>>()?;
    let added = started.iter().map(|program| program.line().parse::<u64>().expect("a number"));
    let added = added.sum();
    assert!(started.iter_mut().all(Program::ended_well));
    Ok((added, client.versioned::<u64>("n").read().expect("read").expect("a number").value))
}

#[test]
fn a_thousand_by_each_of_64_tasks_are_64_000() {
    let counted = count(Server::redis7(), &["tasks"], 64, 1_000).expect("a program");
    assert_eq!(counted, (64_000, 64_000));
}

#[test]
fn two_processes_of_64_tasks_lose_nothing() {
    let counted = count(Server::redis7(), &["tasks", "tasks"], 64, 500).expect("programs");
    assert_eq!(counted, (64_000, 64_000));
}

#[test]
fn tasks_and_threads_in_two_processes_lose_nothing() {
    for (form, server, _) in servers() {
        let counted = count(server, &["tasks", "threads"], 64, 100).expect("programs");
        assert_eq!(counted, (12_800, 12_800), "{form}");
    }
}

mod asynchronous {
    use tairlock::{Client, Error, optimistic_retry};

    #[optimistic_retry(key = "{key}", using = client)]
    pub(super) async fn add(
        client: &Client,
        key: &str,
        #[value] n: &mut u64,
    ) -> Result<u64, Error> {
        *n += 1;
        Ok(*n)
    }
}

mod blocking {
    use tairlock_sync::{Client, Error, optimistic_retry};

    #[optimistic_retry(key = "{key}", using = client)]
    pub(super) fn add(client: &Client, key: &str, #[value] n: &mut u64) -> Result<u64, Error> {
        *n += 1;
        Ok(*n)
    }
}

/// The commands of each of 20 updates: warm, and of nobody else.
fn each_is_one(
    form: &str,
    proxy: &Proxy,
    swap: &str,
    mut add: impl FnMut(&str) -> Result<u64, Error>,
) {
    // Every script is known, and the value is there.
    for key in ["warm", "warm", "n"] {
        add(key).expect("added");
    }
    proxy.clear();
    for round in 1..=20 {
        assert_eq!(add("n").expect("added"), 1 + round);
    }
    let texts = proxy.texts();
    assert!(
        texts.len() == 20 && texts.iter().all(|text| text.starts_with(swap)),
        "{form}: {texts:?}"
    );
}

#[test]
fn an_update_that_is_warm_and_alone_is_one_command() {
    for (form, server, swap) in servers() {
        let server = server.start().expect("a server");
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        let url = proxy.url();
        let client = tairlock_sync::Client::connect(&*url).expect("a client");
        for key in ["warm", "n"] {
            client.versioned::<u64>(key).create(&0).expect("created");
        }
        each_is_one(form, &proxy, swap, |key| blocking::add(&client, key));

        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let client = runtime.block_on(tairlock::Client::connect(&*url)).expect("a client");
        for key in ["warm", "n"] {
            runtime.block_on(client.versioned::<u64>(key).overwrite(&0)).expect("written");
        }
        each_is_one(form, &proxy, swap, |key| runtime.block_on(asynchronous::add(&client, key)));
    }
}

/// One reply to a write is lost: it is written once, and said so, or that it is not known.
fn one_is_lost(
    form: &str,
    proxy: &Proxy,
    swap: &str,
    before: u64,
    mut add: impl FnMut(&str) -> Result<u64, Error>,
) {
    proxy.once(swap, Fault::SwallowAndCut);
    match (form, add("n")) {
        (_, Ok(n)) => assert_eq!(n, before + 1, "{form}"),
        // A TairString has no room for whose write it was: somebody else may have added one.
        ("TairString", Err(Error::MaybeCommitted { .. })) => {}
        (_, Err(error)) => panic!("{form}: {error}"),
    }
    assert_eq!(add("n").expect("added"), before + 2, "{form}: the lost one was written once");
}

#[test]
fn a_lost_reply_is_settled_or_told() {
    for (form, server, swap) in servers() {
        let server = server.start().expect("a server");
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        let url = proxy.url();
        let client = tairlock_sync::Client::connect(&*url).expect("a client");
        client.versioned::<u64>("n").create(&0).expect("created");
        blocking::add(&client, "n").expect("added");
        one_is_lost(form, &proxy, swap, 1, |key| blocking::add(&client, key));

        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let client = runtime.block_on(tairlock::Client::connect(&*url)).expect("a client");
        runtime.block_on(asynchronous::add(&client, "n")).expect("added");
        let add = |key: &str| runtime.block_on(asynchronous::add(&client, key));
        one_is_lost(form, &proxy, swap, 4, add);
    }
}
