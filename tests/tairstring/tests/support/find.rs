//! Finds the servers' binaries and the module: environment, cache folder, PATH, cargo.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) name: &'static str,
    /// `None`: optional, and not there.
    pub(crate) binary: Option<Result<PathBuf, String>>,
}

pub(crate) fn servers() -> Vec<Found> {
    [
        Server {
            name: "redis",
            variable: "TAIRLOCK_REDIS_SERVER",
            cached: "servers/redis7/redis-server",
            on_path: true,
            required: true,
        },
        Server {
            name: "valkey",
            variable: "TAIRLOCK_VALKEY_SERVER",
            cached: "servers/valkey9/valkey-server",
            on_path: false,
            required: true,
        },
        Server {
            name: "redis8",
            variable: "TAIRLOCK_REDIS8_SERVER",
            cached: "servers/redis8/redis-server",
            on_path: false,
            required: false,
        },
    ]
    .map(|server| Found { name: server.name, binary: server.find() })
    .into()
}

struct Server {
    name: &'static str,
    variable: &'static str,
    cached: &'static str,
    /// Whether any `redis-server` on PATH will do.
    on_path: bool,
    required: bool,
}

impl Server {
    fn find(&self) -> Option<Result<PathBuf, String>> {
        let variable = self.variable;
        if let Some(named) = named(variable) {
            return Some(if named.is_file() {
                Ok(named)
            } else {
                Err(format!("{variable} names no file: {}", named.display()))
            });
        }
        let cached = cache().join(self.cached);
        let path = env::var_os("PATH").filter(|_| self.on_path);
        let installed = path.iter().flat_map(env::split_paths);
        let mut candidates =
            std::iter::once(cached.clone()).chain(installed.map(|dir| dir.join("redis-server")));
        match candidates.find(|candidate| candidate.is_file()) {
            Some(found) => Some(Ok(found)),
            None if self.required => Some(Err(format!(
                "no {} at {}: run tests/install, or set {variable}",
                self.name,
                cached.display()
            ))),
            None => None,
        }
    }
}

fn cache() -> PathBuf {
    named("TAIRLOCK_CACHE").unwrap_or_else(|| {
        named("XDG_CACHE_HOME")
            .unwrap_or_else(|| named("HOME").unwrap_or_default().join(".cache"))
            .join("tairlock")
    })
}

fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The module under test: the one named, else the one built from this folder.
pub(crate) fn module() -> Result<PathBuf, String> {
    static MODULE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    MODULE
        .get_or_init(|| match named("TAIRLOCK_TAIRSTRING_MODULE") {
            Some(named) => {
                named.canonicalize().map_err(|error| format!("TAIRLOCK_TAIRSTRING_MODULE: {error}"))
            }
            None => build(),
        })
        .clone()
}

/// Cargo builds no cdylib for integration tests, since they cannot link to one.
fn build() -> Result<PathBuf, String> {
    let test = env::current_exe().map_err(|error| error.to_string())?;
    // <target>/<profile>/deps/<test>
    let profile = test.ancestors().nth(2).ok_or("no profile folder")?;
    let target = profile.parent().ok_or("no target folder")?;
    let profile = match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--lib", "--message-format=json", "--profile", profile])
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo build: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo build: {}", output.status));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    messages
        .split('"')
        .filter(|text| text.ends_with("/libtairstring.so"))
        .map(PathBuf::from)
        .find(|file| file.is_file())
        .ok_or_else(|| "cargo build names no module".into())
}
