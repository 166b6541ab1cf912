//! M4, M26, M2: what cannot run again, and what has nothing to run.

use std::{future::Future, pin::Pin};

use tairlock::{Error, optimistic_retry};

trait Repository {
    #[optimistic_retry(key = "a")]
    async fn load(&self, #[value] n: &mut u64) -> Result<u8, Error>;

    #[optimistic_retry]
    fn load_blocking(&self) -> Result<u8, Error>;
}

#[optimistic_retry(key = "a")]
const fn early(#[value] n: &mut u64) -> Result<(), Error> {
    Ok(())
}

#[optimistic_retry]
fn elsewhere() -> impl Future<Output = Result<(), Error>> {
    std::future::ready(Ok(()))
}

#[optimistic_retry(key = "a")]
fn boxed(#[value] n: &mut u64) -> Pin<Box<dyn Future<Output = Result<(), Error>>>> {
    Box::pin(std::future::ready(Ok(())))
}

#[optimistic_retry]
struct Stock;

#[optimistic_retry(key = "a")]
impl Stock {}

fn main() {
    let _ = elsewhere();
}
