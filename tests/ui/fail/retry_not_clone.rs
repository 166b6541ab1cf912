//! M34: each attempt needs arguments of its own; the one that cannot be had twice is named.

use tairlock::{Error, optimistic_retry};

struct Order(u64);

#[optimistic_retry(key = "a")]
async fn owned(#[value] n: &mut u64, order: Order, _not_used: Order) -> Result<(), Error> {
    *n -= order.0;
    Ok(())
}

#[optimistic_retry]
fn generic<T: Into<u64>>(name: String, amount: T) -> Result<(u64, String), Error> {
    Ok((amount.into(), name))
}

#[optimistic_retry]
fn closure(change: impl FnOnce() -> u64) -> Result<u64, Error> {
    Ok(change())
}

impl Order {
    #[optimistic_retry(key = "a")]
    async fn consumed(self, #[value] n: &mut u64) -> Result<Self, Error> {
        *n -= self.0;
        Ok(self)
    }
}

fn main() {}
