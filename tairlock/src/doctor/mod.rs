//! The doctor: what a crash or a failover of this deployment can take from a lock, and what to do about it.
//!
//! Rules about facts, without I/O. What Redis says of its persistence:
//! <https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/>.

mod access;
mod clock;
mod eviction;
mod facts;
mod persistence;
mod replication;
mod speech;
#[cfg(test)]
mod tests;

use std::fmt;

pub use facts::{Facts, Replica, Role};

use crate::{Fault, proto::Quorum};

/// How much there is to lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Notice,
    /// A crash or a failover can give a lock to two.
    Warning,
    /// Locks can be lost, or cannot be taken, without any crash.
    Critical,
}

/// What was found, why it matters, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much there is to lose.
    pub severity: Severity,
    /// What it is about, in a word.
    pub subject: &'static str,
    /// What is so, and what follows from it.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

impl Finding {
    fn new(
        severity: Severity,
        subject: &'static str,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { severity, subject, reason: reason.into(), remedy: remedy.into() }
    }

    fn notice(subject: &'static str, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Severity::Notice, subject, reason, remedy)
    }

    fn warning(
        subject: &'static str,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Warning, subject, reason, remedy)
    }

    fn critical(
        subject: &'static str,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Critical, subject, reason, remedy)
    }
}

/// All that was found about one server, the worst first. Its `Display` is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Which server.
    pub place: String,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Report {
    /// What the facts about the server at `place` come to.
    #[must_use]
    pub fn of(place: impl Into<String>, facts: &Facts) -> Self {
        let mut findings = Vec::new();
        eviction::examine(facts, &mut findings);
        persistence::examine(facts, &mut findings);
        replication::examine(facts, &mut findings);
        access::examine(facts, &mut findings);
        clock::examine(facts, &mut findings);
        speech::examine(facts, &mut findings);
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Self { place: place.into(), findings }
    }

    /// What is to say of an embedded server.
    #[must_use]
    pub fn of_memory(place: impl Into<String>) -> Self {
        let reason = "the locks live in this process, and end with it; no other process sees them";
        let remedy = "use a server where more than one process takes locks";
        let findings = vec![Finding::notice("embedded", reason, remedy)];
        Self { place: place.into(), findings }
    }

    /// What the reports about the servers of a quorum come to.
    pub fn of_quorum<'a>(
        place: impl Into<String>,
        quorum: Quorum,
        each: impl Iterator<Item = (&'a str, Result<Self, Fault>)>,
    ) -> Self {
        let (mut findings, mut away) = (Vec::new(), 0);
        for (place, told) in each {
            match told {
                Ok(report) => findings.extend(report.findings.into_iter().map(|finding| {
                    let reason = format!("{place}: {}", finding.reason);
                    Finding { reason, ..finding }
                })),
                Err(fault) => {
                    away += 1;
                    let reason = format!("{place} does not answer: {fault}");
                    let remedy = "see that it runs";
                    findings.push(Finding::warning("quorum", reason, remedy));
                }
            }
        }
        if away > quorum.nodes() - quorum.needed() {
            let reason =
                format!("{away} of {} servers are away: no lock is granted", quorum.nodes());
            findings.push(Finding::critical("quorum", reason, "see that they run"));
        }
        // That one of them has no replica is as it should be.
        findings.retain(|finding| {
            finding.subject != "replication" || finding.severity != Severity::Notice
        });
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Self { place: place.into(), findings }
    }

    /// Whether nothing worse than a notice was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.worst() < Some(Severity::Warning)
    }

    /// The severity of the worst finding.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// The findings about `subject`.
    pub fn about(&self, subject: &str) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.subject == subject)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Critical => "critical",
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_sound() { "sound" } else { "not sound" };
        writeln!(f, "{}: {verdict}", self.place)?;
        let wide = self.findings.iter().map(|it| it.subject.len()).max().unwrap_or_default();
        for Finding { severity, subject, reason, remedy } in &self.findings {
            writeln!(f, "{severity:<8}  {subject:<wide$}  {reason}")?;
            writeln!(f, "{:<8}  {:<wide$}  → {remedy}", "", "")?;
        }
        Ok(())
    }
}
