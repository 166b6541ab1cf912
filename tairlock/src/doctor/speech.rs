//! What the server lacks, and what that costs.

use super::{Facts, Finding};

pub(super) fn examine(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.cluster == Some(Some(false)) {
        let reason = "the cluster is not well: some keys are served by nobody";
        findings.push(Finding::critical(
            "cluster",
            reason,
            "see `CLUSTER INFO` and `CLUSTER NODES`",
        ));
    }
    if !facts.by_script.is_empty() {
        let reason = format!(
            "it has no command for {}, which a script does instead: one round trip as well, and about twice \
             the work for the server",
            facts.by_script.join(", ")
        );
        let remedy = "nothing needs to be done; Valkey 9, Redis 8.4 and Tair have commands for it";
        findings.push(Finding::notice("commands", reason, remedy));
    }
    if facts.tracks == Some(false) {
        let reason =
            "it does not tell of changes, so that waiters ask again every few milliseconds";
        let remedy = "allow `CLIENT TRACKING`, where the server has it";
        findings.push(Finding::notice("waiting", reason, remedy));
    }
    if facts.waits_for_files == Some(false) && facts.append_only == Some(true) {
        let reason = "it cannot say when a lock has reached the disk (no `WAITAOF`)";
        let remedy = "nothing needs to be done; Redis 7.2 and Valkey have it";
        findings.push(Finding::notice("commands", reason, remedy));
    }
}
