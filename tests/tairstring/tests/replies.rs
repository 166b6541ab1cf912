//! Every reply, byte for byte: the tables of `tests/tables` in RESP2 and RESP3, on each server.

mod support;
mod table;

use std::path::Path;

use support::resp::Protocol;
use support::server::Server;

const TABLES: [(&str, &str); 6] = [
    ("cas.txt", include_str!("tables/cas.txt")),
    ("exset.txt", include_str!("tables/exset.txt")),
    ("excas.txt", include_str!("tables/excas.txt")),
    ("exincrby.txt", include_str!("tables/exincrby.txt")),
    ("nesting.txt", include_str!("tables/nesting.txt")),
    ("server.txt", include_str!("tables/server.txt")),
];

fn main() {
    support::run(&[
        ("resp2", |binary| run(binary, Protocol::Resp2)),
        ("resp3", |binary| run(binary, Protocol::Resp3)),
    ])
}

fn run(binary: &Path, protocol: Protocol) -> Result<(), String> {
    let server = Server::start(binary, &[])?;
    let mut rows = 0;
    let mut failures = Vec::new();
    for (file, text) in TABLES {
        for case in table::parse(file, text) {
            rows += case.run(&server, protocol, &mut failures)?;
        }
    }
    if failures.is_empty() {
        eprintln!("{rows} rows in {protocol:?} on {}", binary.display());
        return Ok(());
    }
    let count = failures.len();
    Err(format!("{count} of {rows} rows:\n{}", failures.join("\n")))
}
