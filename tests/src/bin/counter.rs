//! A program that counts: tasks or threads that each add one, so many times, under `#[optimistic_retry]`.

use std::env;

/// `counter <url> <tasks|threads> <programs> <how many> <how often>` says how often it added one, after all
/// `programs` were there.
fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, kind, programs, many, often] = &arguments[..] else { panic!("{arguments:?}") };
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let (programs, many, often) = (number(programs), number(many), number(often));
    let added = match kind.as_str() {
        "tasks" => in_tasks::run(url, programs, many, often),
        _ => in_threads::run(url, programs, many, often),
    };
    #[expect(clippy::print_stdout, reason = "it is what the program is for")]
    {
        println!("{added}");
    }
}

mod in_tasks {
    use tairlock::{Client, Error, optimistic_retry};

    #[optimistic_retry(key = "{key}", max_attempts = 100_000, within = 60)]
    async fn add(#[value] n: &mut u64, key: &str) -> Result<u64, Error> {
        *n += 1;
        Ok(*n)
    }

    #[tokio::main]
    pub(super) async fn run(url: &str, programs: u64, many: u64, often: u64) -> u64 {
        let client = Client::connect(url).await.expect("a server");
        tairlock::set_default(client.clone()).expect("the first");
        add("programs").await.expect("there is one");
        let there = client.versioned::<u64>("programs");
        while there.read().await.expect("read").expect("a number").value < programs {}
        let task = move || async move {
            for _ in 0..often {
                add("n").await.expect("added");
            }
            often
        };
        let tasks: Vec<_> = (0..many).map(|_| tokio::spawn(task())).collect();
        let mut added = 0;
        for task in tasks {
            added += task.await.expect("a task");
        }
        added
    }
}

mod in_threads {
    use std::thread;

    use tairlock_sync::{Client, Error, optimistic_retry};

    #[optimistic_retry(key = "{key}", max_attempts = 100_000, within = 60)]
    fn add(#[value] n: &mut u64, key: &str) -> Result<u64, Error> {
        *n += 1;
        Ok(*n)
    }

    pub(super) fn run(url: &str, programs: u64, many: u64, often: u64) -> u64 {
        let client = Client::connect(url).expect("a server");
        tairlock_sync::set_default(client.clone()).expect("the first");
        add("programs").expect("there is one");
        let there = client.versioned::<u64>("programs");
        while there.read().expect("read").expect("a number").value < programs {}
        let thread = move || {
            for _ in 0..often {
                add("n").expect("added");
            }
            often
        };
        let threads: Vec<_> = (0..many).map(|_| thread::spawn(thread)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).sum()
    }
}
