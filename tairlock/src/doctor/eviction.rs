//! Whether the server throws locks away when it is full.

use super::{Facts, Finding};

pub(super) fn examine(facts: &Facts, findings: &mut Vec<Finding>) {
    let Some(policy) = facts.policy.as_deref().filter(|policy| *policy != "noeviction") else {
        return;
    };
    let what = if policy.starts_with("volatile") {
        "keys with a time to live, which all locks are"
    } else {
        "any key, locks too"
    };
    let remedy = "set `maxmemory-policy noeviction`, or keep locks on a server of their own";
    let (limited, reason) = match facts.max_memory {
        Some(0) => (false, format!("with a `maxmemory` the policy {policy} would evict {what}")),
        _ => (true, format!("when memory is short the policy {policy} evicts {what}")),
    };
    findings.push(if limited {
        Finding::critical("eviction", reason, remedy)
    } else {
        Finding::notice("eviction", reason, remedy)
    });
}
