//! What replicas and the AOF are told, word for word, and what a replica then holds.

mod support;

use std::fs;
use std::path::Path;

use support::resp::read_value;
use support::server::Server;
use support::{state, until};

fn main() {
    support::run(&[
        ("propagated", propagated),
        ("replica_follows", replica_follows),
        ("replica_loads", replica_loads),
        ("replica_refuses_writes", replica_refuses_writes),
    ])
}

/// A command, and what goes into the stream for it; `<ms>` is a deadline not long from now.
const PROPAGATED: &[(&str, &[&str])] = &[
    ("SET s a PX 600000", &["SET s a PXAT <ms>"]),
    ("CAS s a b", &["SET s b"]),
    ("CAS s b c PX 600000", &["MULTI", "SET s c", "PEXPIREAT s <ms>", "EXEC"]),
    ("CAS s c d EX 600", &["MULTI", "SET s d", "PEXPIREAT s <ms>", "EXEC"]),
    ("CAS s d e EXAT 4102444800", &["MULTI", "SET s e", "PEXPIREAT s 4102444800000", "EXEC"]),
    ("CAS s e f PXAT 4102444800001", &["MULTI", "SET s f", "PEXPIREAT s 4102444800001", "EXEC"]),
    ("CAS s f g KEEPTTL", &["SET s g KEEPTTL"]),
    ("CAS s x y", &[]),
    ("CAS gone x y", &[]),
    ("CAS s g h PX 0", &[]),
    ("CAD s x", &[]),
    ("CAD gone x", &[]),
    ("CAD s g", &["DEL s"]),
    ("EXSET k a", &["EXSET k a ABS 1"]),
    ("EXSET k b PX 600000", &["EXSET k b ABS 2 PXAT <ms>"]),
    ("EXSET k c EX 600", &["EXSET k c ABS 3 PXAT <ms>"]),
    ("EXSET k d EXAT 4102444800 FLAGS 7", &["EXSET k d ABS 4 PXAT 4102444800000 FLAGS 7"]),
    ("EXSET k e KEEPTTL", &["EXSET k e ABS 5 KEEPTTL"]),
    ("EXSET k f VER 5 FLAGS 0", &["EXSET k f ABS 6 FLAGS 0"]),
    (
        "EXSET k g XX ABS 41 WITHVERSION PXAT 4102444800001",
        &["EXSET k g ABS 41 PXAT 4102444800001"],
    ),
    ("EXSET k h VER 9", &[]),
    ("EXSET k h NX", &[]),
    ("EXSET gone h XX", &[]),
    ("EXSET k h PX 0", &[]),
    ("EXCAS k h 41 KEEPTTL", &["EXSET k h ABS 42 KEEPTTL"]),
    ("EXCAS k i 42 PX 600000", &["EXSET k i ABS 43 PXAT <ms>"]),
    ("EXCAS k j 43", &["EXSET k j ABS 44"]),
    ("EXCAS k x 43", &[]),
    ("EXCAS gone x 1", &[]),
    ("EXSETVER k 50", &["EXSETVER k 50"]),
    ("EXSETVER k 0", &[]),
    ("EXSETVER gone 5", &[]),
    ("EXCAD k 51", &[]),
    ("EXCAD gone 51", &[]),
    ("EXCAD k 50", &["DEL k"]),
    ("EXINCRBY n 5 PX 600000", &["EXSET n 5 ABS 1 PXAT <ms>"]),
    ("EXINCRBY n 5 KEEPTTL", &["EXSET n 10 ABS 2 KEEPTTL"]),
    ("EXINCRBY n 5 NX", &[]),
    ("EXINCRBY n 5 MAX 10", &[]),
    ("EXINCRBY n 5", &["EXSET n 15 ABS 3"]),
    ("EXGET n", &[]),
    ("EXSET n 1 ABS 9223372036854775807", &["EXSET n 1 ABS 9223372036854775807"]),
    ("EXSET n 1", &["EXSET n 1 ABS -9223372036854775808"]),
];

/// The AOF holds what replicas are sent, and before the reply with `appendfsync always`.
fn propagated(binary: &Path) -> Result<(), String> {
    let aof = ["--appendonly", "yes", "--appendfsync", "always"];
    let server = Server::start(binary, &aof)?;
    let mut failures = Vec::new();
    let mut seen = commands(server.dir())?.len();
    for (line, expected) in PROPAGATED {
        server.call(line)?;
        let all = commands(server.dir())?;
        let new: Vec<&str> = all[seen..]
            .iter()
            .map(String::as_str)
            .filter(|command| *command != "SELECT 0")
            .collect();
        seen = all.len();
        let alike = new.len() == expected.len()
            && new.iter().zip(*expected).all(|(new, expected)| alike(new, expected));
        if !alike {
            failures.push(format!("{line}\n    expected {expected:?}\n    got {new:?}"));
        }
    }
    if failures.is_empty() {
        eprintln!("{} rows of propagation", PROPAGATED.len());
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}

fn alike(new: &str, expected: &str) -> bool {
    let Some((start, end)) = expected.split_once("<ms>") else {
        return new == expected;
    };
    let middle = new.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let Some(deadline) = middle.and_then(|text| text.parse::<u128>().ok()) else {
        return false;
    };
    (now.as_millis()..=now.as_millis() + 600_000).contains(&deadline)
}

/// The commands in the part of the AOF that grows.
fn commands(dir: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(dir.join("appendonlydir")).map_err(|error| error.to_string())?;
    let file = entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().contains(".incr."))
        .ok_or("no AOF")?;
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let mut rest = bytes.as_slice();
    let mut commands = Vec::new();
    while !rest.is_empty() {
        let mut raw = Vec::new();
        read_value(&mut rest, &mut raw).map_err(|error| error.to_string())?;
        // None of the words here has a line end in it: every second line is a word.
        let text = String::from_utf8_lossy(&raw).into_owned();
        let words: Vec<&str> = text.lines().skip(2).step_by(2).collect();
        commands.push(words.join(" "));
    }
    Ok(commands)
}

fn replica_of(primary: &Server, binary: &Path) -> Result<Server, String> {
    let port = primary.port().to_string();
    let replica = Server::start(binary, &["--replicaof", "127.0.0.1", &port])?;
    until(|| match replica.info("master_link_status")?.as_str() {
        "up" => Ok(()),
        other => Err(format!("the link is {other}")),
    })?;
    Ok(replica)
}

/// Written after the replica came: the stream.
fn replica_follows(binary: &Path) -> Result<(), String> {
    let primary = Server::start(binary, &[])?;
    let replica = replica_of(&primary, binary)?;
    state::write(&primary)?;
    let state = state::read(&primary)?;
    state::check_deadlines(&state)?;
    state::expect(&replica, &state)?;
    same_digest(&primary, &replica)
}

/// Written before the replica came: the RDB.
fn replica_loads(binary: &Path) -> Result<(), String> {
    let primary = Server::start(binary, &[])?;
    state::write(&primary)?;
    let state = state::read(&primary)?;
    state::check_deadlines(&state)?;
    let replica = replica_of(&primary, binary)?;
    state::expect(&replica, &state)?;
    same_digest(&primary, &replica)
}

fn same_digest(primary: &Server, replica: &Server) -> Result<(), String> {
    let digests = (primary.call("DEBUG DIGEST")?, replica.call("DEBUG DIGEST")?);
    if digests.0 == digests.1 {
        Ok(())
    } else {
        Err("primary and replica differ in their digest".into())
    }
}

fn replica_refuses_writes(binary: &Path) -> Result<(), String> {
    const READONLY: &str = "-READONLY You can't write against a read only replica.\r\n";
    let primary = Server::start(binary, &[])?;
    let replica = replica_of(&primary, binary)?;
    primary.must("EXSET k a", "+OK\r\n")?;
    until(|| replica.must("EXGET k", "*2\r\n$1\r\na\r\n:1\r\n"))?;
    for line in [
        "CAS k a b",
        "CAS gone a b",
        "CAD k a",
        "EXSET k b",
        "EXCAS k b 1",
        "EXCAD k 1",
        "EXCAD gone 1",
        "EXSETVER k 2",
        "EXINCRBY k 1",
    ] {
        replica.must(line, READONLY)?;
    }
    Ok(())
}
