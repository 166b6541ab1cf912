//! M26: what an `unsafe fn` may do without a block, it may do under the attribute.

#![allow(unsafe_op_in_unsafe_fn)]

use tairlock::{Error, distributed_lock};

#[distributed_lock(key = "a")]
async unsafe fn read(x: &u8) -> Result<u8, Error> {
    let x: *const u8 = x;
    Ok(*x)
}

#[distributed_lock(key = "b", or_else = |_| 0)]
unsafe extern "C" fn read_blocking(x: *const u8) -> u8 {
    *x
}

#[tokio::main]
async fn main() {
    tairlock::set_default(tairlock::Client::in_memory()).unwrap();
    tairlock_sync::set_default(tairlock_sync::Client::in_memory()).unwrap();
    assert_eq!(unsafe { read(&1) }.await.unwrap(), 1);
    assert_eq!(unsafe { read_blocking(&1) }, 1);
}
