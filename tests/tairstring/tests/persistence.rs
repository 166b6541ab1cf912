//! What is written survives: AOF, rewritten AOF, RDB, DUMP and RESTORE.

mod support;

use std::path::Path;

use support::resp::Protocol;
use support::server::Server;
use support::{state, until, words};

/// `always`, so that a killed server has lost nothing it had confirmed.
const AOF: &[&str] =
    &["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"];

fn main() {
    support::run(&[
        ("aof", aof),
        ("rewritten_aof", rewritten_aof),
        ("rewritten_aof_with_rdb_preamble", rewritten_aof_with_preamble),
        ("rdb", rdb),
        ("debug_reload", debug_reload),
        ("dump_and_restore", dump_and_restore),
        ("broken_dump", broken_dump),
    ])
}

/// Writes all there is to write, and returns the state.
fn written(server: &Server) -> Result<Vec<String>, String> {
    state::write(server)?;
    let state = state::read(server)?;
    state::check_deadlines(&state)?;
    Ok(state)
}

fn aof(binary: &Path) -> Result<(), String> {
    let mut server = Server::start(binary, AOF)?;
    let before = written(&server)?;
    server.crash_and_restart()?;
    state::expect(&server, &before)
}

fn rewritten_aof(binary: &Path) -> Result<(), String> {
    rewrite(Server::start(binary, AOF)?)
}

fn rewritten_aof_with_preamble(binary: &Path) -> Result<(), String> {
    let args = [&AOF[..AOF.len() - 1], &["yes"]].concat();
    rewrite(Server::start(binary, &args)?)
}

fn rewrite(mut server: Server) -> Result<(), String> {
    let before = written(&server)?;
    let bases = || base_files(server.dir());
    let old = bases();
    server.call("BGREWRITEAOF")?;
    until(|| {
        let running = server.info("aof_rewrite_in_progress")? != "0";
        if running || bases() == old {
            return Err("the rewrite does not end".into());
        }
        Ok(())
    })?;
    if server.info("aof_last_bgrewrite_status")? != "ok" {
        return Err("the rewrite failed".into());
    }
    // Written after it, so that the rewritten base and what follows must fit together.
    server.must("EXSET set b KEEPTTL", "+OK\r\n")?;
    server.must("EXSET set:wrapped c", "+OK\r\n")?;
    let after = state::read(&server)?;
    if after == before {
        return Err("nothing was written after the rewrite".into());
    }
    server.crash_and_restart()?;
    state::expect(&server, &after)
}

fn base_files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join("appendonlydir"));
    let names = entries.into_iter().flatten().flatten();
    let mut bases: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(".base."))
        .collect();
    bases.sort();
    bases
}

fn rdb(binary: &Path) -> Result<(), String> {
    let mut server = Server::start(binary, &[])?;
    let before = written(&server)?;
    server.must("SAVE", "+OK\r\n")?;
    server.crash_and_restart()?;
    state::expect(&server, &before)
}

fn debug_reload(binary: &Path) -> Result<(), String> {
    let server = Server::start(binary, &[])?;
    let before = written(&server)?;
    let digest = server.call("DEBUG DIGEST")?;
    server.must("DEBUG RELOAD", "+OK\r\n")?;
    if server.call("DEBUG DIGEST")? != digest {
        return Err("another digest after the reload".into());
    }
    state::expect(&server, &before)
}

fn dump_and_restore(binary: &Path) -> Result<(), String> {
    let server = Server::start(binary, &[])?;
    server.must("EXSET k \"a\\x00\\r\\n\" ABS 41 FLAGS 7", "+OK\r\n")?;
    restore(&server, &dump(&server, "k")?, "+OK\r\n")?;
    let copy = "*3\r\n$4\r\na\0\r\n\r\n:41\r\n:7\r\n";
    server.must("EXGET copy WITHFLAGS", copy)?;
    server.must("PEXPIRETIME copy", ":4102444800000\r\n")?;
    server.must("EXCAS copy b 41", "*3\r\n+OK\r\n+\r\n:42\r\n")
}

/// What the module cannot load is refused, and the server lives.
fn broken_dump(binary: &Path) -> Result<(), String> {
    const REFUSED: &str = "-ERR Bad data format\r\n";
    let server = Server::start(binary, &[])?;
    server.must("EXSET k aaaaaaaaaa", "+OK\r\n")?;
    server.must("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1", "+OK\r\n")?;
    let whole = dump(&server, "k")?;

    // A value longer than all that follows.
    let mut short = whole.clone();
    let length =
        short.windows(2).position(|pair| pair == [10, b'a']).ok_or("no value in the payload")?;
    short[length] = 63;
    restore(&server, &short, REFUSED)?;

    // Another encoding than ours: after the object's type and the mark of a 64-bit number, the
    // type's name is packed with the encoding in its last byte.
    let mut foreign = whole.clone();
    foreign[9] ^= 3;
    restore(&server, &foreign, REFUSED)?;

    restore(&server, &whole, "+OK\r\n")
}

fn dump(server: &Server, key: &str) -> Result<Vec<u8>, String> {
    let reply = server.call(&format!("DUMP {key}"))?;
    let start = reply.iter().position(|byte| *byte == b'\n').unwrap_or(0) + 1;
    Ok(reply[start..reply.len() - 2].to_vec())
}

fn restore(server: &Server, payload: &[u8], reply: &str) -> Result<(), String> {
    let mut command = words::split("RESTORE copy 4102444800000");
    command.push(payload.to_vec());
    command.push(b"ABSTTL".to_vec());
    let got =
        server.connect(Protocol::Resp2)?.call_words(&command).map_err(|error| error.to_string())?;
    if got == reply.as_bytes() { Ok(()) } else { Err(format!("RESTORE: {}", words::show(&got))) }
}
