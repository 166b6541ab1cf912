//! Each fault by itself, on a deployment that is sound without it.

use std::time::Duration;

use super::*;

/// A primary with a replica that writes everything down, and whose client asks for confirmation.
fn sound() -> Facts {
    let replica = Replica { place: "b:6379".to_owned(), online: true, lag: Some(0) };
    Facts {
        policy: Some("noeviction".to_owned()),
        max_memory: Some(0),
        append_only: Some(true),
        fsync: Some("always".to_owned()),
        preamble: Some(true),
        save: Some(vec![(3_600, 1)]),
        writes_well: Some(true),
        role: Some(Role::Primary),
        replicas: vec![replica],
        min_replicas: Some(1),
        confirmation: Some(1),
        waits: Some(true),
        waits_for_files: Some(true),
        clock: Some((-1_000, Duration::from_millis(1))),
        ..Facts::default()
    }
}

/// What is found once `change` has been made to a sound server.
#[track_caller]
fn found(subject: &str, severity: Severity, change: impl FnOnce(&mut Facts)) -> String {
    let mut facts = sound();
    change(&mut facts);
    let report = Report::of("a:6379", &facts);
    let finding = report.findings.first().unwrap_or_else(|| panic!("nothing was found"));
    assert_eq!((finding.subject, finding.severity), (subject, severity), "{report}");
    assert_eq!(report.is_sound(), severity == Severity::Notice);
    format!("{} {}", finding.reason, finding.remedy)
}

#[test]
fn of_a_sound_server_there_is_nothing_to_say() {
    let report = Report::of("a:6379", &sound());
    assert_eq!(report.findings, []);
    assert!(report.is_sound());
    assert_eq!(report.to_string(), "a:6379: sound\n");
}

#[test]
fn each_fault_is_found() {
    use Severity::{Critical, Notice, Warning};
    found("eviction", Critical, |facts| {
        facts.policy = Some("volatile-lru".to_owned());
        facts.max_memory = Some(1 << 20);
    });
    found("eviction", Notice, |facts| facts.policy = Some("allkeys-lru".to_owned()));
    found("persistence", Critical, |facts| {
        (facts.append_only, facts.save) = (Some(false), Some(Vec::new()));
    });
    let text = found("persistence", Warning, |facts| {
        (facts.append_only, facts.save) = (Some(false), Some(vec![(3_600, 1), (60, 10_000)]));
    });
    assert!(text.contains("3600 s"), "{text}");
    found("persistence", Warning, |facts| facts.fsync = Some("everysec".to_owned()));
    found("persistence", Warning, |facts| facts.fsync = Some("no".to_owned()));
    found("persistence", Notice, |facts| facts.preamble = Some(false));
    found("persistence", Critical, |facts| facts.writes_well = Some(false));
    found("replication", Critical, |facts| facts.role = Some(Role::Replica));
    found("replication", Critical, |facts| facts.confirmation = Some(2));
    found("replication", Critical, |facts| facts.waits = Some(false));
    found("replication", Warning, |facts| facts.replicas[0].lag = Some(60));
    found("replication", Notice, |facts| facts.confirmation = None);
    found("replication", Notice, |facts| facts.min_replicas = Some(0));
    found("permissions", Critical, |facts| facts.denied.push("THIS"));
    let text = found("not examined", Notice, |facts| {
        facts.refused.push(("CONFIG GET", "NOPERM".to_owned()));
    });
    assert!(text.contains("+config|get"), "{text}");
    let text = found("clock", Warning, |facts| {
        facts.clock = Some((-60_000_000, Duration::from_millis(1)));
    });
    assert!(text.contains("60.0 s behind"), "{text}");
    found("cluster", Critical, |facts| facts.cluster = Some(Some(false)));
    found("commands", Notice, |facts| facts.by_script.push("renewals"));
    found("commands", Notice, |facts| facts.waits_for_files = Some(false));
    found("waiting", Notice, |facts| facts.tracks = Some(false));
}

#[test]
fn a_replica_that_is_away_is_found() {
    let mut facts = sound();
    facts.replicas[0].online = false;
    let report = Report::of("a:6379", &facts);
    let said: Vec<_> = report.about("replication").map(|it| it.severity).collect();
    assert_eq!(said, [Severity::Critical, Severity::Warning], "{report}");
}

#[test]
fn nothing_is_known_and_nothing_is_claimed() {
    assert_eq!(Report::of("a:6379", &Facts::default()).findings, []);
}

#[test]
fn a_quorum_is_examined_server_by_server() {
    let quorum = Quorum::new(3, None).unwrap();
    let fine = Report::of("a", &sound());
    let mut forgets = sound();
    (forgets.append_only, forgets.save) = (Some(false), Some(Vec::new()));
    let away = || Err(Fault::new(crate::FaultKind::Unreachable, "refused"));
    let each = [("a", Ok(fine.clone())), ("b", Ok(Report::of("b", &forgets))), ("c", away())];
    let report = Report::of_quorum("2 of a, b, c", quorum, each.into_iter());
    assert!(report.findings[0].reason.starts_with("b: nothing is written"), "{report}");
    assert_eq!(report.worst(), Some(Severity::Critical));
    let each = [("a", Ok(fine)), ("b", away()), ("c", away())];
    let report = Report::of_quorum("2 of a, b, c", quorum, each.into_iter());
    assert!(report.findings[0].reason.contains("no lock is granted"), "{report}");
}
