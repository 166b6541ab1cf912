//! What is said to a node of a cluster beside operations: who serves which slot, and that we know that
//! we were sent.

use std::sync::Arc;

use super::{Batch, Command, Reply};
use crate::{
    Fault, FaultKind,
    proto::{Address, Range},
};

/// Who serves which slot?
#[must_use]
pub fn slots() -> Batch {
    vec![Command::new("CLUSTER").word("SLOTS")]
}

/// Before a command: the node that is about to be given a slot serves it.
#[must_use]
pub fn asking() -> Command {
    Command::new("ASKING")
}

/// What `speaker` answered to [`slots`].
///
/// # Errors
/// [`FaultKind::Config`] where it is no node of a cluster, what else it says, and
/// [`FaultKind::Cluster`] where nobody serves anything.
pub fn read_slots(reply: Option<Reply>, speaker: &Address) -> Result<Vec<Range>, Fault> {
    let ranges = match reply {
        Some(Reply::Array(ranges)) => ranges,
        Some(Reply::Error(fault)) => return Err(refused(fault)),
        _ => return Err(Fault::new(FaultKind::Protocol, "no answer to who serves which slot")),
    };
    let ranges: Vec<Range> = ranges.into_iter().filter_map(|one| range(one, speaker)).collect();
    if ranges.is_empty() {
        let text = format!("{speaker}: no slot of the cluster is served");
        return Err(Fault::new(FaultKind::Cluster, text));
    }
    Ok(ranges)
}

fn refused(fault: Fault) -> Fault {
    let text = fault.to_string();
    if text.contains("cluster support disabled") {
        let help = "the server is no node of a cluster; say `.url(…)`";
        return Fault::new(FaultKind::Config, help);
    }
    match fault.kind() {
        FaultKind::Permission => fault.hint("grant the user `+cluster|slots` and `+asking`"),
        FaultKind::Unsupported => fault.hint("the server is no node of a cluster; say `.url(…)`"),
        _ => fault,
    }
}

fn range(reply: Reply, speaker: &Address) -> Option<Range> {
    let Reply::Array(parts) = reply else { return None };
    let mut parts = parts.into_iter();
    let mut slot = || match parts.next() {
        Some(Reply::Int(slot)) => u16::try_from(slot).ok(),
        _ => None,
    };
    let (first, last) = (slot()?, slot()?);
    let nodes = parts.filter_map(|node| address(node, speaker)).collect();
    Some(Range { first, last, nodes })
}

/// A node without a name is where the one is that tells of it.
fn address(reply: Reply, speaker: &Address) -> Option<Address> {
    let Reply::Array(parts) = reply else { return None };
    let mut parts = parts.into_iter();
    let host: Arc<str> = match parts.next()? {
        Reply::Bytes(host) if host.is_empty() => Arc::clone(&speaker.host),
        // Somewhere, which it does not know itself.
        Reply::Bytes(host) if host == b"?" => return None,
        Reply::Bytes(host) => String::from_utf8(host).ok()?.into(),
        Reply::Nil => Arc::clone(&speaker.host),
        _ => return None,
    };
    match parts.next()? {
        Reply::Int(port) => Some(Address { host, port: u16::try_from(port).ok()? }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Reply {
        Reply::Bytes(text.into())
    }

    fn node(host: Reply, port: i64) -> Reply {
        Reply::Array(vec![host, Reply::Int(port), text("id"), Reply::Array(vec![])])
    }

    #[test]
    fn slots_are_read_as_servers_tell_them() {
        let speaker = Address::new("me", 1);
        let range = Reply::Array(vec![
            Reply::Int(0),
            Reply::Int(16_383),
            node(text("10.0.0.1"), 7000),
            node(text(""), 7001),
            node(Reply::Nil, 7002),
            node(text("?"), 7003),
        ]);
        let read = read_slots(Some(Reply::Array(vec![range])), &speaker).unwrap();
        let at = |host, port| Address::new(host, port);
        let nodes = vec![at("10.0.0.1", 7000), at("me", 7001), at("me", 7002)];
        assert_eq!(read, [Range { first: 0, last: 16_383, nodes }]);
    }

    #[test]
    fn who_is_no_cluster_says_so() {
        let speaker = Address::new("me", 1);
        let kind = |reply| read_slots(Some(reply), &speaker).unwrap_err().kind();
        let alone = Fault::from_server("ERR", "This instance has cluster support disabled");
        assert_eq!(kind(Reply::Error(alone)), FaultKind::Config);
        assert_eq!(kind(Reply::Array(vec![])), FaultKind::Cluster);
        let denied =
            Fault::from_server("NOPERM", "no permissions to run the 'cluster|slots' command");
        let fault = read_slots(Some(Reply::Error(denied)), &speaker).unwrap_err();
        assert!(fault.to_string().contains("+cluster|slots"), "{fault}");
    }
}
