//! M7: a body that never returns has nothing to write, and no conflict to try again after.

#[tairlock::optimistic_retry(key = "a")]
async fn forever(#[value] n: &mut u64) -> ! {
    *n += 1;
    std::process::exit(1)
}

fn main() {
    let _ = forever();
}
