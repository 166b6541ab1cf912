//! What the user may not do, and what could not be seen for that.

use super::{Facts, Finding};

pub(super) fn examine(facts: &Facts, findings: &mut Vec<Finding>) {
    for command in &facts.denied {
        let reason = format!("the user may not use {command}");
        let remedy = format!("grant it: `ACL SETUSER … +{}`", command.to_ascii_lowercase());
        findings.push(Finding::critical("permissions", reason, remedy));
    }
    for (what, answer) in &facts.refused {
        let reason =
            format!("{what} could not be asked, so part of this was not examined: {answer}");
        let remedy = format!(
            "grant +{} to the user that examines",
            what.to_ascii_lowercase().replace(' ', "|")
        );
        findings.push(Finding::notice("not examined", reason, remedy));
    }
}
