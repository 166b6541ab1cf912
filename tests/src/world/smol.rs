//! The async driver under smol.

use std::future::Future;

use tairlock::Error;

use super::{
    Config, Locks, World,
    asynchronous::{Executor, client},
};
use crate::place::Place;

/// The async driver under smol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Smol;

impl World for Smol {
    fn name(&self) -> &'static str {
        "smol"
    }

    fn client(&self, place: &Place, config: &Config) -> Result<Box<dyn Locks>, Error> {
        client(*self, place, config)
    }
}

impl Executor for Smol {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        smol::block_on(future)
    }
}
