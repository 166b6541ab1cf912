//! M5, M6: mistakes in the body are told of in the body, where they are.

use std::rc::Rc;

use tairlock::{Error, optimistic_retry};

#[optimistic_retry(key = "a")]
async fn wrong_tail(#[value] n: &mut u64) -> Result<String, Error> {
    *n += 1;
    Ok(5)
}

#[optimistic_retry(key = "a")]
fn wrong_return(#[value] n: &mut u64) -> Result<String, Error> {
    if *n == 0 {
        return Ok(5);
    }
    Ok(String::new())
}

#[optimistic_retry]
async fn wrong_question_mark() -> Result<u8, Error> {
    let number: u8 = "5".parse()?;
    Ok(number)
}

#[optimistic_retry(key = "a")]
async fn not_send(#[value] n: &mut u64) -> Result<u8, Error> {
    let x = Rc::new(1);
    std::future::ready(()).await;
    *n += 1;
    Ok(*x)
}

#[optimistic_retry(key = "a")]
async fn of_another_type(#[value] n: &mut u64, by: &str) -> Result<(), Error> {
    *n += by;
    Ok(())
}

fn send(_: impl Send) {}

fn main() {
    send(not_send());
}
