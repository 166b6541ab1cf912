//! Which server is at the other end, so that a quorum does not count one twice.

use super::{Batch, Command, Reply};
use crate::{Fault, FaultKind};

/// Asks it.
#[must_use]
pub fn identify() -> Batch {
    vec![Command::new("INFO").word("server")]
}

/// What it answered: a name that it has until it restarts; nothing where it does not say.
///
/// # Errors
/// [`FaultKind::Config`] for a node of a cluster, which does not stand alone.
pub fn identity(reply: Option<&Reply>) -> Result<Option<Box<str>>, Fault> {
    let Some(Reply::Bytes(text)) = reply else { return Ok(None) };
    let text = String::from_utf8_lossy(text);
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    if field("redis_mode") == Some("cluster") || field("server_mode") == Some("cluster") {
        let text =
            "it is a node of a cluster; a quorum is of servers that know nothing of each other";
        return Err(Fault::new(FaultKind::Config, text));
    }
    Ok(field("run_id").map(Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_who_it_is() {
        let says = |text: &str| identity(Some(&Reply::Bytes(text.into())));
        let id = says("# Server\r\nredis_mode:standalone\r\nrun_id:4e\r\n").unwrap();
        assert_eq!(id.as_deref(), Some("4e"));
        assert_eq!(says("# Server\r\n").unwrap(), None);
        assert_eq!(says("redis_mode:cluster\r\n").unwrap_err().kind(), FaultKind::Config);
        assert_eq!(identity(None).unwrap(), None);
    }
}
