//! Which faults a run plays, and which promises must therefore hold in it.

use super::random::Random;

/// A kind of run. A seed's rest modulo their number is its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Contention and delay, and nothing that fails.
    Calm,
    /// Futures dropped at every point, clients closed and killed, executors blocked for a while.
    Cancelled,
    /// Replies lost after execution; connections on which nothing comes back.
    Mute,
    /// Connections cut, requests lost before or delivered after; partitions.
    Cuts,
    /// Messages that take longer than leases last.
    Slow,
    /// A server that crashes and comes back with its data, stands still, or refuses for a while.
    Restarts,
    /// Clients that do not run while their clock does, or that die.
    Pauses,
    /// Clocks at different speeds, as far apart as the drift allowance covers.
    Drift,
    /// Requests that arrive twice, as something on the way repeats what it got no reply to.
    Doubled,
    /// A server that forgets: restarted without its data, keys deleted by others.
    DataLoss,
    /// A server whose clock is set, forward or back.
    Steps,
    /// Everything at once.
    Chaos,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    Cut,
    Mute,
    Deaf,
    Partition,
    Crash,
    CrashEmpty,
    ServerPause,
    Refusal,
    ClientPause,
    Stall,
    Kill,
    Close,
    Delete,
    StepForward,
    StepBack,
}

/// How much of what goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    pub(super) troubles: &'static [Trouble],
    /// At most so many milliseconds between two of them.
    pub(super) every: u64,
    /// A message's usual delay is at most so many microseconds.
    pub(super) delay: u64,
    /// So many messages in a thousand take up to `longest` milliseconds instead.
    pub(super) delayed: u64,
    pub(super) longest: u64,
    /// So many in a thousand.
    pub(super) lost_requests: u64,
    pub(super) lost_replies: u64,
    pub(super) doubled: u64,
    /// Every clock is off by at most so many millionths.
    pub(super) ppm: i64,
    pub(super) ttls: &'static [u64],
    pub(super) cancels: bool,
}

/// What must hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promises {
    /// While a lease is valid, its token stands on the server, and there is no second valid lease.
    pub(super) exclusion: bool,
    /// What an acquire left behind is released, and not left to its TTL.
    pub(super) clean: bool,
    /// A free lock is taken at once by who waits for it.
    pub(super) prompt: bool,
    /// A renewed lease is never lost or in doubt, and no acquire fails.
    pub(super) calm: bool,
    /// A key is gone a TTL after what was last done to it.
    pub(super) expiry: bool,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Calm,
        Self::Cancelled,
        Self::Mute,
        Self::Cuts,
        Self::Slow,
        Self::Restarts,
        Self::Pauses,
        Self::Drift,
        Self::Doubled,
        Self::DataLoss,
        Self::Steps,
        Self::Chaos,
    ];

    /// The profile of a seed.
    #[must_use]
    pub const fn of(seed: u64) -> Self {
        Self::ALL[(seed % Self::ALL.len() as u64) as usize]
    }

    pub(super) const fn promises(self) -> Promises {
        Promises {
            exclusion: !matches!(self, Self::DataLoss | Self::Steps | Self::Chaos),
            clean: matches!(self, Self::Calm | Self::Cancelled | Self::Mute),
            prompt: matches!(self, Self::Calm | Self::Cancelled),
            calm: matches!(self, Self::Calm),
            expiry: !matches!(self, Self::Steps | Self::Chaos),
        }
    }

    pub(super) fn weather(self, random: &mut Random) -> Weather {
        use Trouble::{
            ClientPause, Close, Crash, CrashEmpty, Cut, Deaf, Delete, Kill, Mute, Partition,
            Refusal, ServerPause, Stall, StepBack, StepForward,
        };
        const SHORT: &[u64] = &[30, 100, 300, 1_000];
        const LONG: &[u64] = &[300, 1_000];
        let fair = Weather {
            troubles: &[],
            every: 400,
            delay: random.pick(&[60, 300, 2_000]),
            delayed: 10,
            longest: 20,
            lost_requests: 0,
            lost_replies: 0,
            doubled: 0,
            ppm: 200,
            ttls: SHORT,
            cancels: true,
        };
        match self {
            Self::Calm => Weather { ttls: LONG, cancels: false, ..fair },
            // Slow enough that what is sent later on another connection may come first.
            Self::Cancelled => Weather {
                ttls: LONG,
                troubles: &[Close, Kill, Stall],
                every: 2_000,
                delayed: 150,
                longest: 40,
                ..fair
            },
            Self::Mute => Weather { ttls: LONG, troubles: &[Mute], lost_replies: 60, ..fair },
            Self::Cuts => Weather {
                troubles: &[Cut, Cut, Deaf, Mute, Partition],
                delayed: 30,
                longest: 100,
                lost_requests: 20,
                lost_replies: 20,
                ..fair
            },
            Self::Slow => Weather { delayed: 60, longest: random.pick(&[100, 500, 3_000]), ..fair },
            Self::Restarts => {
                Weather { troubles: &[Crash, ServerPause, Refusal, Cut], delayed: 30, ..fair }
            }
            Self::Pauses => Weather {
                troubles: &[ClientPause, ClientPause, Stall, Kill, Close],
                every: 700,
                ..fair
            },
            Self::Drift => Weather {
                ppm: 4_900,
                troubles: &[Partition, Cut],
                delayed: 30,
                longest: 100,
                ..fair
            },
            Self::Doubled => {
                Weather { doubled: 80, delayed: 60, longest: 500, lost_replies: 20, ..fair }
            }
            Self::DataLoss => Weather { troubles: &[CrashEmpty, Delete, Delete], ..fair },
            Self::Steps => Weather { troubles: &[StepForward, StepBack, Partition], ..fair },
            Self::Chaos => Weather {
                troubles: &[
                    Cut,
                    Mute,
                    Deaf,
                    Partition,
                    Crash,
                    CrashEmpty,
                    ServerPause,
                    Refusal,
                    ClientPause,
                    Stall,
                    Kill,
                    Close,
                    Delete,
                    StepForward,
                    StepBack,
                ],
                delayed: 40,
                longest: 1_000,
                lost_requests: 20,
                lost_replies: 20,
                doubled: 20,
                ppm: 4_900,
                ..fair
            },
        }
    }
}
