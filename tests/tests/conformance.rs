//! Every law on every subject: {memory, each server, each protocol} × {each driver}, each a named case (T15).

use std::{process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Trial};
use tairlock_tests::{
    laws::{self, Stage},
    subject, world,
};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Laws wait for servers and for time, not for a core.
    arguments.test_threads.get_or_insert(8);
    let worlds = world::all();
    let mut trials = Vec::new();
    for (at, place) in subject::places() {
        let place = Arc::new(place);
        for world in &worlds {
            for (number, &(law, holds)) in laws::at(&place).enumerate() {
                let (place, world) = (Arc::clone(&place), Arc::clone(world));
                let name = format!("{at} / {} / {law}", world.name());
                trials.push(Trial::test(name, move || {
                    let name = format!("law{number}-{}", world.name());
                    holds(Stage { place: &place, world: &*world, name: &name });
                    Ok(())
                }));
            }
        }
    }
    // The servers end with the last trial that holds them, which is before the process does.
    libtest_mimic::run(&arguments, trials).exit_code()
}
