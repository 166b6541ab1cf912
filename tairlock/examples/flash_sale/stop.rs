//! Being asked to stop: by Ctrl-C, by SIGTERM, or by the parent process.

use tokio::sync::watch;

/// Whether somebody asked. Clones are one.
#[derive(Clone)]
pub(crate) struct Stop(watch::Sender<bool>);

impl Stop {
    /// Listens to signals from now on, in place of dying of them.
    pub(crate) fn on_signals() -> Self {
        let stop = Self(watch::Sender::new(false));
        let signalled = stop.clone();
        tokio::spawn(async move {
            signal().await;
            signalled.ask();
        });
        stop
    }

    /// Asks to stop.
    pub(crate) fn ask(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when somebody asks.
    pub(crate) async fn asked(&self) {
        // The sender is ours, so the channel is not closed.
        _ = self.0.subscribe().wait_for(|&asked| asked).await;
    }
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};

    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
