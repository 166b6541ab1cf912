//! The async driver in a tokio runtime of several threads.

use std::future::Future;

use tairlock::Error;
use tokio::runtime::{Builder, Handle, Runtime};

use super::{
    Config, Locks, World,
    asynchronous::{Executor, client},
};
use crate::place::Place;

/// The async driver in a tokio runtime of several threads.
#[derive(Debug)]
pub struct Tokio(Runtime);

impl Default for Tokio {
    fn default() -> Self {
        let mut builder = Builder::new_multi_thread();
        Self(builder.worker_threads(2).enable_all().build().expect("a runtime"))
    }
}

impl World for Tokio {
    fn name(&self) -> &'static str {
        "tokio"
    }

    fn client(&self, place: &Place, config: &Config) -> Result<Box<dyn Locks>, Error> {
        client(self.0.handle().clone(), place, config)
    }
}

impl Executor for Handle {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        Self::block_on(self, future)
    }
}
