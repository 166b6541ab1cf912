//! Whether the server's clock and ours agree: fences and versions begin with its time.

use std::time::Duration;

use super::{Facts, Finding};

const TOLERATED: Duration = Duration::from_secs(5);

pub(super) fn examine(facts: &Facts, findings: &mut Vec<Finding>) {
    let Some((ahead, sure)) = facts.clock else { return };
    let apart = Duration::from_micros(ahead.unsigned_abs());
    if apart <= TOLERATED + sure {
        return;
    }
    let where_to = if ahead > 0 { "ahead of" } else { "behind" };
    let reason = format!(
        "its clock is {:.1} s {where_to} ours; when one that is ahead is set right, fences and versions \
         may come again",
        apart.as_secs_f64()
    );
    findings.push(Finding::warning("clock", reason, "keep the machines' clocks by NTP"));
}
