//! A lease that is being renewed.

use crate::{Ttl, lease::Lease, time::Timestamp};

/// What is known of it when that is answered, as its tenant may have left by then.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) id: u64,
    pub(super) lease: Lease,
    pub(super) ttl: Ttl,
    /// Until when the key is to stay although it was given back.
    pub(super) keep: Option<Timestamp>,
}
