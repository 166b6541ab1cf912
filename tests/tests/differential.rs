//! Random sequences on the embedded store and on every server, in every dialect: they agree.
//!
//! `TAIRLOCK_SEQUENCES` says how many each dialect plays, `TAIRLOCK_SEED` plays one again.

use std::{process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Trial};
use tairlock_tests::{
    differential::{Plan, SUBJECTS, check, detects},
    place::Protocol,
};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let plan = Arc::new(Plan::from_env());
    let mut trials = Vec::new();
    for subject in SUBJECTS {
        for (spoken, protocol) in [("resp2", Protocol::Resp2), ("resp3", Protocol::Resp3)] {
            let name = format!("{} / {spoken} / detection", subject.name);
            trials.push(Trial::test(name, move || Ok(detects(subject, protocol)?)));
            for dialect in subject.dialects() {
                let plan = Arc::clone(&plan);
                let name = format!("{} / {spoken} / {dialect}", subject.name);
                let play = move || Ok(check(subject, &dialect, protocol, &plan)?);
                trials.push(Trial::test(name, play));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
