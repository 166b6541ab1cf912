//! A sequence of steps, drawn from a seed.

use std::time::Duration;

use proptest::{
    bool::weighted,
    collection::vec,
    option,
    prelude::*,
    sample::select,
    strategy::ValueTree,
    test_runner::{Config, RngSeed, TestRunner},
};
use tairlock::{Key, memory::Condition};

use super::{
    asked::{Asked, asked},
    deed::{Deed, deed},
};

/// One step of a sequence.
#[derive(Clone, Debug)]
pub enum Step {
    /// We ask for something.
    Ask(Ask),
    /// Somebody else does something.
    World(Deed),
    /// Time passes.
    Pass(Duration),
}

/// Something that we ask for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// For what.
    pub(super) asked: Asked,
    /// How the server is while we do.
    pub(super) condition: Condition,
    /// Whether it has just forgotten its scripts.
    pub(super) forgetful: bool,
    /// What somebody else does between the first and the second round, if it comes to a second.
    pub(super) meanwhile: Option<Deed>,
}

/// The keys of the sequence of this seed, which no other has: some look like what a parser reads.
pub(super) fn keys(seed: u64) -> Vec<Key> {
    // All of them text: redis-rs gives a connection up when an error quotes bytes that are none.
    let key = |ending| Key::new(format!("{seed}:{ending}")).expect("a key in its limits");
    ["a", "}b{\r\n", "é\0"].map(key).into()
}

/// Draws the sequence of `seed`, as something that shrinks.
pub(super) fn draw(seed: u64) -> (TestRunner, impl ValueTree<Value = Vec<Step>>) {
    let config = Config {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let tree = vec(step(&keys(seed)), 1..=15).new_tree(&mut runner);
    (runner, tree.expect("no draw is refused"))
}

fn step(keys: &[Key]) -> impl Strategy<Value = Step> + use<> {
    let condition = prop_oneof![
        16 => Just(Condition::Well),
        2 => Just(Condition::Full),
        2 => Just(Condition::ReadOnly),
    ];
    let forgetful = weighted(0.1);
    let ask = (asked(keys), condition, forgetful, option::weighted(0.3, deed(keys)));
    let ask = ask.prop_map(|(asked, condition, forgetful, meanwhile)| {
        Step::Ask(Ask { asked, condition, forgetful, meanwhile })
    });
    let passes = [300_000, 600_000, 750_007, 3_600_000, 25 * 24 * 3_600_000];
    let passes = passes.map(Duration::from_millis).to_vec();
    prop_oneof![
        14 => ask,
        4 => deed(keys).prop_map(Step::World),
        2 => select(passes).prop_map(Step::Pass),
    ]
}
