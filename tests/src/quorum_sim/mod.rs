//! A deterministic simulation of a quorum: the real machines, several stores, connections that break.
//!
//! A run is made from its seed alone. Clients take, hold, renew, give back and cancel locks on three or
//! five servers with clocks of their own, which are slow, cut off, restarted or emptied as the run's
//! [`World`] allows, and the laws are checked that must hold in it.

mod clients;
mod laws;
mod run;
mod troubles;
mod wire;

use std::fmt;

pub use laws::Tally;

use laws::Violation;
use run::Run;

/// How many lines of a trace are worth reading.
const SHOWN: usize = 100;

/// What may happen in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// Nothing fails; acquires are cancelled.
    Calm,
    /// One caller alone, and as many servers in trouble as may be: never the others.
    Minority,
    /// Anything fails, but servers forget nothing.
    Storm,
    /// Servers forget too, and then stay away for longer than a TTL.
    Delayed,
    /// Servers forget and are back at once, fewer within a TTL than any two quorums have in common: one
    /// more than a bare majority must agree.
    OneMore,
    /// As before, but with a bare majority: two may hold a lock at once, which must be found.
    Reckless,
}

impl World {
    /// Those in which every law holds.
    pub const SAFE: [Self; 5] =
        [Self::Calm, Self::Minority, Self::Storm, Self::Delayed, Self::OneMore];

    /// The one of a seed.
    #[must_use]
    pub const fn of(seed: u64) -> Self {
        Self::SAFE[(seed % Self::SAFE.len() as u64) as usize]
    }
}

/// What is broken on purpose: each must be found, or the simulation sees nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakage {
    /// Half of the servers are enough, rounded down.
    TooFew,
    /// What was granted in part is not taken back.
    NoRollBack,
    /// A token is asked for again although a release of it was not answered.
    OneToken,
    /// A server that has forgotten is joined again, however many have.
    RejoinsAlone,
    /// A lease is measured from the last reply.
    FromLastReply,
}

/// A law that did not hold, and how to see it again.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The law.
    pub law: &'static str,
    seed: u64,
    nodes: usize,
    world: World,
    what: String,
    trace: Vec<String>,
}

/// Runs `seed` on so many servers.
///
/// # Errors
/// The first law that did not hold, with the trace of a second run.
pub fn run(
    seed: u64,
    nodes: usize,
    world: World,
    breakage: Option<Breakage>,
) -> Result<Tally, Box<Failure>> {
    let Violation { law, what } = match Run::new(seed, nodes, world, breakage, false).run() {
        Ok(tally) => return Ok(tally),
        Err(violation) => violation,
    };
    let mut again = Run::new(seed, nodes, world, breakage, true);
    let replayed = again.run();
    let mut trace = again.take_trace();
    if !replayed.as_ref().is_err_and(|again| again.what == what) {
        trace.push(format!("the second run went differently: {replayed:?}"));
    }
    Err(Box::new(Failure { law, seed, nodes, world, what, trace }))
}

/// What happens in a run, line by line, and what it comes to.
#[must_use]
pub fn trace(seed: u64, nodes: usize, world: World) -> Vec<String> {
    let mut run = Run::new(seed, nodes, world, None, true);
    let end = run.run();
    let mut trace = run.take_trace();
    trace.push(format!("{end:?}"));
    trace
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, seed, nodes, world, what, trace } = self;
        writeln!(f, "seed {seed} on {nodes} servers ({world:?}): {law}: {what}")?;
        for line in &trace[trace.len().saturating_sub(SHOWN)..] {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "again: TAIRLOCK_SEED={seed} cargo test -p tairlock-tests --test sim")
    }
}
