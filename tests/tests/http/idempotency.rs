//! The record of an idempotent request, where processes die and leases end: on a real server.

use std::time::Duration;

use bytes::Bytes;
use tairlock::Client;
use tairlock_tests::Server;
use tairlock_tower::{
    Idempotency, Refusal, Unfinished,
    idempotency::{Ended, Entry, Fingerprint, Run, Stored},
};

use crate::{server, within};

const KEY: &str = "idempotency:%_:a";

/// A process, as the server sees it.
async fn process(server: &Server, unfinished: Unfinished) -> Idempotency {
    let client = Client::connect(server.url()).await.expect("a client");
    Idempotency::new(client).unfinished(unfinished).wait(Duration::from_secs(20))
}

async fn enter(idempotency: &Idempotency) -> Result<Entry, Refusal> {
    let print = Fingerprint::of("POST", "/", None, b"");
    within(idempotency.enter(KEY.to_owned(), print)).await
}

async fn begin(idempotency: &Idempotency) -> Box<Run> {
    let Ok(Entry::Run(mut run)) = enter(idempotency).await else { panic!("its turn") };
    within(run.begin()).await.expect("it is begun");
    run
}

fn receipt() -> Stored {
    Stored::new(200, Bytes::from_static(b"receipt"))
}

fn command(server: &Server, words: &[&str]) -> redis::Value {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]).query(&mut server.cli()).expect("the server answers")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_overtaken_says_so() {
    let server = server();
    let [slow, quick] = [
        process(&server, Unfinished::RunAgain).await,
        process(&server, Unfinished::RunAgain).await,
    ];
    let run = begin(&slow).await;
    // As if it had been stopped until its lease had ended, before it looks at the clock again.
    command(&server, &["DEL", &format!("{KEY}:lock")]);
    let second = begin(&quick).await;
    within(second.end(Ended::Kept(receipt()))).await.expect("recorded");
    let late = within(run.end(Ended::Kept(Stored::new(200, Bytes::from_static(b"other"))))).await;
    assert!(matches!(late, Err(Refusal::Overtaken { .. })), "{late:?}");
    for process in [slow, quick] {
        let Ok(Entry::Replay(stored)) = enter(&process).await else { panic!("a replay") };
        assert_eq!(stored, receipt());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_lives_as_long_as_it_is_told() {
    let server = server();
    let idempotency = process(&server, Unfinished::Refuse).await;
    let idempotency = idempotency.expire_after(Duration::from_secs(100));
    let left = || match command(&server, &["PTTL", KEY]) {
        redis::Value::Int(left) => left,
        other => panic!("{other:?}"),
    };
    let run = begin(&idempotency).await;
    assert!((90_000..=100_000).contains(&left()), "begun: {}", left());
    command(&server, &["PEXPIRE", KEY, "5000"]);
    within(run.end(Ended::Kept(receipt()))).await.expect("recorded");
    assert!((90_000..=100_000).contains(&left()), "done: {}", left());
    // Its lock is gone.
    assert_eq!(command(&server, &["EXISTS", &format!("{KEY}:lock")]), redis::Value::Int(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_noticed_when_the_lease_has_ended() {
    let server = server();
    for unfinished in [Unfinished::Refuse, Unfinished::RunAgain] {
        server.flush();
        let crashed = process(&server, unfinished).await.ttl(Duration::from_secs(1));
        let run = begin(&crashed).await;
        // Nobody renews it any more, and nobody gives it back.
        let token = command(&server, &["GET", &format!("{KEY}:lock")]);
        std::mem::forget(run);
        let client = Client::connect(server.url()).await.expect("a client");
        drop(crashed);
        let redis::Value::BulkString(token) = token else { panic!("{token:?}") };
        let token = String::from_utf8(token).expect("text");
        command(&server, &["SET", &format!("{KEY}:lock"), &format!("{token}?"), "PX", "700"]);
        let next = Idempotency::new(client).unfinished(unfinished);
        match (unfinished, enter(&next).await) {
            (Unfinished::Refuse, Err(Refusal::Unfinished { .. })) => {}
            (Unfinished::RunAgain, Ok(Entry::Run(_))) => {}
            (_, other) => panic!("{unfinished:?}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_recorded_is_good_unless_it_is_done_again() {
    for unfinished in [Unfinished::Refuse, Unfinished::RunAgain] {
        let mut server = server();
        let idempotency = process(&server, unfinished).await;
        let run = begin(&idempotency).await;
        server.kill();
        match (unfinished, within(run.end(Ended::Kept(receipt()))).await) {
            (Unfinished::Refuse, Ok(())) | (Unfinished::RunAgain, Err(Refusal::Lock(_))) => {}
            (_, other) => panic!("{unfinished:?}: {other:?}"),
        }
    }
}
