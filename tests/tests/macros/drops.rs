//! What is dropped when: arguments and locals as in a plain function, then the lock.

use std::sync::{Arc, Mutex};

use tairlock::distributed_lock;

use crate::{Answer, blocking_client, client};

/// Writes its name down when it is dropped, with `!` if the lock is gone by then.
struct Noisy(&'static str, Log);

#[derive(Clone, Default)]
struct Log(Arc<Mutex<(Vec<String>, Option<Held>)>>);

type Held = Box<dyn Fn() -> bool + Send>;

impl Log {
    /// From now on `held` tells whether the lock is held.
    fn watch(&self, held: impl Fn() -> bool + Send + 'static) {
        self.0.lock().unwrap().1 = Some(Box::new(held));
    }

    fn noisy(&self, name: &'static str) -> Noisy {
        Noisy(name, self.clone())
    }

    fn take(&self) -> String {
        self.0.lock().unwrap().0.join(" ")
    }
}

impl Drop for Noisy {
    fn drop(&mut self) {
        let mut log = self.1.0.lock().unwrap();
        let gone = log.1.as_ref().is_some_and(|held| !held());
        log.0.push(format!("{}{}", self.0, if gone { "!" } else { "" }));
    }
}

/// The same items twice: as they are in `plain`, under the attribute in `locked`.
macro_rules! twice {
    ($name:ident, $options:tt, $($item:tt)*) => {
        mod $name {
            pub(super) mod plain {
                #[allow(unused_imports)]
                use super::super::*;
                pub(in super::super) $($item)*
            }
            pub(super) mod locked {
                #[allow(unused_imports)]
                use super::super::*;
                #[distributed_lock $options]
                pub(in super::super) $($item)*
            }
        }
    };
}

fn args(log: &Log) -> (Noisy, Noisy, (Noisy, Noisy), Noisy, Noisy) {
    let n = |name| log.noisy(name);
    (n("a"), n("b"), (n("c"), n("d")), n("e"), n("f"))
}

twice! {
    a_values, (key = "d:values", using = client(), or_else = |_| panic!()),
    async fn body(a: Noisy, _: Noisy, (c, d): (Noisy, Noisy), mut _e: Noisy, f: Noisy, log: Log) {
        let _local = log.noisy("local");
        tokio::task::yield_now().await;
        let _moved = f;
        _ = (&d, &a, &c);
    }
}

twice! {
    b_values, (key = "d:values", using = blocking_client(), or_else = |_| panic!()),
    fn body(a: Noisy, _: Noisy, (c, d): (Noisy, Noisy), mut _e: Noisy, f: Noisy, log: Log) {
        let _local = log.noisy("local");
        let _moved = f;
        _ = (&d, &a, &c);
    }
}

#[tokio::test]
async fn m14_arguments_are_dropped_as_in_a_plain_function() {
    let plain = Log::default();
    let (a, b, c, e, f) = args(&plain);
    a_values::plain::body(a, b, c, e, f, plain.clone()).await;
    assert_eq!(plain.take(), "f local e d c b a");

    let locked = Log::default();
    let (a, b, c, e, f) = args(&locked);
    a_values::locked::body(a, b, c, e, f, locked.clone()).await;
    assert_eq!(locked.take(), plain.take());
}

#[test]
fn m14_arguments_are_dropped_as_in_a_plain_blocking_function() {
    let plain = Log::default();
    let (a, b, c, e, f) = args(&plain);
    b_values::plain::body(a, b, c, e, f, plain.clone());

    let locked = Log::default();
    let (a, b, c, e, f) = args(&locked);
    b_values::locked::body(a, b, c, e, f, locked.clone());
    assert_eq!(locked.take(), plain.take());
}

#[tokio::test]
async fn m14_the_lock_outlives_locals_arguments_and_self() {
    struct Service {
        _noisy: Noisy,
        other: u8,
    }
    impl Service {
        #[distributed_lock(key = "d:outlives", lease = lease, using = client())]
        async fn part(self, _: Noisy, _unused: Noisy, log: Log) -> Answer<u8> {
            log.watch(move || lease.is_held());
            let _local = log.noisy("local");
            tokio::task::yield_now().await;
            Ok(self.other)
        }
        #[distributed_lock(key = "d:outlives", lease = lease, using = client())]
        async fn unused(self: Arc<Self>, log: Log) -> Answer {
            log.watch(move || lease.is_held());
            Ok(())
        }
    }
    let log = Log::default();
    let service = Service { _noisy: log.noisy("self"), other: 1 };
    service.part(log.noisy("a"), log.noisy("b"), log.clone()).await.unwrap();
    assert_eq!(log.take(), "local b a self");

    let log = Log::default();
    let service = Service { _noisy: log.noisy("self"), other: 1 };
    Arc::new(service).unused(log.clone()).await.unwrap();
    assert_eq!(log.take(), "self");
}

#[test]
fn m14_the_lock_outlives_locals_arguments_and_self_in_blocking_code() {
    struct Service {
        _noisy: Noisy,
        other: u8,
    }
    fn held() -> bool {
        crate::is_locked_blocking("d:outlives")
    }
    impl Service {
        #[distributed_lock(key = "d:outlives", using = blocking_client())]
        fn part(self, _: Noisy, _unused: Noisy, log: Log) -> Answer<u8> {
            log.watch(held);
            let _local = log.noisy("local");
            Ok(self.other)
        }
    }
    let log = Log::default();
    let service = Service { _noisy: log.noisy("self"), other: 1 };
    service.part(log.noisy("a"), log.noisy("b"), log.clone()).unwrap();
    assert_eq!(log.take(), "local b a self");
}

#[tokio::test]
async fn a_refused_call_drops_its_arguments() {
    #[distributed_lock(key = "d:refused", wait = 0, using = client())]
    async fn body(_a: Noisy, _: Noisy) -> Answer {
        Ok(())
    }
    let _guard = client().lock("d:refused").acquire().await.unwrap();
    let log = Log::default();
    body(log.noisy("a"), log.noisy("b")).await.unwrap_err();
    assert_eq!(log.take().len(), "a b".len());
}

/// In editions before 2024 a temporary in the last expression outlives the block; not so the function.
#[tokio::test]
async fn temporaries_of_the_last_expression_end_before_the_arguments() {
    #[distributed_lock(key = "d:temporaries", using = client())]
    async fn body(cell: std::cell::RefCell<Vec<u8>>) -> Answer<usize> {
        Ok(cell.borrow().len())
    }
    #[distributed_lock(key = "d:temporaries", using = blocking_client())]
    fn blocking(cell: std::cell::RefCell<Vec<u8>>) -> Answer<usize> {
        Ok(cell.borrow().len())
    }
    assert_eq!(body(Vec::from([1]).into()).await.unwrap(), 1);
    assert_eq!(blocking(Vec::from([1]).into()).unwrap(), 1);
}
