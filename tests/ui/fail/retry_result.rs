//! What a function answers says whether it failed, whether that was a conflict, and that nothing was done.

use std::num::ParseIntError;

use tairlock::{Error, optimistic_retry};

#[optimistic_retry(key = "a")]
async fn nothing(#[value] n: &mut u64) {
    *n += 1;
}

#[optimistic_retry(key = "a")]
async fn foreign_error(#[value] n: &mut u64) -> Result<(), ParseIntError> {
    *n = "1".parse()?;
    Ok(())
}

#[optimistic_retry(key = "a", or_else = |_error| 0)]
fn number(#[value] n: &mut u64) -> u64 {
    *n
}

#[optimistic_retry]
async fn says_no_conflict() -> Result<(), AppError> {
    Ok(())
}

#[optimistic_retry]
fn not_even_an_error() -> Option<u64> {
    None
}

#[derive(Debug)]
struct AppError;

impl From<Error> for AppError {
    fn from(_: Error) -> Self {
        Self
    }
}

fn main() {}
