//! The design's invariants, as far as a text search can hold them.

use std::fs;
use std::path::{Path, PathBuf};

use tairlock_tests::source::{code_only, literals, without_comments, without_tests};

/// A source file, by its path from the workspace's root, with `/` between.
struct File {
    path: String,
    text: String,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

type Rule = fn(&File) -> Vec<String>;

/// Reads no clock, draws nothing at random, waits for nothing, knows no client library.
fn pure_core(file: &File) -> Vec<String> {
    const IMPURE: [&str; 9] = [
        "await",
        "Instant::now",
        "SystemTime",
        "thread",
        "redis::",
        "rand",
        "getrandom",
        "tokio",
        "sleep",
    ];
    let pure = ["tairlock/src/proto/", "tairlock/src/dialect/"];
    if !pure.iter().any(|folder| file.path.starts_with(folder)) {
        return Vec::new();
    }
    let code = code_only(&without_tests(&file.text));
    at_lines(&code, |line| {
        let word = IMPURE.iter().find(|&&word| has_word(line, word))?;
        Some(format!("`{word}` in the core, which does no I/O"))
    })
}

/// How a server spells things is known under `dialect/` only.
fn commands_in_dialects(file: &File) -> Vec<String> {
    const COMMANDS: &str = "SET GET DEL CAS CAD DELEX DELIFEQ EVAL EVALSHA FCALL SCRIPT PTTL PEXPIRE \
        EXGET EXSET EXCAS EXCAD EXISTS PUBLISH SUBSCRIBE HELLO COMMAND CLIENT TRACKING WAIT WAITAOF \
        HSET HGET HMGET HINCRBY INCR ROLE INFO PING MULTI EXEC KEEPTTL IFEQ NX PX";
    if file.path.starts_with("tairlock/src/dialect/") {
        return Vec::new();
    }
    let text = without_tests(&file.text);
    let named = |text: &str| COMMANDS.split_whitespace().any(|command| command == text);
    let found = literals(&text).into_iter().filter(|(_, text)| named(text));
    found.map(|(line, text)| format!("{line}: command {text:?} outside dialect/")).collect()
}

/// What a feature switches is a whole module, so that no function reads differently with it.
fn features_switch_modules(file: &File) -> Vec<String> {
    if matches!(file.name(), "lib.rs" | "mod.rs") {
        return Vec::new();
    }
    at_lines(&without_comments(&file.text), |line| {
        let switch = line.replace(' ', "").contains("feature=\"");
        switch.then(|| "cfg(feature outside lib.rs and mod.rs".into())
    })
}

fn says_what_it_is(file: &File) -> Vec<String> {
    let mut depth = 0_i32;
    for line in file.text.lines() {
        // An attribute may go before, over one line or several.
        if depth == 0 && !line.starts_with("#![") && !line.is_empty() {
            let defined = line.starts_with("//! ");
            return if defined { Vec::new() } else { vec!["1: begins without `//! `".into()] };
        }
        depth += count(line, '[') - count(line, ']');
    }
    vec!["1: says nothing".into()]
}

fn forbids_unsafe(file: &File) -> Vec<String> {
    let is_root = file.path.ends_with("src/lib.rs");
    let forbids = code_only(&file.text).contains("#![forbid(unsafe_code)]");
    if is_root && !forbids { vec!["1: no #![forbid(unsafe_code)]".into()] } else { Vec::new() }
}

fn short(file: &File) -> Vec<String> {
    let lines = file.text.lines().count();
    if lines > 400 { vec![format!("400: {lines} lines, 400 are the most")] } else { Vec::new() }
}

/// A module is named after the idea that it holds.
fn named_modules(file: &File) -> Vec<String> {
    const NAMELESS: [&str; 7] = ["utils", "util", "helpers", "helper", "prelude", "misc", "common"];
    let stem = |part: &str| part.trim_end_matches(".rs").to_owned();
    let mut found = Vec::new();
    for part in file.path.split('/').map(stem).filter(|part| NAMELESS.contains(&part.as_str())) {
        found.push(format!("1: a module named {part}"));
    }
    found.extend(at_lines(&code_only(&file.text), |line| {
        let after = line.split("mod ").nth(1)?;
        let name = after.split(|next: char| !next.is_alphanumeric() && next != '_').next()?;
        NAMELESS.contains(&name).then(|| format!("a module named {name}"))
    }));
    found
}

fn no_test_is_ignored(file: &File) -> Vec<String> {
    at_lines(&code_only(&file.text), |line| {
        let ignored = line.replace(' ', "").contains("#[ignore") || has_word(line, "ignore =");
        ignored.then(|| "an ignored test".into())
    })
}

/// Where a test may sleep, and why nothing can be awaited there instead.
const SLEEPS: &[(&str, &str)] = &[
    (
        "tests/src/fleet/patience.rs",
        "asks servers how far they have come with each other, which they announce to no one",
    ),
    (
        "tests/tairstring/tests/support/mod.rs",
        "asks a server for its replication state, which it announces to no one",
    ),
    (
        "tests/src/laws/waiting.rs",
        "between a waiter's word that it begins and its place in the line there is no event",
    ),
    ("tests/benches/contention.rs", "plays a client that thinks between its updates"),
    (
        "tests/benches/waiting/main.rs",
        "plays a holder that works, and waiters that are left waiting",
    ),
    ("tests/benches/waiting/blocking.rs", "plays a holder that works in another process"),
    ("tests/tests/blocked.rs", "blocks the threads of an executor, which is what is tested"),
    ("tests/tests/servers/looping.rs", "plays work under the lock, which both clients do in turn"),
    (
        "tests/benches/keeping.rs",
        "keeps leases and does nothing else for as long as that is measured",
    ),
    ("tests/benches/waiting/swap.rs", "plays two that work under the lock, one after the other"),
];

fn no_test_sleeps(file: &File) -> Vec<String> {
    if !file.path.starts_with("tests/") || SLEEPS.iter().any(|(path, _)| *path == file.path) {
        return Vec::new();
    }
    at_lines(&code_only(&file.text), |line| {
        let sleeps = has_word(line, "sleep(") || has_word(line, "sleep_until(");
        sleeps.then(|| "sleeps; await an event, or give the reason in tidy.rs".into())
    })
}

fn at_lines(text: &str, find: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let numbered = text.lines().zip(1..);
    numbered.filter_map(|(line, at)| Some(format!("{at}: {}", find(line)?))).collect()
}

/// Whether `word` stands in `line` with nothing before or behind that makes it part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let of_word =
        |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
    let open_end = !of_word(word.chars().last());
    line.match_indices(word).any(|(at, _)| {
        let behind = line[at + word.len()..].chars().next();
        !of_word(line[..at].chars().last()) && (open_end || !of_word(behind))
    })
}

fn count(line: &str, what: char) -> i32 {
    line.chars().map(|next| i32::from(next == what)).sum()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files below `folder` whose name ends so, whatever they are part of.
fn files(folder: &str, ending: &str) -> Vec<File> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(root().join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if entry.path().is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if name.ends_with(ending) {
                let text = fs::read_to_string(entry.path()).expect("sources are UTF-8");
                found.push(File { path, text });
            }
        }
    }
    found
}

/// The sources of the crates that are published.
fn published() -> Vec<File> {
    let manifests = files("", "Cargo.toml").into_iter();
    let crates = manifests.filter(|manifest| {
        manifest.text.contains("[package]") && !manifest.text.contains("publish = false")
    });
    let folders = crates.filter_map(|manifest| {
        let folder = manifest.path.strip_suffix("Cargo.toml")?;
        (!folder.starts_with("tests/")).then(|| format!("{folder}src"))
    });
    folders.flat_map(|folder| files(&folder, ".rs")).collect()
}

fn check(rule: Rule, files: &[File]) {
    assert!(!files.is_empty(), "no source was found");
    let broken: Vec<String> = files
        .iter()
        .flat_map(|file| rule(file).into_iter().map(|broken| format!("{}:{broken}", file.path)))
        .collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn published_crates_are_tidy() {
    let files = published();
    for rule in [
        pure_core as Rule,
        commands_in_dialects,
        features_switch_modules,
        says_what_it_is,
        forbids_unsafe,
    ] {
        check(rule, &files);
    }
}

#[test]
fn the_whole_workspace_is_tidy() {
    let all = files("", ".rs");
    check(named_modules, &all);
    check(no_test_is_ignored, &all);
    check(no_test_sleeps, &all);
    let in_src = all.into_iter().filter(|file| file.path.contains("src/"));
    check(short, &in_src.collect::<Vec<_>>());
}

#[test]
fn every_crate_takes_the_workspaces_lints() {
    for manifest in files("", "Cargo.toml") {
        // The server module is a workspace of its own.
        if manifest.path.starts_with("tests/tairstring/") || !manifest.text.contains("[package]") {
            continue;
        }
        assert!(manifest.text.contains("[lints]\nworkspace = true"), "{}", manifest.path);
    }
}

/// What has gone wrong in other libraries (O) and how to look for it (T), by the numbers that tests name.
const CASES: [(char, usize); 2] = [('O', 61), ('T', 16)];

/// Those that no test can show.
const UNTESTED: [(&str, &str); 2] = [
    ("O38", "the replica that has not confirmed may be promoted: `Confirm` and RELIABILITY say so"),
    ("O39", "`WAIT` does not wait in a transaction: there is none"),
];

#[test]
fn every_known_case_is_named_by_a_test() {
    let mut text = String::new();
    for file in files("tests", ".rs").into_iter().chain(published()) {
        if !file.path.ends_with("tidy.rs") {
            text += &file.text;
        }
    }
    let named = |case: &str| {
        let in_a_name = format!("fn {}_", case.to_lowercase());
        text.contains(&in_a_name)
            || text.lines().any(|line| line.trim_start().starts_with("//") && has_word(line, case))
    };
    for (letter, count) in CASES {
        for number in 1..=count {
            let case = format!("{letter}{number}");
            let excused = UNTESTED.iter().any(|(of, _)| *of == case);
            assert_ne!(named(&case), excused, "{case} (excused: {excused})");
        }
    }
}

#[test]
fn every_excuse_for_a_sleep_is_still_needed() {
    for (path, reason) in SLEEPS {
        let text = fs::read_to_string(root().join(path)).expect(path);
        assert!(code_only(&text).contains("sleep"), "{path} sleeps no more");
        assert!(reason.len() > 20, "{path} needs a reason");
    }
}

/// The rows of the list of what other attributes got wrong.
#[test]
fn every_macro_case_has_a_test_named_after_it() {
    let functions = files("tests/", ".rs").into_iter().flat_map(|file| {
        let code = code_only(&file.text);
        let names = code.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
        names.map(str::to_owned).collect::<Vec<_>>()
    });
    // A case of what the compiler says is a file.
    let cases = files("tests/ui", ".rs").into_iter().map(|file| file.name().to_owned());
    let names: Vec<_> = functions.chain(cases).collect();
    let row = |row: &str| names.iter().any(|name| name.split('_').any(|word| word == row));
    let without: Vec<_> =
        (1..=34).map(|number| format!("m{number:02}")).filter(|it| !row(it)).collect();
    assert!(without.is_empty(), "no test is named after {without:?}");
    assert!(!row("m35"), "it finds what is not there");
}

/// What the attributes say and no case in `tests/ui` shows, with the reason.
const UNSHOWN: [(&str, &str); 1] = [(
    "expected the body of a function",
    "rustc refuses such a function before an attribute sees it",
)];

#[test]
fn every_message_of_the_attributes_is_shown_by_a_case() {
    let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String =
        files("tests/ui/fail", ".stderr").into_iter().map(|it| it.text).collect();
    shown += &files("tests/ui", "cases.rs")[0].text;
    let shown = spaced(&shown);
    let mut missing = Vec::new();
    for file in files("tairlock-macros/src", ".rs") {
        // A test, and what `TAIRLOCK_MACROS_DEBUG` prints. The options' tables hold examples for one message.
        if ["shown.rs", "lib.rs"].contains(&file.name()) {
            continue;
        }
        let text = without_tests(&file.text);
        for (line, literal) in literals(&text) {
            let literal = spaced(&literal.replace("\\\n", " ").replace("\\\"", "\""));
            let example = file.name() == "options.rs" && literal.contains(" = ");
            if example || UNSHOWN.iter().any(|(text, _)| *text == literal) {
                continue;
            }
            let fixed = literal.split(['{', '}']).map(str::trim).filter(|it| it.contains(' '));
            let unseen = fixed.filter(|fixed| !shown.contains(fixed));
            missing.extend(unseen.map(|it| format!("{}:{line}: {it:?}", file.path)));
        }
    }
    assert!(missing.is_empty(), "no .stderr in tests/ui has\n{}", missing.join("\n"));
}

/// Errors that asking for a lock does not end in, as it neither holds one yet nor touches a value.
const NOT_OF_AN_ACQUIRE: [&str; 9] = [
    "Error::Lost",
    "Error::Conflict",
    "Error::Exhausted",
    "Error::MaybeCommitted",
    "Error::StaleFence",
    "Error::Absent",
    "Error::Decode",
    "Error::Encode",
    // Of a server's faults; connecting meets it, before there is a client.
    "FaultKind::Config",
];

/// The names of the variants of an enum.
fn variants(path: &str, of: &str) -> Vec<String> {
    let text = code_only(&fs::read_to_string(root().join(path)).expect(path));
    let (_, body) = text.split_once(&format!("pub enum {of} {{\n")).expect(of);
    let (body, _) = body.split_once("\n}").expect("its end");
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    let word = |line: &str| line.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned);
    names.filter_map(word).map(|name| format!("{of}::{name}")).collect()
}

#[test]
fn every_error_of_an_acquire_is_met_by_an_annotated_function() {
    let denied = fs::read_to_string(root().join("tests/tests/denied.rs")).expect("denied.rs");
    let denied = code_only(&denied);
    let mut all = variants("tairlock/src/error.rs", "Error");
    all.extend(variants("tairlock/src/fault.rs", "FaultKind"));
    assert!(all.len() > 25, "{all:?}");
    for variant in &all {
        // Each fault comes as an `Error::Backend`, and that of a quorum as an error of its own.
        let met = has_word(&denied, variant)
            || ["Error::Backend", "FaultKind::NoQuorum"].contains(&variant.as_str());
        let elsewhere = NOT_OF_AN_ACQUIRE.contains(&variant.as_str());
        assert!(met != elsewhere, "{variant}: bring an acquire to it in tests/tests/denied.rs");
    }
}

fn breaks(rule: Rule, path: &str, text: &str) -> bool {
    !rule(&File::new(path, text)).is_empty()
}

#[test]
fn each_rule_can_fail() {
    let core = "tairlock/src/proto/acquire.rs";
    for bad in [
        "x.await;",
        "let now = Instant::now();",
        "SystemTime::UNIX_EPOCH",
        "std::thread::park()",
        "redis::Value::Nil",
        "rand::random()",
        "getrandom::fill(x)",
    ] {
        assert!(breaks(pure_core, core, bad), "{bad}");
        assert!(breaks(pure_core, "tairlock/src/dialect/tair.rs", bad), "{bad}");
        assert!(!breaks(pure_core, "tairlock/src/drive.rs", bad), "{bad}");
        let in_test = format!("#[cfg(test)]\nmod tests {{\n{bad}\n}}\n");
        assert!(!breaks(pure_core, core, &in_test), "{bad}");
    }
    for good in ["// never await", "\"await\"", "threads", "operand", "awaited"] {
        assert!(!breaks(pure_core, core, good), "{good}");
    }

    let client = "tairlock/src/client.rs";
    assert!(breaks(commands_in_dialects, client, "cmd(\"SET\")"));
    assert!(breaks(commands_in_dialects, client, "cmd(b\"EVALSHA\")"));
    assert!(!breaks(commands_in_dialects, client, "// \"SET\"\n\"Set\" SET \"SETTLE\""));
    assert!(!breaks(commands_in_dialects, "tairlock/src/dialect/mod.rs", "\"SET\""));

    assert!(breaks(features_switch_modules, client, "#[cfg(feature = \"tokio\")]"));
    assert!(breaks(features_switch_modules, client, "#[cfg(any(\n    feature=\"tokio\"\n))]"));
    assert!(!breaks(features_switch_modules, client, "// cfg(feature = \"tokio\")"));
    for file in ["tairlock/src/lib.rs", "tairlock/src/node/mod.rs"] {
        assert!(!breaks(features_switch_modules, file, "#[cfg(feature = \"tokio\")]"));
    }

    assert!(breaks(says_what_it_is, client, "use std::fmt;\n//! Late.\n"));
    assert!(breaks(says_what_it_is, client, ""));
    assert!(!breaks(says_what_it_is, client, "#![allow(\n    x,\n)]\n\n//! A client.\n"));

    assert!(breaks(forbids_unsafe, "tairlock/src/lib.rs", "//! x\n// #![forbid(unsafe_code)]"));
    assert!(!breaks(forbids_unsafe, "tairlock/src/lib.rs", "#![forbid(unsafe_code)]"));
    assert!(!breaks(forbids_unsafe, client, ""));

    assert!(breaks(short, client, &"\n".repeat(401)));
    assert!(!breaks(short, client, &"\n".repeat(400)));

    assert!(breaks(named_modules, "tairlock/src/utils.rs", ""));
    assert!(breaks(named_modules, "tairlock/src/helpers/mod.rs", ""));
    assert!(breaks(named_modules, client, "pub mod prelude {"));
    assert!(!breaks(named_modules, client, "mod keys; // mod utils"));

    assert!(breaks(no_test_is_ignored, client, "#[ignore]"));
    assert!(breaks(no_test_is_ignored, client, "#[ignore = \"slow\"]"));
    assert!(breaks(no_test_is_ignored, client, "#[cfg_attr(slow, ignore = \"slow\")]"));
    assert!(!breaks(no_test_is_ignored, client, "// #[ignore]"));

    let test = "tests/tests/laws.rs";
    assert!(breaks(no_test_sleeps, test, "tokio::time::sleep(TTL).await"));
    assert!(!breaks(no_test_sleeps, test, "fall_asleep(); \"sleep(1)\""));
    assert!(!breaks(no_test_sleeps, client, "sleep(TTL)"));
}
