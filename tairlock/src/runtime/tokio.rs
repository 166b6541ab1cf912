//! tokio: timers of the caller's runtime, and a runtime of our own for the keepers.

use std::{sync::LazyLock, time::Duration};

use tokio::runtime::{Builder, Handle, Id};

use super::BoxFuture;

pub(super) fn current() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

pub(super) fn sleep(duration: Duration) -> BoxFuture<'static, ()> {
    Box::pin(tokio::time::sleep(duration))
}

pub(super) fn spawn_keeper(task: BoxFuture<'static, ()>) {
    static KEEPER: LazyLock<Handle> = LazyLock::new(|| {
        let (send, receive) = std::sync::mpsc::channel();
        let run = move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => {
                    _ = send.send(Ok(runtime.handle().clone()));
                    runtime.block_on(std::future::pending::<()>());
                }
                Err(error) => _ = send.send(Err(error)),
            }
        };
        let thread = std::thread::Builder::new().name("tairlock-keeper".into()).spawn(run);
        // Without a thread no lease can be renewed and no drop can release: nothing to fall back on.
        thread.expect("the operating system gave no thread for the keeper");
        let handle = receive.recv().expect("the keeper's thread ended before it began");
        handle.expect("the operating system gave no I/O for the keeper")
    });
    KEEPER.spawn(task);
}
