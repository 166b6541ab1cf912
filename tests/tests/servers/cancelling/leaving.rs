//! A runtime that ends, a panic, a thread that ends: what they held is given back all the same.

use std::{
    cell::RefCell,
    future::Future as _,
    pin::pin,
    task::{Context, Poll, Waker},
    thread,
};

use tokio::runtime::{Builder, Runtime};

use super::*;
use crate::cancelling::executor::Many;

fn of_several_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

fn of_one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[test]
fn t5_a_runtime_that_ends_gives_back_what_its_tasks_hold() {
    let executor = Many::default();
    let stage = Stage::new(&executor);
    for in_background in [false, true] {
        let runtime = of_several_threads();
        let client = runtime.block_on(connect(&stage.server.url()));
        let (holds, held) = std::sync::mpsc::channel();
        runtime.spawn(async move {
            let _guard = take(&client, "k").await;
            holds.send(()).expect("the test waits");
            std::future::pending::<()>().await;
        });
        held.recv().expect("taken");
        if in_background {
            runtime.shutdown_background();
        } else {
            drop(runtime);
        }
        executor.block_on(stage.soon_free());
        stage.nothing_remains();
    }
}

#[test]
fn t5_a_runtime_that_ends_undoes_what_its_tasks_ask_for() {
    let executor = Many::default();
    let stage = Stage::new(&executor);
    for runtime in [of_one_thread(), of_several_threads()] {
        let proxy = Proxy::start(stage.server.addr()).expect("a proxy");
        let client = runtime.block_on(connect(&proxy.url()));
        proxy.hold();
        let asking = runtime.spawn(async move { take(&client, "k").await });
        // The lock is taken, and the reply on its way, when the runtime ends.
        runtime.block_on(async {
            while proxy.count("SET k") == 0 {
                executor::yield_once().await;
            }
        });
        drop((asking, runtime));
        proxy.release();
        executor.block_on(stage.soon_free());
        stage.nothing_remains();
    }
}

#[test]
fn t5_a_runtime_that_stands_still_sends_nothing_late_that_stays() {
    let executor = Many::default();
    let stage = Stage::new(&executor);
    let runtime = of_one_thread();
    let client = runtime.block_on(connect(&stage.server.url()));
    let lock = client.lock("k").ttl(TTL);
    let entered = runtime.enter();
    {
        // The command waits for a connection whose runtime nobody runs.
        let mut asking = pin!(lock.acquire());
        let polled = asking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending));
    }
    drop(entered);
    executor.block_on(stage.soon_free());
    // Now it is sent; and undone, on the same connection.
    runtime.block_on(async { give_back(take(&client, "other")).await });
    executor.block_on(stage.soon_free());
    assert_eq!(keys(&stage.server), Vec::<String>::new());
    drop((lock, client, runtime));
    stage.nothing_remains();
}

#[test]
fn o22_a_panic_gives_back() {
    let executor = Many::default();
    let stage = Stage::new(&executor);
    for runtime in [of_one_thread(), of_several_threads()] {
        let client = runtime.block_on(connect(&stage.server.url()));
        let panicking = runtime.spawn(async move {
            let _guard = take(&client, "k").await;
            std::panic::resume_unwind(Box::new("the body panicked"));
        });
        assert!(runtime.block_on(panicking).expect_err("it panicked").is_panic());
        executor.block_on(stage.soon_free());
        drop(runtime);
        stage.nothing_remains();
    }
}

#[test]
fn o29_a_guard_is_dropped_where_its_thread_ends() {
    thread_local! {
        static KEPT: RefCell<Option<LockGuard>> = const { RefCell::new(None) };
        static BLOCKING: RefCell<Option<tairlock_sync::LockGuard>> = const { RefCell::new(None) };
    }
    let executor = Many::default();
    let stage = Stage::new(&executor);
    let client = stage.client();
    let guard = executor.block_on(take(&client, "k"));
    thread::spawn(|| KEPT.set(Some(guard))).join().expect("no panic");
    executor.block_on(stage.soon_free());
    stage.nothing_remains_of(client);

    let client = tairlock_sync::Client::connect(stage.server.url()).expect("a client");
    let guard = client.lock("k").ttl(TTL).acquire().expect("a free lock");
    thread::spawn(|| BLOCKING.set(Some(guard))).join().expect("no panic");
    executor.block_on(stage.soon_free());
    drop(client);
    stage.nothing_remains();
}
