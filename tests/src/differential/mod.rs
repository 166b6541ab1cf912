//! The embedded store and a real server are asked the same and must answer the same, op by op.
//!
//! [`memory::Store`](tairlock::memory::Store) is the specification. A sequence of steps, drawn from a
//! seed, is played on a store with a virtual clock and on a server through
//! [`Exchange`](tairlock::dialect::Exchange); after every step the verdicts, the values and the
//! times to live have to agree. A sequence that fails is shrunk and told with its seed.
//!
//! An operation is added in `asked.rs`, something that the world does in `deed.rs`, a server and the
//! ways it knows in `subject.rs`.

mod asked;
mod block;
mod deed;
mod fence;
mod plan;
mod sequence;
mod spec;
mod subject;
mod talk;
mod trial;
mod value;

pub use plan::{Plan, check, detects};
pub use sequence::Step;
pub use subject::{Dialect, SUBJECTS, Subject};
