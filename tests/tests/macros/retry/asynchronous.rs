//! `async fn`s with a value: what is read, what is written, what comes back, every option.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tairlock::{Client, Codec, Error, Expiry, memory::SharedStore, optimistic_retry};

use super::{number, put};
use crate::{Answer, assert_send, client};

#[derive(Debug, PartialEq)]
enum AppError {
    SoldOut,
    Value(String),
}

impl From<Error> for AppError {
    fn from(error: Error) -> Self {
        Self::Value(error.to_string())
    }
}

#[optimistic_retry(key = "ra:stock:{sku}", using = client())]
async fn reserve(#[value] stock: &mut u64, sku: &str, quantity: u64) -> Result<u64, AppError> {
    *stock = stock.checked_sub(quantity).ok_or(AppError::SoldOut)?;
    tokio::task::yield_now().await;
    Ok(*stock)
}

#[tokio::test]
async fn the_value_is_filled_in_and_what_is_left_there_is_written() {
    put("ra:stock:a", 10).await;
    assert_eq!(reserve("a", 3).await, Ok(7));
    assert_eq!(reserve("a", 3).await, Ok(4));
    assert_eq!(number("ra:stock:a").await, 4);
    // The body's own error writes nothing.
    assert_eq!(reserve("a", 5).await, Err(AppError::SoldOut));
    assert_eq!(number("ra:stock:a").await, 4);
    let AppError::Value(absent) = reserve("b", 1).await.unwrap_err() else { panic!("sold out") };
    assert!(absent.contains("`ra:stock:b` does not exist"), "{absent}");
}

#[tokio::test]
async fn a_lost_attempt_runs_again_on_what_is_there_now() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = "ra:again", using = client())]
    async fn body(#[value] n: &mut u64, add: u64) -> Answer<u64> {
        if RUNS.fetch_add(1, Ordering::Relaxed) < 3 {
            put("ra:again", *n + 100).await;
        }
        *n += add;
        Ok(*n)
    }
    put("ra:again", 1).await;
    assert_eq!(body(5).await.unwrap(), 306);
    assert_eq!(RUNS.load(Ordering::Relaxed), 4);
    assert_eq!(number("ra:again").await, 306);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_increment_is_lost() {
    #[optimistic_retry(key = "ra:sum", using = client())]
    async fn add(#[value] n: &mut u64) -> Answer {
        let seen = *n;
        tokio::task::yield_now().await;
        *n = seen + 1;
        Ok(())
    }
    put("ra:sum", 0).await;
    let tasks: Vec<_> = (0..32)
        .map(|_| {
            tokio::spawn(async {
                for _ in 0..50 {
                    add().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(number("ra:sum").await, 32 * 50);
}

#[tokio::test]
async fn an_own_error_counts_only_if_what_it_is_about_was_there() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = "n", using = client)]
    async fn take(#[value] n: &mut u64, client: &Client) -> Result<u64, AppError> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        n.checked_sub(1).ok_or(AppError::SoldOut)
    }
    let store = Arc::<SharedStore>::default();
    let ours = Client::builder().store(Arc::clone(&store)).build().await.unwrap();
    let theirs = Client::builder().store(store).build().await.unwrap();
    let remembered = ours.versioned::<u64>("n");
    remembered.create(&0).await.unwrap();
    assert_eq!(take(&ours).await, Err(AppError::SoldOut));
    theirs.versioned::<u64>("n").overwrite(&8).await.unwrap(); // restocked
    RUNS.store(0, Ordering::Relaxed);
    assert_eq!(take(&ours).await, Ok(7));
    assert_eq!(RUNS.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn what_is_unchanged_is_not_written() {
    #[optimistic_retry(key = "ra:same", expire = "1s", using = client())]
    async fn body(#[value] n: &mut u64, add: u64) -> Answer<u64> {
        *n += add;
        Ok(*n)
    }
    put("ra:same", 5).await;
    let value = client().versioned::<u64>("ra:same");
    let before = value.read().await.unwrap().unwrap().version;
    assert_eq!(body(0).await.unwrap(), 5);
    assert_eq!(value.read().await.unwrap().unwrap().version, before);
    assert_eq!(body(1).await.unwrap(), 6);
    assert_eq!(value.read().await.unwrap().unwrap().version, before + 1);
}

#[tokio::test]
async fn the_budget_is_kept() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = "ra:budget", max_attempts = 3, using = client())]
    async fn often(#[value] n: &mut u64) -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        put("ra:budget", *n + 1).await;
        *n = 0;
        Ok(())
    }
    #[optimistic_retry(key = "ra:budget", within = "40ms", using = client())]
    async fn long(#[value] n: &mut u64) -> Answer {
        put("ra:budget", *n + 1).await;
        *n = 0;
        Ok(())
    }
    put("ra:budget", 1).await;
    let error = often().await.unwrap_err();
    let Error::Exhausted { key, attempts, .. } = &error else { panic!("{error}") };
    assert_eq!((key.as_ref().unwrap().as_bytes(), *attempts), (&b"ra:budget"[..], 3));
    assert_eq!(RUNS.load(Ordering::Relaxed), 3);
    assert_eq!(number("ra:budget").await, 4);
    assert!(matches!(long().await, Err(Error::Exhausted { .. })));
}

#[tokio::test]
async fn a_value_that_need_not_be_there_is_made_and_removed() {
    #[optimistic_retry(key = "ra:option:{key}", using = client())]
    async fn toggle(key: &str, #[value] there: &mut Option<Vec<String>>) -> Answer<bool> {
        *there = match there.take() {
            Some(_) => None,
            None => Some(vec![key.to_owned()]),
        };
        Ok(there.is_some())
    }
    let value = client().versioned::<Vec<String>>("ra:option:x");
    assert!(toggle("x").await.unwrap());
    assert_eq!(value.read().await.unwrap().unwrap().value, ["x"]);
    assert!(!toggle("x").await.unwrap());
    assert_eq!(value.read().await.unwrap(), None);
}

#[tokio::test]
async fn a_default_is_what_is_changed_where_nothing_is() {
    #[optimistic_retry(key = "ra:default:{key}", default = start * 2, using = client())]
    async fn count(#[value] n: &mut u64, key: u8, start: u64) -> Answer<u64> {
        *n += 1;
        Ok(*n)
    }
    assert_eq!(count(1, 10).await.unwrap(), 21);
    assert_eq!(count(1, 10).await.unwrap(), 22);
}

#[tokio::test]
async fn codecs() {
    const HEX: Codec<u32> = Codec::new(
        "hex",
        |n| Ok(format!("{n:x}").into_bytes()),
        |bytes| Ok(u32::from_str_radix(std::str::from_utf8(bytes)?, 16)?),
    );
    #[optimistic_retry(key = "ra:codec:text", codec = text, default = "a".to_owned(), using = client())]
    async fn text(#[value] text: &mut String) -> Answer<String> {
        text.push('!');
        Ok(text.clone())
    }
    #[optimistic_retry(key = "ra:codec:bytes", codec = bytes, using = client())]
    async fn bytes(#[value] bytes: &mut Option<Vec<u8>>) -> Answer {
        *bytes = Some(vec![0, 255]);
        Ok(())
    }
    #[optimistic_retry(key = "ra:codec:integer", codec = integer, default = 41, using = client())]
    async fn integer(#[value] n: &mut i64) -> Answer {
        *n += 1;
        Ok(())
    }
    #[optimistic_retry(key = "ra:codec:hex", codec = HEX, default = 254, using = client())]
    async fn hex(#[value] n: &mut u32) -> Answer {
        *n += 1;
        Ok(())
    }
    #[optimistic_retry(key = "ra:codec:json", codec = json, default = (), using = client())]
    async fn json(#[value] _: &mut ()) -> Answer {
        Ok(())
    }
    assert_eq!(text().await.unwrap(), "a!");
    bytes().await.unwrap();
    integer().await.unwrap();
    hex().await.unwrap();
    json().await.unwrap();
    let raw = async |key: &str| {
        let there = client().versioned::<()>(key).bytes().read().await.unwrap();
        there.map(|there| there.value)
    };
    assert_eq!(raw("ra:codec:text").await.unwrap(), b"a!");
    assert_eq!(raw("ra:codec:bytes").await.unwrap(), [0, 255]);
    assert_eq!(raw("ra:codec:integer").await.unwrap(), b"42");
    assert_eq!(raw("ra:codec:hex").await.unwrap(), b"ff");
    assert_eq!(raw("ra:codec:json").await, None, "a default that stays as it is is not written");
}

#[tokio::test]
async fn expiries() {
    const SOON: Duration = Duration::from_secs(60);
    macro_rules! with {
        ($name:ident, $expire:expr) => {
            #[optimistic_retry(key = "ra:expire:{key}", expire = $expire, default = 0, using = client())]
            async fn $name(#[value] n: &mut u64, key: &str) -> Answer {
                *n += 1;
                Ok(())
            }
        };
    }
    with!(number, 0.02);
    with!(text, "20ms");
    with!(duration, SOON);
    with!(expiry, Expiry::Persist);
    #[optimistic_retry(key = "ra:expire:{key}", expire = keep, default = 0, using = client())]
    async fn kept(#[value] n: &mut u64, key: &str) -> Answer {
        *n += 1;
        Ok(())
    }
    #[optimistic_retry(key = "ra:expire:{key}", expire = persist, default = 0, using = client())]
    async fn stays(#[value] n: &mut u64, key: &str) -> Answer {
        *n += 1;
        Ok(())
    }
    number("a").await.unwrap();
    text("b").await.unwrap();
    kept("b").await.unwrap();
    duration("c").await.unwrap();
    text("d").await.unwrap();
    expiry("d").await.unwrap();
    text("e").await.unwrap();
    stays("e").await.unwrap();
    let is_there = async |key: &str| {
        let value = client().versioned::<u64>(format!("ra:expire:{key}"));
        value.read().await.unwrap().is_some()
    };
    while is_there("a").await || is_there("b").await {
        tokio::task::yield_now().await;
    }
    assert!(is_there("c").await && is_there("d").await && is_there("e").await);
}

#[tokio::test]
async fn or_else_answers_in_the_functions_own_words() {
    #[optimistic_retry(key = "ra:or:{key}", max_attempts = 1, using = client(), or_else = |error| {
        format!("{key}: {}", matches!(error, Error::Absent { .. }))
    }.into())]
    async fn option(#[value] n: &mut u64, key: &str) -> Option<String> {
        *n = n.checked_sub(1)?;
        Some(n.to_string())
    }
    #[optimistic_retry(key = "ra:or:{key}", using = client(), or_else = drop)]
    async fn unit(#[value] n: &mut u64, key: &str) {
        *n += 1;
    }
    assert_eq!(option("a").await.unwrap(), "a: true");
    unit("a").await;
    put("ra:or:a", 0).await;
    unit("a").await;
    assert_eq!(option("a").await.unwrap(), "0");
    assert_eq!(option("a").await, None);
    assert_eq!(number("ra:or:a").await, 0);
}

#[tokio::test]
async fn settings_that_make_no_sense_are_said_before_anything_is_sent() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = key, max_attempts = attempts, within = Duration::from_millis(within),
        using = client())]
    async fn body(#[value] _n: &mut u64, key: &str, attempts: u32, within: u64) -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    #[optimistic_retry(key = "ra:nobody")]
    async fn nobody(#[value] _n: &mut u64) -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    for outcome in [body("", 1, 1).await, body("k", 0, 1).await, body("k", 1, 0).await] {
        assert!(matches!(outcome, Err(Error::Config(_))), "{outcome:?}");
    }
    assert!(matches!(nobody().await, Err(Error::NoDefaultClient)));
    assert_eq!(RUNS.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_a_body_changed_before_it_failed_is_not_written() {
    #[optimistic_retry(key = "ra:failed", using = client())]
    async fn error(#[value] n: &mut u64) -> Result<(), AppError> {
        *n += 1;
        Err(AppError::SoldOut)
    }
    #[optimistic_retry(key = "ra:failed", using = client())]
    async fn removed(#[value] n: &mut Option<u64>) -> Result<(), AppError> {
        *n = None;
        Err(AppError::SoldOut)
    }
    #[optimistic_retry(key = "ra:failed", using = client(), or_else = |error| panic!("{error}"))]
    async fn none(#[value] n: &mut u64) -> Option<()> {
        *n += 1;
        None
    }
    put("ra:failed", 5).await;
    assert_eq!(error().await, Err(AppError::SoldOut));
    assert_eq!(removed().await, Err(AppError::SoldOut));
    assert_eq!(none().await, None);
    assert_eq!(number("ra:failed").await, 5);
}

#[tokio::test]
async fn the_future_can_be_dropped_anywhere() {
    #[optimistic_retry(key = "ra:dropped", using = client())]
    async fn body(#[value] n: &mut u64, stuck: bool) -> Answer {
        *n += 1;
        if stuck {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
    put("ra:dropped", 0).await;
    _ = tokio::time::timeout(Duration::from_millis(30), body(true)).await.unwrap_err();
    // Whoever comes next is not behind it.
    body(false).await.unwrap();
    assert_eq!(number("ra:dropped").await, 1);
}

#[tokio::test]
async fn a_panic_writes_nothing_and_leaves_nobody_waiting() {
    #[optimistic_retry(key = "ra:panic", using = client())]
    async fn body(#[value] n: &mut u64, panics: bool) -> Answer {
        *n += 1;
        assert!(!panics, "as it should");
        Ok(())
    }
    put("ra:panic", 0).await;
    assert!(tokio::spawn(body(true)).await.unwrap_err().is_panic());
    body(false).await.unwrap();
    assert_eq!(number("ra:panic").await, 1);
}

#[tokio::test]
async fn the_future_is_send() {
    struct Service(Client);
    impl Service {
        #[optimistic_retry(key = "ra:send:{key}", default = 0, using = self.0)]
        async fn add(&mut self, #[value] n: &mut u64, key: String, by: &u64) -> Answer<u64> {
            tokio::task::yield_now().await;
            *n += by;
            Ok(*n)
        }
    }
    #[optimistic_retry(key = "ra:send", default = 0, using = client())]
    async fn cell(#[value] n: &mut u64, cell: std::cell::Cell<u64>) -> Answer<u64> {
        tokio::task::yield_now().await;
        cell.set(cell.get() + 1);
        *n += cell.get();
        Ok(*n)
    }
    let spawned = async {
        let mut service = Service(client().clone());
        service.add("x".into(), &2).await
    };
    assert_eq!(tokio::spawn(spawned).await.unwrap().unwrap(), 2);
    assert_eq!(tokio::spawn(cell(1.into())).await.unwrap().unwrap(), 2);
    drop(assert_send(reserve("x", 1)));
}
