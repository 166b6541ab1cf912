//! A deterministic simulation: the real machines on the real store, in virtual time, with every fault.
//!
//! A run is made from its seed alone: several clients with several tasks each, imitating the async or
//! the blocking driver, take, hold, renew and give back locks on one server, while messages, clocks,
//! servers and clients fail as the seed's [`Profile`] says. After every step the laws are checked that
//! must hold in that profile.

pub(crate) mod agenda;
mod bodies;
mod breakage;
mod client;
pub(crate) mod clock;
mod guards;
mod host;
mod laws;
mod listening;
mod profile;
pub(crate) mod random;
mod referee;
mod tasks;
mod troubles;
mod wire;
mod world;

use std::fmt;

pub use breakage::Breakage;
pub use profile::Profile;
pub use referee::Tally;

use world::World;

/// How many lines of a trace are worth reading.
const SHOWN: usize = 120;

/// A law that did not hold, and how to see it again.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed of the run.
    pub seed: u64,
    /// Its profile.
    pub profile: Profile,
    /// The law.
    pub law: &'static str,
    what: String,
    trace: Vec<String>,
}

/// Runs `seed`, with machines as they are or broken on purpose.
///
/// # Errors
/// The first law that did not hold, with the trace of a second run.
pub fn run(seed: u64, breakage: Option<Breakage>) -> Result<Tally, Box<Failure>> {
    let profile = Profile::of(seed);
    let found = match World::new(seed, profile, breakage, false).run() {
        Ok(tally) => return Ok(tally),
        Err(violation) => violation,
    };
    let mut again = World::new(seed, profile, breakage, true);
    let replayed = again.run();
    let mut trace = again.take_trace();
    if replayed.as_ref().err() != Some(&found) {
        trace.push(format!("the second run went differently: {replayed:?}"));
    }
    Err(Box::new(Failure { seed, profile, law: found.law, what: found.what, trace }))
}

/// What happens in a run, line by line, and what it comes to.
#[must_use]
pub fn trace(seed: u64) -> Vec<String> {
    let mut world = World::new(seed, Profile::of(seed), None, true);
    let end = world.run();
    let mut trace = world.take_trace();
    trace.push(format!("{end:?}"));
    trace
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, profile, law, what, trace } = self;
        writeln!(f, "seed {seed} ({profile:?}): {law}: {what}")?;
        let skipped = trace.len().saturating_sub(SHOWN);
        if skipped > 0 {
            writeln!(f, "… {skipped} lines …")?;
        }
        for line in &trace[skipped..] {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "again: TAIRLOCK_SEED={seed} cargo test -p tairlock-tests --test sim")
    }
}
