//! What the attribute says: `fail/*.stderr` read alone teach it. `TRYBUILD=overwrite` renews them.

use std::{fs, path::Path, process::Command};

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
}

#[test]
fn m18_hygiene() {
    for edition in [2021, 2024] {
        let dependencies = [
            ("locks", "tairlock", "features = ['tokio', 'macros']"),
            ("blocking_locks", "tairlock-sync", "features = ['macros']"),
        ];
        let source = include_str!("hygiene.rs");
        let said = check(&format!("hygiene-{edition}"), edition, &dependencies, source);
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
    ";
    let said =
        check("missing", 2024, &[("tairlock-macros", "tairlock-macros", "features = []")], source);
    let said = said.expect_err("nothing can expand");
    for cure in [
        "on an `async fn` needs the crate `tairlock`: run `cargo add tairlock`",
        "on a plain `fn` needs the crate `tairlock-sync`: run `cargo add tairlock-sync`",
    ] {
        assert!(said.contains(cure), "{said}");
    }
}

/// What clippy (or, where it is not installed, rustc) says to a crate outside of the workspace, and
/// whether it was content.
fn check(
    name: &str,
    edition: u16,
    dependencies: &[(&str, &str, &str)],
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
    let has_clippy = cargo(&["clippy", "--version"]).output().is_ok_and(|it| it.status.success());
    let output = match has_clippy {
        true => cargo(&["clippy"]).args(["--", "-W", "clippy::pedantic"]).output(),
        false => cargo(&["check"]).output(),
    };
    let output = output.expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(said) } else { Err(said) }
}
