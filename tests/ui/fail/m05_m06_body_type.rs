//! M5, M6: what is wrong in the body is told in the body.

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a")]
async fn tail() -> Result<String, Error> {
    Ok("")
}

#[distributed_lock(key = "a")]
async fn early(x: u8) -> Result<u8, Error> {
    if x == 0 {
        return Ok("zero");
    }
    Ok(x)
}

#[distributed_lock(key = "a")]
async fn question_mark(x: Option<u8>) -> Result<u8, Error> {
    let x = x?;
    Ok(x)
}

#[distributed_lock(key = "a")]
async fn foreign_error(x: &str) -> Result<u8, Error> {
    Ok(x.parse()?)
}

#[distributed_lock(key = "a")]
async fn no_tail() -> Result<u8, Error> {
    Ok::<u8, Error>(1);
}

#[distributed_lock(key = "a")]
fn blocking() -> Result<String, Error> {
    Ok("")
}

fn main() {}
