//! smol: its reactor's timers, which run under any executor, and an executor of our own for the keepers.

use std::{future::Future, sync::LazyLock, time::Duration};

use smol::{Executor, Timer};

use super::BoxFuture;

pub(super) fn sleep(duration: Duration) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        Timer::after(duration).await;
    })
}

/// Runs `task` on the keepers' thread. With tokio compiled in, that is tokio's and not this one.
#[allow(dead_code, reason = "with tokio and without a server to dial, nothing runs here")]
pub(super) fn spawn_keeper(task: impl Future<Output = ()> + Send + 'static) {
    static KEEPER: LazyLock<&'static Executor<'static>> = LazyLock::new(|| {
        let executor: &'static Executor<'static> = Box::leak(Box::new(Executor::new()));
        let run = || smol::block_on(executor.run(std::future::pending::<()>()));
        let thread = std::thread::Builder::new().name("tairlock-keeper".into()).spawn(run);
        // Without a thread no lease can be renewed and no drop can release: nothing to fall back on.
        thread.expect("the operating system gave no thread for the keeper");
        executor
    });
    KEEPER.spawn(task).detach();
}
