//! Without a key: the body runs again on a conflict, and on nothing else.

use std::{error::Error as StdError, time::Duration};

use tairlock::{Error, IsConflict, optimistic_retry};

use super::{number, put};
use crate::{Answer, assert_send, client};

/// Moves one from the number under `from` to the number under `to`; `meddle` are the runs that come
/// too late.
#[optimistic_retry]
async fn move_one(from: &str, to: &str, runs: &mut u32, meddle: u32) -> Answer<u64> {
    *runs += 1;
    let (from, to) = (client().versioned::<u64>(from), client().versioned::<u64>(to));
    let seen = from.read().await?.expect("a number");
    if *runs <= meddle {
        from.overwrite(&(seen.value + 10)).await?;
    }
    from.compare_and_set(&(seen.value - 1), seen.version).await?;
    let one_more = |n: &mut u64| {
        *n += 1;
        Answer::Ok(())
    };
    to.update_or(0, one_more).await?;
    Ok(seen.value - 1)
}

#[tokio::test]
async fn a_conflict_is_tried_again() {
    put("rr:from", 5).await;
    let mut runs = 0;
    assert_eq!(assert_send(move_one("rr:from", "rr:to", &mut runs, 3)).await.unwrap(), 34);
    assert_eq!(runs, 4);
    assert_eq!((number("rr:from").await, number("rr:to").await), (34, 1));
}

#[tokio::test]
async fn nothing_else_is_tried_again() {
    #[derive(Clone, Debug, PartialEq)]
    enum AppError {
        Moved,
        Other,
    }
    impl IsConflict for AppError {
        fn is_conflict(&self) -> bool {
            *self == Self::Moved
        }
    }
    impl From<Error> for AppError {
        fn from(error: Error) -> Self {
            assert!(matches!(error, Error::Exhausted { key: None, attempts: 4, .. }), "{error}");
            Self::Other
        }
    }
    #[optimistic_retry(max_attempts = 4)]
    async fn body(runs: &mut u32, answers: [Option<AppError>; 5]) -> Result<u32, AppError> {
        *runs += 1;
        let answer = answers.into_iter().nth(*runs as usize - 1).flatten();
        answer.map_or(Ok(*runs), Err)
    }
    let moved = || Some(AppError::Moved);
    for (answers, expected, times) in [
        ([None, None, None, None, None], Ok(1), 1),
        ([Some(AppError::Other), None, None, None, None], Err(AppError::Other), 1),
        ([moved(), Some(AppError::Other), None, None, None], Err(AppError::Other), 2),
        ([moved(), moved(), moved(), None, None], Ok(4), 4),
        ([moved(), moved(), moved(), moved(), None], Err(AppError::Other), 4),
    ] {
        let mut runs = 0;
        assert_eq!(body(&mut runs, answers).await, expected);
        assert_eq!(runs, times);
    }
}

#[tokio::test]
async fn a_conflict_is_found_in_what_hides_it() {
    #[optimistic_retry(within = 2)]
    async fn anyhow(runs: &mut u32) -> anyhow::Result<u32> {
        *runs += 1;
        if *runs < 3 {
            let late = client().versioned::<u64>("rr:hidden").compare_and_set(&1, 7).await;
            return Err(anyhow::Error::from(late.unwrap_err()).context("while selling"));
        }
        Ok(*runs)
    }
    #[optimistic_retry]
    async fn boxed(runs: &mut u32) -> Result<(), Box<dyn StdError + Send + Sync>> {
        *runs += 1;
        if *runs < 3 {
            client().versioned::<u64>("rr:hidden").compare_and_set(&1, 7).await?;
        }
        Err("another one".into())
    }
    put("rr:hidden", 5).await;
    assert_eq!(assert_send(anyhow(&mut 0)).await.unwrap(), 3);
    let mut runs = 0;
    assert_eq!(assert_send(boxed(&mut runs)).await.unwrap_err().to_string(), "another one");
    assert_eq!(runs, 3);
}

#[tokio::test]
async fn the_budget_is_of_attempts_and_of_time() {
    #[optimistic_retry(within = "60ms", max_attempts = u32::MAX)]
    async fn long(runs: &mut u32) -> Answer {
        *runs += 1;
        client().versioned::<u64>("rr:budget").create(&1).await.map(drop)
    }
    #[optimistic_retry(max_attempts = attempts, within = within)]
    async fn given(attempts: u32, within: Duration) -> Answer {
        unreachable!()
    }
    put("rr:budget", 5).await;
    let mut runs = 0;
    let error = long(&mut runs).await.unwrap_err();
    let Error::Exhausted { key, attempts, elapsed } = &error else { panic!("{error}") };
    assert_eq!((key.as_ref().unwrap().as_bytes(), *attempts), (&b"rr:budget"[..], runs));
    assert!(runs > 1 && *elapsed < Duration::from_secs(2), "{error}");
    assert!(!error.is_conflict(), "what is exhausted is not tried again by a loop around this one");
    for (attempts, within) in [(0, Duration::from_secs(1)), (1, Duration::ZERO)] {
        assert!(matches!(given(attempts, within).await, Err(Error::Config(_))));
    }
}

#[tokio::test]
async fn or_else_answers_what_is_exhausted() {
    struct Late;
    impl IsConflict for Late {
        fn is_conflict(&self) -> bool {
            true
        }
    }
    #[optimistic_retry(max_attempts = 2, or_else = |_| Ok(()))]
    async fn given_up() -> Result<(), Late> {
        Err(Late)
    }
    assert!(given_up().await.is_ok());
}
