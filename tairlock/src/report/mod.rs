//! What a production service sees of its locks: spans, events and metrics, decided here for both drivers.
//!
//! Drivers, machines and leases say what happened; what that is called, how it is labelled and when it is
//! worth an event is said in this folder, and listed for users in `docs/observability.md`. Without the
//! features `tracing` and `metrics` all of it is empty.

mod asking;
mod changing;
mod holding;
mod words;

#[cfg(feature = "metrics")]
mod counted;
#[cfg(not(feature = "metrics"))]
#[path = "uncounted.rs"]
mod counted;

#[cfg(feature = "tracing")]
mod told;
#[cfg(not(feature = "tracing"))]
#[path = "untold.rs"]
mod told;

#[cfg(any(feature = "tracing", feature = "metrics"))]
mod watch;
#[cfg(not(any(feature = "tracing", feature = "metrics")))]
#[path = "unwatched.rs"]
mod watch;

pub(crate) use asking::Queued;
pub use asking::{Asking, declined};
pub(crate) use changing::{Changed, Changing};
pub use counted::describe;
pub use holding::Holding;
pub(crate) use told::{Entered, skipped, unsaid};
