//! [`Client::doctor`]: what this deployment can lose.

use tairlock::{Error, Operation, doctor::Report};

use crate::Client;

impl Client {
    /// Examines the server: what a crash or a failover can take from the locks on it, and what to do.
    ///
    /// Asks with the rights of this client's user, and changes nothing. What it may not see it says, and
    /// goes on; `INFO`, `CONFIG GET`, `TIME` and `COMMAND INFO` are what it would like to ask. On a quorum
    /// all servers are examined. About a second, the response deadline, is the most that it takes.
    ///
    /// ```
    /// let report = tairlock_sync::Client::in_memory().doctor()?;
    /// assert!(report.is_sound());
    /// println!("{report}"); // a table
    /// for finding in &report.findings {
    ///     println!("{}: {}", finding.severity, finding.remedy);
    /// }
    /// # Ok::<(), tairlock_sync::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Backend`] if the server cannot be reached, and for a cluster, whose nodes are to be
    /// examined each by a client of its own; [`Error::Closed`] after [`Client::close`].
    pub fn doctor(&self) -> Result<Report, Error> {
        let inner = self.inner();
        if inner.is_closed() {
            return Err(Error::Closed);
        }
        inner
            .commands
            .examine(inner.limits.response, inner.confirm)
            .map_err(|fault| Error::Backend { key: None, operation: Operation::Examine, fault })
    }
}
