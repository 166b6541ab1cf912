//! Every place that the laws are tried at: a new server is a line here.

use crate::{
    binaries::Binary,
    place::{
        Place,
        Protocol::{Resp2, Resp3},
    },
    server::{Builder, Server},
};

/// Every place, by name. None is started before it is used.
#[must_use]
pub fn places() -> Vec<(&'static str, Place)> {
    vec![
        ("memory", Place::memory()),
        ("redis 6.2", Place::real(Server::redis62, Resp2)),
        ("redis 6.2 resp3", Place::real(Server::redis62, Resp3)),
        ("redis 7.0", Place::real(Server::redis7, Resp2)),
        ("redis 7.0 resp3", Place::real(Server::redis7, Resp3)),
        ("redis 8.6", Place::real(Server::redis8, Resp2)),
        ("redis 8.6 resp3", Place::real(Server::redis8, Resp3)),
        ("valkey 9.1", Place::real(Server::valkey9, Resp2)),
        ("valkey 9.1 resp3", Place::real(Server::valkey9, Resp3)),
        ("redis 7.0 tairstring", Place::real(|| tair(Server::redis7()), Resp2)),
        ("redis 7.0 tairstring resp3", Place::real(|| tair(Server::redis7()), Resp3)),
        ("valkey 9.1 tairstring", Place::real(|| tair(Server::valkey9()), Resp2)),
        ("valkey 9.1 tairstring resp3", Place::real(|| tair(Server::valkey9()), Resp3)),
        ("cluster of redis 7.0", Place::cluster(Server::redis7, Resp2)),
        ("cluster of valkey 9.1 resp3", Place::cluster(Server::valkey9, Resp3)),
        ("cluster of redis 7.0 tairstring", Place::cluster(|| tair(Server::redis7()), Resp2)),
        ("redis 7.0 and a replica that confirms", Place::confirmed(Server::redis7, Resp2)),
        ("quorum of redis 7.0", Place::quorum(Server::redis7, Resp2)),
        ("quorum of valkey 9.1 resp3", Place::quorum(Server::valkey9, Resp3)),
        ("sentinels of redis 7.0", Place::sentinels(Server::redis7, Resp2)),
        ("sentinels of valkey 9.1 resp3", Place::sentinels(Server::valkey9, Resp3)),
    ]
}

/// With the commands of Tair.
///
/// # Panics
/// If the module is not installed.
pub fn tair(server: Builder) -> Builder {
    let module = Binary::TairString.find().unwrap_or_else(|missing| panic!("{missing}"));
    server.module(module)
}
