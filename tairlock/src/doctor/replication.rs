//! What a failover forgets.

use super::{Facts, Finding, Role};

const SUBJECT: &str = "replication";

/// A replica that was not heard for so many seconds is far behind.
const LATE: u64 = 10;

pub(super) fn examine(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.role == Some(Role::Replica) {
        let reason = "this is a replica, which takes no lock";
        findings.push(Finding::critical(SUBJECT, reason, "connect to the primary, or by Sentinel"));
        return;
    }
    for replica in &facts.replicas {
        let place = &replica.place;
        if !replica.online {
            let reason = format!("the replica {place} is not connected or not up to date");
            findings.push(Finding::warning(
                SUBJECT,
                reason,
                "see that it runs and reaches this one",
            ));
        } else if let Some(lag) = replica.lag.filter(|lag| *lag >= LATE) {
            let reason = format!("the replica {place} was last heard {lag} s ago");
            findings.push(Finding::warning(SUBJECT, reason, "see that it keeps up"));
        }
    }
    let online = facts.replicas.iter().filter(|replica| replica.online).count() as u64;
    confirmed(facts, online, findings);
    if facts.role == Some(Role::Primary) && facts.replicas.is_empty() && facts.cluster.is_none() {
        let reason = "it has no replica: while it is away, nobody locks";
        findings.push(Finding::notice(SUBJECT, reason, "add replicas, or use a quorum of servers"));
    }
    if online > 0 && facts.min_replicas == Some(0) {
        let reason =
            "cut off from its replicas it goes on granting what a failover will grant again";
        let remedy = "set `min-replicas-to-write 1` and a `min-replicas-max-lag` below your TTLs";
        findings.push(Finding::notice(SUBJECT, reason, remedy));
    }
}

fn confirmed(facts: &Facts, online: u64, findings: &mut Vec<Finding>) {
    match facts.confirmation {
        Some(wanted) if wanted > online => {
            let reason = format!(
                "{wanted} replicas are to confirm a lock, and {online} can: none is granted"
            );
            findings.push(Finding::critical(SUBJECT, reason, "add replicas, or ask for fewer"));
        }
        Some(_) if facts.waits == Some(false) => {
            let reason = "replicas are to confirm a lock, and it has no command for that";
            findings.push(Finding::critical(SUBJECT, reason, "use a server that knows `WAIT`"));
        }
        None if online > 0 => {
            let reason = "replicas follow a moment later: a failover may promote one that has not heard of a \
                          lock, and grants it again";
            let remedy = "ask for confirmation by replicas, or let the store that is written to refuse an \
                          older fence";
            findings.push(Finding::notice(SUBJECT, reason, remedy));
        }
        _ => {}
    }
}
