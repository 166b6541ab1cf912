//! The runtimes that something is cancelled in, each of which tells how many tasks it has.

use std::{
    future::{Future, poll_fn},
    task::Poll,
};

/// A runtime.
pub(super) trait Executor: Default {
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// How many tasks live in it, if it can tell.
    fn tasks(&self) -> Option<usize>;
}

/// Lets whatever else there is have its turn.
pub(super) async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(feature = "tokio")]
mod with_tokio {
    use tokio::runtime::{Builder, Runtime};

    use super::{Executor, Future};

    /// A tokio runtime of several threads.
    pub(crate) struct Many(Runtime);

    impl Default for Many {
        fn default() -> Self {
            let mut builder = Builder::new_multi_thread();
            Self(builder.worker_threads(2).enable_all().build().expect("a runtime"))
        }
    }

    /// A tokio runtime that runs when somebody blocks on it.
    pub(crate) struct One(Runtime);

    impl Default for One {
        fn default() -> Self {
            Self(Builder::new_current_thread().enable_all().build().expect("a runtime"))
        }
    }

    impl Executor for Many {
        fn block_on<F: Future>(&self, future: F) -> F::Output {
            self.0.block_on(future)
        }

        fn tasks(&self) -> Option<usize> {
            Some(self.0.metrics().num_alive_tasks())
        }
    }

    impl Executor for One {
        fn block_on<F: Future>(&self, future: F) -> F::Output {
            self.0.block_on(future)
        }

        fn tasks(&self) -> Option<usize> {
            Some(self.0.metrics().num_alive_tasks())
        }
    }
}

#[cfg(feature = "tokio")]
pub(super) use with_tokio::{Many, One};

#[cfg(feature = "smol")]
#[derive(Default)]
pub(super) struct Smol;

#[cfg(feature = "smol")]
impl Executor for Smol {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        smol::block_on(future)
    }

    fn tasks(&self) -> Option<usize> {
        None
    }
}

/// Makes a test of each function for each executor.
macro_rules! for_each_executor {
    ($($name:ident),* $(,)?) => {
        #[cfg(feature = "tokio")]
        mod tokio_of_several_threads {
            $(#[test] fn $name() { super::$name(&super::executor::Many::default()); })*
        }
        #[cfg(feature = "tokio")]
        mod tokio_of_one_thread {
            $(#[test] fn $name() { super::$name(&super::executor::One::default()); })*
        }
        #[cfg(feature = "smol")]
        mod smol {
            $(#[test] fn $name() { super::$name(&super::executor::Smol); })*
        }
    };
}
pub(super) use for_each_executor;
