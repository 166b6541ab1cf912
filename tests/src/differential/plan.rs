//! How many sequences are drawn, from which seeds, and what becomes of one that fails.

use std::{
    cell::RefCell,
    env,
    hash::{BuildHasher as _, RandomState},
    sync::OnceLock,
};

use proptest::{
    strategy::ValueTree as _,
    test_runner::{TestCaseError, TestError},
};

use tairlock::dialect::Question;

use super::{
    block::{Bench, Failure},
    sequence::{Step, draw},
    subject::{Dialect, Subject},
};
use crate::place::Protocol;

/// How many sequences are under way at once. On a busy machine it is round trips that take time.
const BLOCK: usize = 2_500;

/// Which sequences to play. Every seed is one sequence.
#[derive(Debug)]
pub struct Plan {
    first: u64,
    count: u64,
    drawn: OnceLock<Vec<(u64, Vec<Step>)>>,
}

impl Plan {
    /// `count` sequences from the seed `first` on.
    #[must_use]
    pub const fn new(first: u64, count: u64) -> Self {
        Self { first, count, drawn: OnceLock::new() }
    }

    /// `TAIRLOCK_SEQUENCES` of them, 10,000 if that is not set, from a seed that is new every time;
    /// or the one of `TAIRLOCK_SEED`.
    ///
    /// # Panics
    /// If one of the two is no number.
    #[must_use]
    pub fn from_env() -> Self {
        let number = |name: &str| {
            let text = env::var(name).ok().filter(|text| !text.is_empty())?;
            Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
        };
        let count = number("TAIRLOCK_SEQUENCES");
        match number("TAIRLOCK_SEED") {
            Some(seed) => Self::new(seed, count.unwrap_or(1)),
            // Small enough to be typed.
            None => Self::new(RandomState::new().hash_one(()) >> 24, count.unwrap_or(10_000)),
        }
    }

    /// The sequences, drawn once for all dialects.
    fn drawn(&self) -> &[(u64, Vec<Step>)] {
        self.drawn.get_or_init(|| {
            let seeds = (0..self.count).map(|nth| self.first.wrapping_add(nth));
            seeds.map(|seed| (seed, draw(seed).1.current())).collect()
        })
    }
}

/// Looks whether detection finds the best ways that this server is known to understand, and whether
/// it would without being told which commands there are.
///
/// # Errors
/// What it finds instead.
pub fn detects(subject: &Subject, protocol: Protocol) -> Result<(), String> {
    let best = subject.dialects().swap_remove(0);
    let mut bench = Bench::new(subject, best.clone(), protocol);
    bench.probe()?;
    let found = bench.detect();
    if let Some(question) = subject.misjudged(&found) {
        return Err(format!("{} is wrong about ways for {question:?}", subject.name));
    }
    if best.is_spoken_by(&found) {
        return Ok(());
    }
    let found: Vec<_> = Question::ALL.iter().map(|which| found.way(*which).name()).collect();
    let found = found.join(", ");
    Err(format!("the best dialect of {} is {best}, detection finds {found}", subject.name))
}

/// Plays all sequences of `plan` in this dialect.
///
/// # Errors
/// The smallest sequence that fails, why, and how to play it again.
pub fn check(
    subject: &Subject,
    dialect: &Dialect,
    protocol: Protocol,
    plan: &Plan,
) -> Result<(), String> {
    let mut bench = Bench::warm(subject, dialect.clone(), protocol);
    for block in plan.drawn().chunks(BLOCK) {
        let block: Vec<_> = block.iter().map(|(seed, steps)| (*seed, steps.as_slice())).collect();
        if let Err(failure) = bench.play(&block) {
            return Err(shrink(&mut bench, &failure));
        }
    }
    Ok(())
}

fn shrink(bench: &mut Bench<'_>, failure: &Failure) -> String {
    let seed = failure.seed;
    let (mut runner, tree) = draw(seed);
    // The runner wants to be able to ask twice at once, which it never does.
    let bench = RefCell::new(bench);
    let alone = runner.run_one(tree, |steps| {
        let played = bench.borrow_mut().play(&[(seed, &steps)]);
        played.map_err(|failure| TestCaseError::fail(failure.reason))
    });
    let again = format!(
        "again: TAIRLOCK_SEED={seed} cargo test -p tairlock-tests --test differential -- NAME"
    );
    match alone {
        Err(TestError::Fail(reason, steps)) => {
            let steps: Vec<_> = steps.iter().map(|step| format!("  {step:?}")).collect();
            let steps = steps.join("\n");
            format!("seed {seed}, at its smallest:\n{steps}\n{reason}\n{again}")
        }
        _ => {
            let reason = &failure.reason;
            format!("seed {seed}, and only among others: {reason}\n{again}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Server, differential::SUBJECTS};

    /// A server that is not what it seems: the second look at a key that was not released fails.
    static LIAR: Subject = Subject {
        name: "liar",
        has_tairstring: false,
        server: || Server::valkey9().config(["rename-command", "EXISTS", "STRLEN2"]),
        knows: &[(Question::Release, &["DELIFEQ"])],
    };

    #[test]
    fn a_disagreement_is_shrunk_and_played_again_from_its_seed() {
        let dialect = &LIAR.dialects()[0];
        let told = check(&LIAR, dialect, Protocol::Resp2, &Plan::new(7, 200)).expect_err("a liar");
        assert_eq!(told.matches("  Ask(").count(), 1, "at its smallest: {told}");
        assert!(!told.contains("  World("), "at its smallest: {told}");
        let seed = told.split("TAIRLOCK_SEED=").nth(1).and_then(|rest| rest.split(' ').next());
        let seed = seed.and_then(|seed| seed.parse().ok()).expect("a seed");
        let again = check(&LIAR, dialect, Protocol::Resp2, &Plan::new(seed, 1));
        assert_eq!(again.expect_err("again"), told);
    }

    #[test]
    fn a_seed_is_a_sequence() {
        let drawn = |plan: &Plan| format!("{:?}", plan.drawn());
        assert_eq!(drawn(&Plan::new(3, 5)), drawn(&Plan::new(3, 5)));
        assert_ne!(drawn(&Plan::new(3, 1)), drawn(&Plan::new(4, 1)));
    }

    #[test]
    fn every_question_is_answered_for_every_server() {
        for subject in SUBJECTS {
            let known: Vec<_> = subject.knows.iter().map(|(question, _)| *question).collect();
            assert_eq!(known, Question::ALL, "{}", subject.name);
        }
    }
}
