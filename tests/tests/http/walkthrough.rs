//! The walk through each shop, as its README tells it: every command is run, and says what it says there.

use std::{net::SocketAddr, path::Path, process::Command};

use tairlock_tests::program::Program;

use crate::services::{BOTH, Kind};

struct Step {
    command: String,
    says: String,
}

/// The commands of the blocks of a console, each with the lines behind it.
fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in readme.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the end of a block");
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => {
                    steps.push(Step { command: command.to_owned(), says: String::new() });
                }
                None => {
                    let step = steps.last_mut().expect("a command before what it says");
                    step.says.push_str(line);
                    step.says.push('\n');
                }
            }
        }
    }
    steps
}

fn run(step: &Step, addr: SocketAddr) -> String {
    let command = step.command.replace("localhost:8080", &addr.to_string());
    // Debian's minimal images have no curl; `tests/install` brings it.
    let output = Command::new("sh").args(["-c", &command]).output().expect("a shell");
    assert!(output.status.success(), "{command}\n{output:?}");
    String::from_utf8(output.stdout).expect("text").replace('\r', "")
}

#[test]
fn the_readmes_say_what_happens() {
    for kind in BOTH {
        let folder = match kind {
            Kind::Axum => "axum",
            Kind::Actix => "actix",
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../integrations/{folder}/examples/shop/README.md"));
        let steps = steps(&std::fs::read_to_string(path).expect("a README"));
        assert!(steps.len() >= 10, "{kind:?}: {} steps", steps.len());
        let mut shop = kind.open(None, 5);
        for step in &steps {
            let said = run(step, shop.addr);
            assert_eq!(said.trim_end(), step.says.trim_end(), "{kind:?}: {}", step.command);
        }
        close(&mut shop.process);
    }
}

/// The last sentence of the walk.
fn close(shop: &mut Program) {
    shop.ask_to_stop();
    assert_eq!(shop.line(), "everything is released");
    assert!(shop.ended_well());
}
