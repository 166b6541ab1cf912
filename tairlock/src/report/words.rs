//! The words that stand in spans and metrics: few, constant, and none of them a key.

use crate::{Error, FaultKind, LossReason, Release};

/// What a lock or value without a name is called.
pub(super) const UNNAMED: &str = "unnamed";

pub(super) const GRANTED: &str = "granted";
/// A call inside of a body that holds the lock shares its lease.
pub(super) const SHARED: &str = "shared";
/// Whoever asked did not wait for the answer.
pub(super) const CANCELLED: &str = "cancelled";
/// No server had a fault in it.
pub(super) const NO_FAULT: &str = "none";

pub(super) const RELEASED: &str = "released";
pub(super) const LOST: &str = "lost";
/// The server refuses the release, and will go on refusing.
pub(super) const REFUSED: &str = "refused";

pub(super) const CONFIRMED: &str = "confirmed";
pub(super) const UNCONFIRMED: &str = "unconfirmed";

/// Why a lock was not had.
pub(super) const fn refusal(error: &Error) -> &'static str {
    match error {
        Error::Busy { .. } => "busy",
        Error::TimedOut { .. } => "timed_out",
        Error::WouldDeadlock { .. } => "would_deadlock",
        Error::Backend { .. } => "backend",
        Error::NoQuorum { .. } => "no_quorum",
        Error::NotReplicated { .. } => "not_replicated",
        Error::Config(_) => "config",
        Error::NoDefaultClient => "no_client",
        Error::Closed => "closed",
        _ => "other",
    }
}

/// What a server had to do with it.
pub(super) const fn fault(error: &Error) -> &'static str {
    let Some(fault) = error.fault() else { return NO_FAULT };
    match fault.kind() {
        FaultKind::Unreachable => "unreachable",
        FaultKind::NoReply => "no_reply",
        FaultKind::Auth => "auth",
        FaultKind::Permission => "permission",
        FaultKind::ReadOnly => "read_only",
        FaultKind::NotReady => "not_ready",
        FaultKind::OutOfMemory => "out_of_memory",
        FaultKind::WrongType => "wrong_type",
        FaultKind::Cluster => "cluster",
        FaultKind::NoQuorum => "no_quorum",
        FaultKind::Unsupported => "unsupported",
        FaultKind::Config => "config",
        FaultKind::Protocol => "protocol",
        FaultKind::Server => "server",
    }
}

pub(super) const fn loss(reason: LossReason) -> &'static str {
    match reason {
        LossReason::Expired => "expired",
        LossReason::Taken => "taken",
        LossReason::Vanished => "vanished",
        LossReason::Unreachable => "unreachable",
        LossReason::MaxHold => "max_hold",
    }
}

/// What a release did; `None` if the server refuses it.
pub(super) const fn release(release: Option<Release>) -> &'static str {
    match release {
        Some(Release::Released) => RELEASED,
        Some(Release::Retained { .. }) => "retained",
        Some(Release::Expired) => "expired",
        Some(Release::Taken) => "taken",
        Some(Release::Kept) => "kept",
        Some(Release::Unknown) => "unknown",
        None => REFUSED,
    }
}
