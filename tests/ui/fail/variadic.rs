//! What cannot be handed on to a body.

#[tairlock_sync::distributed_lock(key = "a")]
unsafe extern "C" fn under_the_lock(x: u8, _: ...) -> Result<(), tairlock_sync::Error> {
    Ok(())
}

#[tairlock_sync::optimistic_retry]
unsafe extern "C" fn again(x: u8, _: ...) -> Result<(), tairlock_sync::Error> {
    Ok(())
}

fn main() {}
