//! What is said to a sentinel, and to the server that it names.

use super::{Batch, Command, Reply};
use crate::{Fault, FaultKind, proto::Address};

/// Where is the primary called `name`?
#[must_use]
pub fn primary(name: &str) -> Batch {
    vec![Command::new("SENTINEL").word("GET-MASTER-ADDR-BY-NAME").bytes(name.as_bytes().into())]
}

/// What a sentinel answered to [`primary`]: `None` if it watches nothing of that name.
///
/// # Errors
/// What the sentinel says instead.
pub fn read_primary(reply: Option<Reply>) -> Result<Option<Address>, Fault> {
    let unread = || Fault::new(FaultKind::Protocol, "a sentinel gave no address that can be read");
    match reply {
        Some(Reply::Nil) => Ok(None),
        Some(Reply::Error(fault)) if fault.kind() == FaultKind::Unsupported => {
            Err(Fault::new(FaultKind::Config, format!("that is no sentinel: {fault}")))
        }
        Some(Reply::Error(fault)) => Err(fault),
        Some(Reply::Array(parts)) => match parts.as_slice() {
            [Reply::Bytes(host), Reply::Bytes(port)] => {
                let (host, port) = (std::str::from_utf8(host), std::str::from_utf8(port));
                let port = port.ok().and_then(|port| port.parse().ok());
                match (host, port) {
                    (Ok(host), Some(port)) => Ok(Some(Address::new(host, port))),
                    _ => Err(unread()),
                }
            }
            _ => Err(unread()),
        },
        _ => Err(unread()),
    }
}

/// What is the server: a primary or a replica?
#[must_use]
pub fn role() -> Batch {
    vec![Command::new("ROLE")]
}

/// Whether the answer to [`role`] is that of a primary. One that may not be asked is taken for one: it
/// will say so itself if it takes no writes.
///
/// # Errors
/// [`FaultKind::ReadOnly`], if it is none.
pub fn is_primary(reply: Option<&Reply>) -> Result<(), Fault> {
    match reply {
        Some(Reply::Array(parts)) => match parts.first() {
            Some(Reply::Bytes(role)) if role != b"master" => {
                let text = "the server that the sentinels name is not a primary yet";
                Err(Fault::new(FaultKind::ReadOnly, text))
            }
            _ => Ok(()),
        },
        Some(Reply::Error(fault)) if fault.kind() == FaultKind::NotReady => Err(fault.clone()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentinel_tells_where_the_primary_is_or_that_it_knows_none() {
        let bytes = |text: &str| Reply::Bytes(text.into());
        let there = Reply::Array(vec![bytes("10.0.0.1"), bytes("6379")]);
        assert_eq!(read_primary(Some(there)).unwrap(), Some(Address::new("10.0.0.1", 6379)));
        assert_eq!(read_primary(Some(Reply::Nil)).unwrap(), None);
        let alien = Fault::from_server("ERR", "unknown command 'SENTINEL', with args");
        let refused = read_primary(Some(Reply::Error(alien))).unwrap_err();
        assert_eq!(refused.kind(), FaultKind::Config);
        assert!(read_primary(Some(Reply::Array(vec![bytes("h"), bytes("p")]))).is_err());
    }

    #[test]
    fn a_replica_is_no_primary() {
        let role = |name: &str| Reply::Array(vec![Reply::Bytes(name.into()), Reply::Int(0)]);
        assert!(is_primary(Some(&role("master"))).is_ok());
        let fault = is_primary(Some(&role("slave"))).unwrap_err();
        assert!(fault.kind() == FaultKind::ReadOnly && fault.is_transient());
        let denied = Reply::Error(Fault::from_server("NOPERM", "no permissions"));
        assert!(is_primary(Some(&denied)).is_ok());
    }
}
