//! The example does what it tells: the late write is lost without a fence, and refused with one.

use std::process::Command;

#[test]
fn the_late_write_is_refused() {
    let run = Command::new(env!("CARGO_BIN_EXE_fenced-sql")).output().expect("it runs");
    let told = String::from_utf8(run.stdout).expect("text");
    assert!(run.status.success(), "{told}{}", String::from_utf8_lossy(&run.stderr));
    let (without, with) = told.split_once("With a fence:").expect("both parts");
    assert!(without.contains("first cashier: writes 30: written"), "{told}");
    assert!(without.contains("left: 30, and it should be 20"), "{told}");
    assert!(with.contains("second cashier: writes 90: written"), "{told}");
    assert!(with.contains("first cashier: writes 30: refused"), "{told}");
    assert!(with.contains("left: 90"), "{told}");
    // The fences that it tells increase.
    let fences: Vec<u64> = told
        .lines()
        .filter_map(|line| line.split_once("fence ")?.1.split(',').next()?.parse().ok())
        .collect();
    assert_eq!(fences.len(), 4, "{told}");
    assert!(fences[0] < fences[1] && fences[2] < fences[3], "{told}");
}
