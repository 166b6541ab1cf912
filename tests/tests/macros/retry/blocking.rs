//! Plain `fn`s: the same, without an `await`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use tairlock_sync::{
    Client, Codec, Error, Expiry, IsConflict, memory::SharedStore, optimistic_retry,
};

use super::{number_blocking as number, put_blocking as put};
use crate::{Answer, blocking_client as client};

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

#[optimistic_retry(key = "rb:stock:{sku}", using = client())]
fn reserve(sku: &str, #[value] stock: &mut u64, quantity: u64) -> Result<u64, AppError> {
    *stock = stock.checked_sub(quantity).ok_or(AppError::SoldOut)?;
    Ok(*stock)
}

#[test]
fn the_value_is_filled_in_and_what_is_left_there_is_written() {
    put("rb:stock:a", 10);
    assert_eq!(reserve("a", 3), Ok(7));
    assert_eq!(reserve("a", 5), Ok(2));
    assert_eq!(reserve("a", 5), Err(AppError::SoldOut));
    assert_eq!(number("rb:stock:a"), 2);
    let AppError::Value(absent) = reserve("b", 1).unwrap_err() else { panic!("sold out") };
    assert!(absent.contains("`rb:stock:b` does not exist"), "{absent}");
}

#[test]
fn a_lost_attempt_runs_again_on_what_is_there_now() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = "rb:again", using = client())]
    fn body(#[value] n: &mut u64, add: u64) -> Answer<u64> {
        if RUNS.fetch_add(1, Ordering::Relaxed) < 3 {
            put("rb:again", *n + 100);
        }
        *n += add;
        Ok(*n)
    }
    put("rb:again", 1);
    assert_eq!(body(5).unwrap(), 306);
    assert_eq!((RUNS.load(Ordering::Relaxed), number("rb:again")), (4, 306));
}

#[test]
fn no_increment_is_lost() {
    #[optimistic_retry(key = "rb:sum", using = client())]
    fn add(#[value] n: &mut u64) -> Answer {
        let seen = *n;
        thread::yield_now();
        *n = seen + 1;
        Ok(())
    }
    put("rb:sum", 0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..100).for_each(|_| add().unwrap()));
        }
    });
    assert_eq!(number("rb:sum"), 800);
}

#[test]
fn an_own_error_counts_only_if_what_it_is_about_was_there() {
    #[optimistic_retry(key = "n", using = client)]
    fn take(#[value] n: &mut u64, client: &Client) -> Result<u64, AppError> {
        n.checked_sub(1).ok_or(AppError::SoldOut)
    }
    let store = Arc::<SharedStore>::default();
    let ours = Client::builder().store(Arc::clone(&store)).build().unwrap();
    let theirs = Client::builder().store(store).build().unwrap();
    let remembered = ours.versioned::<u64>("n");
    remembered.create(&0).unwrap();
    assert_eq!(take(&ours), Err(AppError::SoldOut));
    theirs.versioned::<u64>("n").overwrite(&8).unwrap(); // restocked
    assert_eq!(take(&ours), Ok(7));
}

#[test]
fn what_a_body_changed_before_it_failed_is_not_written() {
    #[optimistic_retry(key = "rb:failed", using = client())]
    fn error(#[value] n: &mut u64) -> Result<(), AppError> {
        *n += 1;
        Err(AppError::SoldOut)
    }
    #[optimistic_retry(key = "rb:failed", using = client(), or_else = |error| panic!("{error}"))]
    fn none(#[value] n: &mut Option<u64>) -> Option<()> {
        *n = None;
        None
    }
    put("rb:failed", 5);
    assert_eq!(error(), Err(AppError::SoldOut));
    assert_eq!(none(), None);
    assert_eq!(number("rb:failed"), 5);
}

#[test]
fn the_budget_is_kept() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[optimistic_retry(key = "rb:budget", max_attempts = 3, within = "4s", using = client())]
    fn often(#[value] n: &mut u64) -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        put("rb:budget", *n + 1);
        *n = 0;
        Ok(())
    }
    put("rb:budget", 1);
    let error = often().unwrap_err();
    assert!(matches!(error, Error::Exhausted { attempts: 3, .. }), "{error}");
    assert_eq!((RUNS.load(Ordering::Relaxed), number("rb:budget")), (3, 4));
}

#[test]
fn every_option() {
    const HEX: Codec<u32> = Codec::new(
        "hex",
        |n| Ok(format!("{n:x}").into_bytes()),
        |bytes| Ok(u32::from_str_radix(std::str::from_utf8(bytes)?, 16)?),
    );
    #[optimistic_retry(key = "rb:hex", codec = HEX, default = start, expire = keep, using = client())]
    fn hex(#[value] n: &mut u32, start: u32) -> Answer<u32> {
        *n += 1;
        Ok(*n)
    }
    #[optimistic_retry(
        key = format!("rb:text:{}", "a"), codec = text, expire = Expiry::After(Duration::from_secs(9)),
        max_attempts = 2 + 1, within = Duration::from_secs(1), using = client(), or_else = |_| None,
        crate = ::tairlock_sync,
    )]
    fn text(#[value] text: &mut Option<String>) -> Option<usize> {
        text.get_or_insert_default().push('!');
        text.as_ref().map(String::len)
    }
    assert_eq!((hex(254).unwrap(), hex(7).unwrap()), (255, 256));
    assert_eq!((text(), text()), (Some(1), Some(2)));
    let raw = client().versioned::<()>("rb:hex").bytes().read().unwrap().unwrap();
    assert_eq!(raw.value, b"100");
}

#[test]
fn a_panic_writes_nothing_and_leaves_nobody_waiting() {
    #[optimistic_retry(key = "rb:panic", using = client())]
    fn body(#[value] n: &mut u64, panics: bool) -> Answer {
        *n += 1;
        assert!(!panics, "as it should");
        Ok(())
    }
    put("rb:panic", 0);
    thread::spawn(|| body(true)).join().unwrap_err();
    body(false).unwrap();
    assert_eq!(number("rb:panic"), 1);
}

#[test]
fn without_a_default_client_the_body_does_not_run() {
    #[optimistic_retry(key = "rb:nobody")]
    fn nobody(#[value] _n: &mut u64) -> Answer {
        unreachable!()
    }
    assert!(matches!(nobody(), Err(Error::NoDefaultClient)));
}

#[test]
fn without_a_key_the_body_runs_again_on_a_conflict_and_on_nothing_else() {
    #[derive(Debug)]
    struct Moved(bool);
    impl From<Error> for Moved {
        fn from(_: Error) -> Self {
            Self(false)
        }
    }
    impl IsConflict for Moved {
        fn is_conflict(&self) -> bool {
            self.0
        }
    }
    #[optimistic_retry]
    fn body(runs: &mut u32, conflicts: u32, then: bool) -> Result<u32, Moved> {
        *runs += 1;
        if *runs <= conflicts {
            return Err(Moved(true));
        }
        if then { Ok(*runs) } else { Err(Moved(false)) }
    }
    #[optimistic_retry(max_attempts = 3)]
    fn stubborn(runs: &mut u32) -> Answer {
        *runs += 1;
        let value = client().versioned::<u64>("rb:stubborn");
        value.compare_and_set(&1, 7).map(drop)
    }
    let (mut there, mut at_once, mut never) = (0, 0, 0);
    assert_eq!(body(&mut there, 2, true).unwrap(), 3);
    assert!(!body(&mut at_once, 0, false).unwrap_err().is_conflict());
    assert_eq!((there, at_once), (3, 1));
    put("rb:stubborn", 5);
    let error = stubborn(&mut never).unwrap_err();
    let Error::Exhausted { key, attempts: 3, .. } = &error else { panic!("{error}") };
    assert_eq!((key.as_ref().unwrap().as_bytes(), never), (&b"rb:stubborn"[..], 3));
}

#[test]
fn m08_results_are_coerced() {
    type Shown = Box<dyn std::fmt::Display>;
    #[optimistic_retry(key = "rb:m08", default = 0, using = client())]
    fn body(#[value] n: &mut u64, early: bool) -> Answer<Shown> {
        *n += 1;
        if early {
            return Ok(Box::new(*n));
        }
        Ok(Box::new("two"))
    }
    assert_eq!(format!("{}{}", body(true).unwrap(), body(false).unwrap()), "1two");
}

#[test]
fn m09_impl_trait_is_returned() {
    #[optimistic_retry(key = "rb:m09", default = 1, using = client())]
    fn body(#[value] n: &mut u64, add: impl Fn(u64) -> u64 + Clone) -> Answer<impl Fn() -> u64> {
        *n = add(*n);
        let now = *n;
        Ok(move || now + 1)
    }
    assert_eq!(body(|n| n + 4).unwrap()(), 6);
}
