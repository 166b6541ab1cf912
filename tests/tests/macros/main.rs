//! `#[distributed_lock]` expanded and run, on the embedded server. Names that begin with `m01` to `m34`
//! are rows of the list of what other attributes got wrong.

mod asynchronous;
mod blocking;
mod choices;
mod drops;
mod holding;
mod hygiene;
mod keys;
mod neighbours;
mod reentry;
mod retry;
mod several;
mod shapes;

use std::sync::OnceLock;

/// One client for all async tests; each uses keys of its own.
fn client() -> &'static tairlock::Client {
    static CLIENT: OnceLock<tairlock::Client> = OnceLock::new();
    CLIENT.get_or_init(tairlock::Client::in_memory)
}

/// The same for blocking tests.
fn blocking_client() -> &'static tairlock_sync::Client {
    static CLIENT: OnceLock<tairlock_sync::Client> = OnceLock::new();
    CLIENT.get_or_init(tairlock_sync::Client::in_memory)
}

/// Whether somebody holds `key`.
async fn is_locked(key: &str) -> bool {
    client().lock(key).try_acquire().await.expect("the embedded server answers").is_none()
}

/// Whether somebody holds `key`, in blocking code.
fn is_locked_blocking(key: &str) -> bool {
    blocking_client().lock(key).try_acquire().expect("the embedded server answers").is_none()
}

/// A release that a drop hands to the background is a moment later.
async fn is_soon_free(key: &str) -> bool {
    client().lock(key).acquire().await.is_ok()
}

/// What a body can always answer with.
type Answer<T = ()> = Result<T, tairlock::Error>;

fn assert_send<T: Send>(value: T) -> T {
    value
}
