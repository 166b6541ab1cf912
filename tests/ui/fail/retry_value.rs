//! The value is one parameter, of type `&mut T`, marked `#[value]`.

use tairlock::{Error, optimistic_retry};

#[optimistic_retry(key = "a")]
async fn owned(#[value] n: u64) -> Result<u64, Error> {
    Ok(n)
}

#[optimistic_retry(key = "a")]
async fn shared(#[value] n: &u64) -> Result<u64, Error> {
    Ok(*n)
}

#[optimistic_retry(key = "a")]
async fn two(#[value] a: &mut u64, #[value] b: &mut u64) -> Result<u64, Error> {
    Ok(*a)
}

#[optimistic_retry(key = "a")]
async fn arguments(#[value(json)] n: &mut u64) -> Result<u64, Error> {
    Ok(*n)
}

#[optimistic_retry(key = "a")]
async fn hidden(#[value] n: &mut impl Default) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry(key = "a")]
async fn sometimes(#[cfg(any())] #[value] n: &mut u64) -> Result<(), Error> {
    Ok(())
}

struct Shop;

impl Shop {
    #[optimistic_retry(key = "a")]
    async fn this(#[value] &mut self) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {
    let _ = (owned(), shared(), Shop.this());
}
