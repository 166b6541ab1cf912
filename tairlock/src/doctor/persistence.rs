//! What a restart forgets.

use super::{Facts, Finding, Role};

const SUBJECT: &str = "persistence";
const ALWAYS: &str = "set `appendonly yes` and `appendfsync always`, or keep the server away after a \
                      crash for as long as the longest TTL";

pub(super) fn examine(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.writes_well == Some(false) {
        let reason = "the last write of its data to disk failed";
        findings.push(Finding::critical(SUBJECT, reason, "look at its log; free the disk"));
    }
    let Some(append_only) = facts.append_only else { return };
    if append_only {
        return appended(facts, findings);
    }
    match facts.save.as_deref() {
        Some([]) => {
            let reason = "nothing is written to disk: a restart forgets every lock, fence and value, \
                          and gives what is held to somebody else";
            findings.push(Finding::critical(SUBJECT, reason, ALWAYS));
        }
        Some(points) => {
            let each: Vec<String> = points
                .iter()
                .map(|(seconds, changes)| format!("{seconds} s after {changes} changes"))
                .collect();
            let longest = points.iter().map(|(seconds, _)| *seconds).max().unwrap_or_default();
            let reason = format!(
                "there are only snapshots ({}): a crash forgets what was locked since the last, up to \
                 {longest} s and more where little changes",
                each.join(", ")
            );
            findings.push(Finding::warning(SUBJECT, reason, ALWAYS));
        }
        None => {}
    }
}

fn appended(facts: &Facts, findings: &mut Vec<Finding>) {
    match facts.fsync.as_deref() {
        Some("always") | None => {}
        Some("everysec") => {
            let reason = "the append-only file reaches the disk once a second: where the machine crashes, \
                          and not just the server, what was locked in the last one or two is forgotten";
            findings.push(Finding::warning(SUBJECT, reason, ALWAYS));
        }
        Some(other) => {
            let reason = format!(
                "the append-only file reaches the disk when the system likes (`appendfsync {other}`): a \
                 crash of the machine forgets half a minute or more"
            );
            findings.push(Finding::warning(SUBJECT, reason, ALWAYS));
        }
    }
    if facts.preamble == Some(false) && facts.role != Some(Role::Replica) {
        let reason = "the append-only file is rewritten as commands, and is slow to load: so long nobody \
                      can lock after a restart";
        findings.push(Finding::notice(SUBJECT, reason, "set `aof-use-rdb-preamble yes`"));
    }
}
