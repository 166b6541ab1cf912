//! The async driver under async-std.

use std::future::Future;

use tairlock::Error;

use super::{
    Config, Locks, World,
    asynchronous::{Executor, client},
};
use crate::place::Place;

/// The async driver under async-std.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsyncStd;

impl World for AsyncStd {
    fn name(&self) -> &'static str {
        "async-std"
    }

    fn client(&self, place: &Place, config: &Config) -> Result<Box<dyn Locks>, Error> {
        client(*self, place, config)
    }
}

impl Executor for AsyncStd {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        async_std::task::block_on(future)
    }
}
