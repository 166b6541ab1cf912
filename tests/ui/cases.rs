//! What the attribute says: `fail/*.stderr` read alone teach it. `TRYBUILD=overwrite` renews them.

use std::{fs, path::Path, process::Command};

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
}

/// Also under every lint that clippy has: `hygiene.rs` allows those that its own code trips.
#[test]
fn m18_m22_m23_m24_hygiene() {
    for edition in [2021, 2024] {
        let dependencies = [
            ("locks", "tairlock", "features = ['tokio', 'macros', 'serde']"),
            ("blocking_locks", "tairlock-sync", "features = ['macros', 'serde']"),
        ];
        let source = include_str!("hygiene.rs");
        let name = format!("hygiene-{edition}");
        let said = check(&name, edition, &dependencies, &["clippy::restriction"], source);
        // Paths are relative in this crate only.
        let said = said.expect("it compiles");
        assert!(!said.contains("--> src/"), "{said}");
    }
}

#[test]
fn a_missing_crate_is_named_with_its_cure() {
    let source = "
        #[tairlock_macros::distributed_lock(key = \"a\")]
        async fn run() {}
        #[tairlock_macros::distributed_lock(key = \"a\")]
        fn run_blocking() {}
        #[tairlock_macros::optimistic_retry]
        async fn again() {}
        #[tairlock_macros::optimistic_retry]
        fn again_blocking() {}
    ";
    let dependencies = [("tairlock-macros", "tairlock-macros", "features = []")];
    let said = check("missing", 2024, &dependencies, &[], source);
    let said = said.expect_err("nothing can expand");
    for attribute in ["distributed_lock", "optimistic_retry"] {
        for cure in [
            "on an `async fn` needs the crate `tairlock`: run `cargo add tairlock`",
            "on a plain `fn` needs the crate `tairlock-sync`: run `cargo add tairlock-sync`",
        ] {
            let or = "`, or say where it is with `crate = …`";
            let whole = format!("`#[{attribute}]` {}{or}", cure.trim_end_matches('`'));
            assert!(said.contains(&whole), "{said}");
        }
    }
}

/// Lints look at the user's body as if there were no attribute, and at the line where it stands.
#[test]
fn m25_clippy_still_looks_at_the_body() {
    if !has_clippy() {
        return;
    }
    let source = "
        #![warn(clippy::print_stdout, clippy::bool_comparison)]
        #[tairlock::distributed_lock(key = \"a\")]
        pub async fn run(yes: bool) -> Result<u8, tairlock::Error> {
            println!(\"in an async body\");
            if yes == true {
                println!(\"deeper\");
            }
            Ok(1)
        }
        #[tairlock_sync::distributed_lock(key = \"a\")]
        pub fn run_blocking() -> Result<u8, tairlock_sync::Error> {
            println!(\"in a blocking body\");
            Ok(1)
        }
        #[tairlock::optimistic_retry(key = \"a\")]
        pub async fn again(#[value] n: &mut u8) -> Result<u8, tairlock::Error> {
            println!(\"in an async body\");
            Ok(*n)
        }
        #[tairlock_sync::optimistic_retry]
        pub fn again_blocking() -> Result<u8, tairlock_sync::Error> {
            println!(\"in a blocking body\");
            Ok(1)
        }
    ";
    let dependencies = [
        ("tairlock", "tairlock", "features = ['tokio', 'macros', 'serde']"),
        ("tairlock-sync", "tairlock-sync", "features = ['macros', 'serde']"),
    ];
    let said = check("m25", 2024, &dependencies, &[], source).expect("it compiles");
    for (line, lint) in [
        (5, "print_stdout"),
        (6, "bool_comparison"),
        (7, "print_stdout"),
        (13, "print_stdout"),
        (18, "print_stdout"),
        (23, "print_stdout"),
    ] {
        assert!(said.contains(&format!("src/lib.rs:{line}:")), "line {line}, {lint}: {said}");
        assert!(said.contains(lint), "{lint}: {said}");
    }
}

fn has_clippy() -> bool {
    let mut command = Command::new(env!("CARGO"));
    command.args(["clippy", "--version"]).output().is_ok_and(|it| it.status.success())
}

/// What clippy (or, where it is not installed, rustc) says to a crate outside of the workspace, and
/// whether it was content.
fn check(
    name: &str,
    edition: u16,
    dependencies: &[(&str, &str, &str)],
    more_lints: &[&str],
    source: &str,
) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace");
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let lines = dependencies.iter().map(|(name, package, more)| {
        let path = root.join(package);
        format!(
            "{name} = {{ package = '{package}', path = '{}', default-features = false, {more} }}\n",
            path.display()
        )
    });
    let manifest = format!(
        "[package]\nname = '{name}'\nversion = '0.0.0'\nedition = '{edition}'\n\
         [workspace]\n[dependencies]\n{}",
        lines.collect::<String>()
    );
    fs::create_dir_all(dir.join("src")).expect("a folder for the crate");
    fs::write(dir.join("Cargo.toml"), manifest).expect("its manifest");
    fs::write(dir.join("src/lib.rs"), source).expect("its source");
    // The versions that the workspace was built with.
    fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock")).expect("its lock file");
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(&dir).args(arguments).args(["--offline", "--quiet"]);
        command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("crates"));
        command
    };
    let output = match has_clippy() {
        true => {
            let lints = ["clippy::pedantic"].into_iter().chain(more_lints.iter().copied());
            cargo(&["clippy"]).arg("--").args(lints.flat_map(|lint| ["-W", lint])).output()
        }
        false => cargo(&["check"]).output(),
    };
    let output = output.expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(said) } else { Err(said) }
}
