//! The questions of the doctor: what they change is nothing.

use std::time::Duration;

use super::{Batch, Command, Question, Reply, Speech};
use crate::{
    FaultKind, Key,
    doctor::{Facts, Replica, Role},
};

const SETTINGS: [&str; 7] = [
    "maxmemory-policy",
    "maxmemory",
    "appendonly",
    "appendfsync",
    "aof-use-rdb-preamble",
    "save",
    "min-replicas-to-write",
];

type Asked = fn(&Key) -> Command;

/// Commands that locks and values need, each asked so that nothing can come of it.
const NEEDED: [(&str, Asked); 7] = [
    ("SET", |key| about("SET", key).word("-").word("XX").word("PX").word("1")),
    ("GET", |key| about("GET", key)),
    ("DEL", |key| about("DEL", key)),
    ("PEXPIRE", |key| about("PEXPIRE", key).word("1")),
    ("PTTL", |key| about("PTTL", key)),
    ("EVAL", |key| Command::new("EVAL").word("return 1").word("1").bytes(key.shared())),
    ("EVALSHA", |key| Command::new("EVALSHA").word(NO_SCRIPT).word("1").bytes(key.shared())),
];

/// No script has this name.
const NO_SCRIPT: &str = "0000000000000000000000000000000000000000";

fn about(command: &'static str, key: &Key) -> Command {
    Command::new(command).bytes(key.shared())
}

/// What to ask; `key` is a name that nothing stands under.
#[must_use]
pub fn symptoms(key: &Key) -> Batch {
    let mut batch = vec![
        Command::new("TIME"),
        Command::new("INFO"),
        Command::new("CLUSTER").word("INFO"),
        Command::new("COMMAND").word("INFO").word("wait").word("waitaof"),
        Command::new("CLIENT").word("ID"),
    ];
    batch.extend(SETTINGS.map(|setting| Command::new("CONFIG").word("GET").word(setting)));
    batch.extend(NEEDED.iter().map(|(_, ask)| ask(key)));
    batch
}

/// What the replies to [`symptoms`] show. They were asked when our wall clock stood at `asked`, in
/// microseconds, and took `took`.
#[must_use]
pub fn diagnose(replies: &[Reply], speech: &Speech, asked: u64, took: Duration) -> Facts {
    let mut facts = Facts::default();
    let [time, info, cluster, commands, client, rest @ ..] = replies else { return facts };
    clock(time, asked, took, &mut facts);
    let info = text(info, "INFO", &mut facts);
    if let Some(info) = &info {
        replication(info, &mut facts);
        let well = |field| field_of(info, field).is_none_or(|value| value == "ok");
        facts.writes_well = Some(well("aof_last_write_status") && well("rdb_last_bgsave_status"));
        if field_of(info, "cluster_enabled") == Some("1") {
            let cluster = text(cluster, "CLUSTER INFO", &mut facts);
            let state = cluster.as_deref().and_then(|text| field_of(text, "cluster_state"));
            facts.cluster = Some(state.map(|state| state == "ok"));
        }
    }
    if let Reply::Array(entries) = commands
        && let [wait, files] = &entries[..]
    {
        let known = |entry: &Reply| matches!(entry, Reply::Array(fields) if !fields.is_empty());
        (facts.waits, facts.waits_for_files) = (Some(known(wait)), Some(known(files)));
    }
    facts.tracks = match client {
        Reply::Int(_) => None,
        _ => Some(false),
    };
    let (settings, needed) = rest.split_at(SETTINGS.len().min(rest.len()));
    configured(settings, &mut facts);
    for ((name, _), reply) in NEEDED.iter().zip(needed) {
        if let Reply::Error(fault) = reply
            && fault.kind() == FaultKind::Permission
        {
            facts.denied.push(name);
        }
    }
    for (question, named) in [(Question::Renew, "renewals"), (Question::Release, "releases")] {
        if speech.way(question).name() == "EVALSHA" {
            facts.by_script.push(named);
        }
    }
    facts
}

fn clock(reply: &Reply, asked: u64, took: Duration, facts: &mut Facts) {
    let Reply::Array(parts) = reply else { return };
    let number = |reply: &Reply| match reply {
        Reply::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse::<u64>().ok(),
        Reply::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    if let [seconds, micros] = &parts[..]
        && let (Some(seconds), Some(micros)) = (number(seconds), number(micros))
    {
        let half = took / 2;
        let ours = i128::from(asked) + half.as_micros() as i128;
        let theirs = i128::from(seconds) * 1_000_000 + i128::from(micros);
        facts.clock = i64::try_from(theirs - ours).ok().map(|ahead| (ahead, half));
    }
}

fn replication(info: &str, facts: &mut Facts) {
    facts.role = match field_of(info, "role") {
        Some("master") => Some(Role::Primary),
        Some("slave" | "replica") => Some(Role::Replica),
        _ => None,
    };
    for number in 0.. {
        let Some(line) = field_of(info, &format!("slave{number}")) else { break };
        let part = |name: &str| {
            line.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
        };
        let place = format!("{}:{}", part("ip").unwrap_or("?"), part("port").unwrap_or("?"));
        let lag = part("lag").and_then(|lag| lag.parse().ok());
        facts.replicas.push(Replica { place, online: part("state") == Some("online"), lag });
    }
}

fn configured(replies: &[Reply], facts: &mut Facts) {
    for (setting, reply) in SETTINGS.iter().zip(replies) {
        let value = match reply {
            Reply::Array(pair) => match &pair[..] {
                [_, Reply::Bytes(value)] => String::from_utf8_lossy(value).into_owned(),
                _ => continue,
            },
            Reply::Error(fault) => {
                if !facts.refused.iter().any(|(what, _)| *what == "CONFIG GET") {
                    facts.refused.push(("CONFIG GET", fault.to_string()));
                }
                continue;
            }
            _ => continue,
        };
        match *setting {
            "maxmemory-policy" => facts.policy = Some(value),
            "maxmemory" => facts.max_memory = value.parse().ok(),
            "appendonly" => facts.append_only = Some(value == "yes"),
            "appendfsync" => facts.fsync = Some(value),
            "aof-use-rdb-preamble" => facts.preamble = Some(value == "yes"),
            "save" => facts.save = Some(save_points(&value)),
            _ => facts.min_replicas = value.parse().ok(),
        }
    }
}

fn save_points(value: &str) -> Vec<(u64, u64)> {
    let numbers: Vec<u64> = value.split_whitespace().filter_map(|part| part.parse().ok()).collect();
    numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

fn text(reply: &Reply, asked: &'static str, facts: &mut Facts) -> Option<String> {
    match reply {
        Reply::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Reply::Error(fault) => {
            facts.refused.push((asked, fault.to_string()));
            None
        }
        _ => None,
    }
}

fn field_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}
