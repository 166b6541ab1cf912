//! What tairlock's tests stand on: real servers, and a proxy in front of them that plays faults.

pub mod binaries;
pub mod differential;
pub mod documented;
pub mod fleet;
pub mod laws;
pub mod place;
pub mod polls;
mod process;
pub mod program;
pub mod proxy;
pub mod quorum_sim;
pub mod resp;
pub mod server;
pub mod sim;
pub mod source;
pub mod subject;
pub mod world;

pub use proxy::Proxy;
pub use server::Server;
