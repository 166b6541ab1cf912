//! Each server's own folder, also removed where its fixture never got to.

use std::path::Path;
use std::sync::Once;
use std::{env, fs, io, process};

use tempfile::TempDir;

/// A new folder, named after this process.
pub(super) fn create() -> io::Result<TempDir> {
    // A server in a `static` is never dropped, and neither is one of a process that was killed.
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| sweep(&env::temp_dir()));
    TempDir::with_prefix(format!("tairlock-{}-", process::id()))
}

/// Removes the folders of processes that are gone.
fn sweep(temp: &Path) {
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("tairlock-")?.split('-').next());
        let pid: Option<u32> = pid.and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // Another process may be sweeping as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_processes_that_are_gone_are_swept() {
        let temp = tempfile::tempdir().unwrap();
        let mine = format!("tairlock-{}-x", process::id());
        let names = [mine.as_str(), "tairlock-4294967295-x", "tairlock-notes", "other"];
        for name in names {
            fs::create_dir(temp.path().join(name)).unwrap();
        }
        sweep(temp.path());
        assert_eq!(names.map(|name| temp.path().join(name).exists()), [true, false, true, true]);
    }
}
