//! Machines broken on purpose, one by one: each must be found, or the simulation sees nothing.

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakage {
    /// A release deletes the key, whoever's it is.
    ReleaseUnchecked,
    /// A renewal prolongs the key, whoever's it is (`PEXPIRE`).
    RenewUnchecked,
    /// A renewal of a key that is gone makes it anew.
    RenewalMakesKey,
    /// A renewal that finds no key, or another's, counts as one.
    RenewalFindsNothing,
    /// A lease is measured from the reply, not from before the send.
    ClockAfterSend,
    /// A roll-back goes down the keeper's connection, and once.
    RollBackElsewhere,
    /// A cancelled or failed acquire rolls nothing back.
    NoRollBack,
    /// After a lost reply the lock is asked for with another token.
    FreshToken,
    /// The keeper is not told that a release was begun, and goes on renewing.
    RenewsAfterRelease,
    /// A lost reply is taken for "somebody else holds it".
    FaultAsBusy,
    /// Who leaves the line rings for nobody.
    NoBell,
    /// A waiter is not told what the server pushes.
    NoPush,
}

impl Breakage {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::ReleaseUnchecked,
        Self::RenewUnchecked,
        Self::RenewalMakesKey,
        Self::RenewalFindsNothing,
        Self::ClockAfterSend,
        Self::RollBackElsewhere,
        Self::NoRollBack,
        Self::FreshToken,
        Self::RenewsAfterRelease,
        Self::FaultAsBusy,
        Self::NoBell,
        Self::NoPush,
    ];
}
