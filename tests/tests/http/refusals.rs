//! What is refused is answered alike by both frameworks, and as the documentation says.

use std::{path::Path, time::Duration};

use bytes::Bytes;
use hyper::Response;
use tairlock::{Client, ConfigError, Error, Fault, FaultKind, Key, LossReason, Operation};
use tairlock_tower::{Answers, BadKey, Idempotency, Problem, Refusal};

use crate::{
    server,
    services::BOTH,
    stage::Stage,
    wire::{Answer, get, post},
    within,
};

/// Every refusal, by the name of its kind: status, `Retry-After`.
const TABLE: &[(&str, u16, Option<&str>)] = &[
    ("busy", 423, Some("1")),
    ("timed-out", 423, Some("1")),
    ("not-replicated", 503, Some("2")),
    ("lost", 503, None),
    ("maybe-committed", 503, None),
    ("conflict", 409, None),
    ("exhausted", 409, Some("1")),
    ("absent", 404, None),
    ("bad-key", 400, None),
    ("closed", 503, Some("1")),
    ("unavailable", 503, Some("2")),
    ("misconfigured", 500, None),
    ("idempotency-key-missing", 400, None),
    ("idempotency-key-invalid", 400, None),
    ("idempotency-key-reused", 422, None),
    ("in-flight", 409, Some("1")),
    ("unfinished", 409, None),
    ("not-kept", 409, None),
    ("overtaken", 503, None),
    ("too-long", 413, None),
    ("body-broken", 400, None),
    ("answer-broken", 500, None),
];

/// A refusal of that kind. Its text holds what no caller may see.
pub(crate) fn named(kind: &str) -> Refusal {
    let key = || Key::new("secret-key").expect("a key");
    let name = || "secret-key".to_owned();
    let fault = |kind| Fault::new(kind, "secret-server:6379 is gone");
    let backend = |kind| Error::Backend {
        key: Some(key()),
        operation: Operation::Acquire,
        fault: fault(kind),
    };
    let waited = Duration::from_secs(3);
    match kind {
        "busy" => Error::Busy { key: key() }.into(),
        "timed-out" => Error::TimedOut { key: key(), waited }.into(),
        "not-replicated" => Error::NotReplicated { key: key(), acked: 0, wanted: 1 }.into(),
        "lost" => Error::Lost { key: key(), reason: LossReason::Expired }.into(),
        "maybe-committed" => {
            Error::MaybeCommitted { key: key(), fault: fault(FaultKind::NoReply) }.into()
        }
        "conflict" => Error::Conflict { key: key(), expected: Some(1), found: Some(2) }.into(),
        "exhausted" => Error::Exhausted { key: Some(key()), attempts: 64, elapsed: waited }.into(),
        "absent" => Error::Absent { key: key() }.into(),
        "bad-key" => BadKey("it says secret-key").into(),
        "key-too-long" => Error::from(ConfigError::KeyTooLong { len: 9999, max: 9 }).into(),
        "closed" => Error::Closed.into(),
        "unavailable" => backend(FaultKind::Unreachable).into(),
        "out-of-memory" => backend(FaultKind::OutOfMemory).into(),
        "misconfigured" => backend(FaultKind::Permission).into(),
        "no-quorum" => Error::NoQuorum { key: key(), fault: fault(FaultKind::NoQuorum) }.into(),
        "would-deadlock" => Error::WouldDeadlock { key: key() }.into(),
        "stale-fence" => Error::StaleFence { key: key(), fence: 1, newest: 2 }.into(),
        "no-default-client" => Error::NoDefaultClient.into(),
        "idempotency-key-missing" => Refusal::IdempotencyKeyMissing,
        "idempotency-key-invalid" => Refusal::IdempotencyKeyInvalid("secret-key"),
        "idempotency-key-reused" => Refusal::IdempotencyKeyReused { key: name() },
        "in-flight" => Refusal::InFlight { key: name() },
        "unfinished" => Refusal::Unfinished { key: name() },
        "not-kept" => Refusal::NotKept { key: name() },
        "overtaken" => Refusal::Overtaken { key: name() },
        "too-long" => Refusal::BodyTooLong { limit: 7 },
        "body-broken" => Refusal::BodyBroken,
        "answer-broken" => Refusal::AnswerBroken,
        other => panic!("no refusal is called {other}"),
    }
}

fn docs() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/handlers.md");
    std::fs::read_to_string(path).expect("docs/handlers.md")
}

/// Status, headers (but the date) and body.
fn seen(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let headers = answer.headers.iter().filter(|(name, _)| *name != "date");
    let mut headers: Vec<_> = headers
        .map(|(name, value)| (name.to_string(), value.to_str().expect("text").to_owned()))
        .collect();
    headers.sort();
    (answer.status, headers, answer.body.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_frameworks_answer_every_refusal_alike() {
    let docs = docs();
    let stage = Stage::new(Client::in_memory());
    let [axum, actix] = [BOTH[0].serve(&stage).await, BOTH[1].serve(&stage).await];
    for &(kind, status, retry_after) in TABLE {
        let path = format!("/refuse/{kind}");
        let answer = within(get(axum.addr, &path)).await;
        assert_eq!(seen(&answer), seen(&within(get(actix.addr, &path)).await), "{kind}");

        assert_eq!((answer.status, answer.header("retry-after")), (status, retry_after), "{kind}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{kind}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{kind}");
        let body: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
        let uri = format!("https://github.com/tairlock/tairlock/blob/main/docs/handlers.md#{kind}");
        assert_eq!(body["type"], uri);
        assert_eq!(body["status"], status);
        assert!(body["title"].as_str().is_some_and(|title| title.len() > 10), "{kind}");
        assert_eq!(body.as_object().expect("an object").len(), 3, "{kind}");
        assert!(!format!("{answer:?}").contains("secret"), "{kind} gives away what it should not");

        // The page that `type` leads to says the same.
        let after = retry_after.map_or("–".to_owned(), |after| format!("{after} s"));
        let row = format!("| <a id=\"{kind}\"></a>`{kind}` | {status} | {after} |");
        assert!(docs.contains(&row), "docs/handlers.md has no {row}");
    }
}

#[test]
fn others_of_a_kind_are_answered_as_it_is() {
    for (name, kind) in [
        ("key-too-long", "bad-key"),
        ("out-of-memory", "unavailable"),
        ("no-default-client", "misconfigured"),
        ("no-quorum", "unavailable"),
        ("would-deadlock", "misconfigured"),
        ("stale-fence", "lost"),
    ] {
        assert_eq!(Problem::of(&named(name)).kind, kind);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_application_says_instead_is_said_everywhere() {
    let answers = Answers::new(|refusal| {
        let problem = Problem::of(refusal);
        let text = Bytes::from(format!("sorry: {}", problem.kind));
        Response::builder().status(418).header("x-own", "1").body(text).expect("a response")
    });
    let locks = Client::in_memory();
    let idempotency = Idempotency::new(locks.clone()).required(true).answers(answers.clone());
    let stage = Stage::with(locks, idempotency, answers);
    for kind in BOTH {
        let service = kind.serve(&stage).await;
        let guard = stage.locks.lock("item:1").acquire().await.expect("it is free");
        for (path, said) in [
            ("/hasty/1", "sorry: busy"),
            ("/hasty/x", "sorry: bad-key"),
            ("/once", "sorry: idempotency-key-missing"),
        ] {
            let answer = within(post(service.addr, path, &[], "")).await;
            let own = answer.header("x-own");
            let said = (418, Some("1"), said);
            assert_eq!((answer.status, own, answer.body.as_str()), said, "{kind:?}");
        }
        drop(guard);
        stage.free("item:1").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_that_really_happen() {
    let mut server = server();
    let client = Client::connect(server.url()).await.expect("a client");
    let stage = Stage::new(client);
    let services = [BOTH[0].serve(&stage).await, BOTH[1].serve(&stage).await];
    for service in &services {
        let guard = stage.locks.lock("item:1").acquire().await.expect("it is free");
        let ask = async |path| within(post(service.addr, path, &[], "")).await;
        let busy = ask("/hasty/1").await;
        assert_eq!((busy.status, busy.header("retry-after")), (423, Some("1")), "{}", busy.body);
        assert!(busy.body.contains("#busy"), "{}", busy.body);
        let timed_out = ask("/hasty-attribute/1").await;
        assert_eq!(timed_out.status, 423);
        assert!(timed_out.body.contains("#timed-out"), "{}", timed_out.body);
        assert_eq!(ask("/extractor/x").await.status, 400);
        assert!(guard.release().await.expect("the server answers").was_held());
        assert_eq!(ask("/hasty/1").await.body, "item 1");
    }
    server.kill();
    for service in &services {
        for path in ["/hasty/1", "/hasty-attribute/1"] {
            let down = within(post(service.addr, path, &[], "")).await;
            assert_eq!((down.status, down.header("retry-after")), (503, Some("2")), "{path}");
            assert!(down.body.contains("#unavailable"), "{}", down.body);
        }
        let down = within(post(service.addr, "/once", &[("idempotency-key", "a")], "x")).await;
        assert_eq!((down.status, down.header("retry-after")), (503, Some("2")));
    }
}
