//! Where each server's binary is: named by the environment, or in the cache that `tests/run` fills.

use std::env;
use std::path::PathBuf;

use thiserror::Error;

/// A file that the fixtures need and that has to be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// Redis 6.2: no `NX` with `GET`, functions or `WAITAOF`.
    Redis62,
    /// Redis 7.0, as Debian has it: no compare-and-set of its own.
    Redis7,
    /// Redis 8.4 or later: `SET IFEQ` and `DELEX`.
    Redis8,
    /// Valkey 9: `SET IFEQ` and `DELIFEQ`.
    Valkey9,
    /// The TairString module: `CAS`, `CAD`, `EXSET`, `EXGET`, `EXCAS`.
    TairString,
}

/// A [`Binary`] is not there.
#[derive(Debug, Error)]
#[error("{what} is not at {}: run tests/run --only-install, or set {variable} to the file", path.display())]
pub struct Missing {
    what: &'static str,
    path: PathBuf,
    variable: &'static str,
}

impl Binary {
    /// The environment variable that names another file to use.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Self::Redis62 => "TAIRLOCK_REDIS62_SERVER",
            Self::Redis7 => "TAIRLOCK_REDIS_SERVER",
            Self::Redis8 => "TAIRLOCK_REDIS8_SERVER",
            Self::Valkey9 => "TAIRLOCK_VALKEY_SERVER",
            Self::TairString => "TAIRLOCK_TAIRSTRING_MODULE",
        }
    }

    /// The file, if it is there.
    ///
    /// # Errors
    ///
    /// [`Missing`], which says how to get it.
    pub fn find(self) -> Result<PathBuf, Missing> {
        self.find_in(|name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
    }

    fn find_in(self, var: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, Missing> {
        let missing = |path| Missing { what: self.what(), path, variable: self.variable() };
        if let Some(named) = var(self.variable()) {
            return if named.is_file() { Ok(named) } else { Err(missing(named)) };
        }
        let cached = cache(&var).join(self.cached_as());
        if cached.is_file() {
            return Ok(cached);
        }
        self.on_path(&var).ok_or_else(|| missing(cached))
    }

    fn what(self) -> &'static str {
        match self {
            Self::Redis62 => "Redis 6.2",
            Self::Redis7 => "Redis 7",
            Self::Redis8 => "Redis 8",
            Self::Valkey9 => "Valkey 9",
            Self::TairString => "the TairString module",
        }
    }

    fn cached_as(self) -> &'static str {
        match self {
            Self::Redis62 => "servers/redis62/redis-server",
            Self::Redis7 => "servers/redis7/redis-server",
            Self::Redis8 => "servers/redis8/redis-server",
            Self::Valkey9 => "servers/valkey9/valkey-server",
            Self::TairString => "servers/tairstring/libtairstring.so",
        }
    }

    // Only the plainest server: any other found by its name could be of the wrong series.
    fn on_path(self, var: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        if self != Self::Redis7 {
            return None;
        }
        let path = var("PATH")?;
        env::split_paths(&path).map(|dir| dir.join("redis-server")).find(|file| file.is_file())
    }
}

fn cache(var: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
    var("TAIRLOCK_CACHE").unwrap_or_else(|| {
        var("XDG_CACHE_HOME")
            .unwrap_or_else(|| var("HOME").unwrap_or_default().join(".cache"))
            .join("tairlock")
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_environment_goes_before_the_cache_and_the_cache_before_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let named = dir.path().join("named");
        let cached = dir.path().join(Binary::Redis7.cached_as());
        let on_path = dir.path().join("redis-server");
        let env = |with_name: bool| {
            let (named, root) = (named.clone(), dir.path().to_path_buf());
            move |name: &str| match name {
                "TAIRLOCK_REDIS_SERVER" => with_name.then(|| named.clone()),
                "TAIRLOCK_CACHE" | "PATH" => Some(root.clone()),
                _ => None,
            }
        };
        fs::write(&on_path, "").unwrap();
        assert_eq!(Binary::Redis7.find_in(env(false)).unwrap(), on_path);
        fs::create_dir_all(cached.parent().unwrap()).unwrap();
        fs::write(&cached, "").unwrap();
        assert_eq!(Binary::Redis7.find_in(env(false)).unwrap(), cached);
        // A file that was asked for by name and isn't there is never replaced by another.
        let missing = Binary::Redis7.find_in(env(true)).unwrap_err();
        assert!(missing.to_string().contains("named"), "{missing}");
        fs::write(&named, "").unwrap();
        assert_eq!(Binary::Redis7.find_in(env(true)).unwrap(), named);
    }

    #[test]
    fn a_missing_binary_says_how_to_get_it() {
        let missing = Binary::Valkey9.find_in(|_| None).unwrap_err().to_string();
        assert!(missing.contains("TAIRLOCK_VALKEY_SERVER"), "{missing}");
        assert!(missing.contains("tests/run"), "{missing}");
    }

    #[test]
    fn the_cache_folder_follows_the_desktop_convention() {
        let only =
            |name: &'static str| move |asked: &str| (asked == name).then(|| PathBuf::from("/x"));
        assert_eq!(cache(only("TAIRLOCK_CACHE")), PathBuf::from("/x"));
        assert_eq!(cache(only("XDG_CACHE_HOME")), PathBuf::from("/x/tairlock"));
        assert_eq!(cache(only("HOME")), PathBuf::from("/x/.cache/tairlock"));
    }
}
