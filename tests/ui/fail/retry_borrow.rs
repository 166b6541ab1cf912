//! What an attempt gives away must not be what the next one changes.

use tairlock::{Error, optimistic_retry};

#[optimistic_retry(key = "a")]
async fn of_the_value(#[value] names: &mut Vec<String>) -> Result<&str, Error> {
    Ok(&names[0])
}

#[optimistic_retry(key = "a")]
async fn of_an_argument(#[value] n: &mut u64, seen: &mut Vec<u64>) -> Result<&mut u64, Error> {
    seen.push(*n);
    Ok(&mut seen[0])
}

#[optimistic_retry]
fn named<'a, 'b>(seen: &'a mut Vec<u64>, other: &'b str) -> Result<(&'a u64, &'b str), Error> {
    seen.push(1);
    Ok((&seen[0], other))
}

struct Shop(Vec<u64>);

impl Shop {
    #[optimistic_retry(key = "a")]
    async fn of_self(&mut self, #[value] n: &mut u64, _id: &str) -> Result<Option<&u64>, Error> {
        self.0.push(*n);
        Ok(self.0.last())
    }

    #[optimistic_retry(key = "a")]
    async fn shared_is_fine(&self, #[value] _n: &mut u64) -> Result<Option<&u64>, Error> {
        Ok(self.0.last())
    }
}

fn main() {
    let shop = Shop(vec![]);
    let _ = shop.shared_is_fine();
}
