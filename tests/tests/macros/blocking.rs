//! Plain `fn`s: the same, without `await`.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU32, Ordering},
};

use tairlock_sync::{Client, Error, distributed_lock};

use crate::{blocking_client as client, is_locked_blocking as is_locked};

type Answer<T = ()> = Result<T, Error>;

#[test]
fn held_while_the_body_runs_and_free_after() {
    #[distributed_lock(key = "b:held", using = client())]
    fn body() -> Answer<bool> {
        Ok(is_locked("b:held"))
    }
    assert!(body().unwrap());
    assert!(!is_locked("b:held"));
}

#[test]
fn free_after_question_mark_return_and_panic() {
    #[distributed_lock(key = "b:exits", using = client())]
    fn body(how: u8) -> anyhow::Result<u8> {
        if how == 0 {
            return Ok(0);
        }
        if how == 1 {
            anyhow::bail!("mine");
        }
        assert!(how != 2, "as asked");
        Ok(how)
    }
    assert_eq!(body(0).unwrap(), 0);
    assert!(!is_locked("b:exits"));
    assert_eq!(body(1).unwrap_err().to_string(), "mine");
    assert!(!is_locked("b:exits"));
    catch_unwind(AssertUnwindSafe(|| body(2))).unwrap_err();
    assert!(!is_locked("b:exits"));
    assert_eq!(body(3).unwrap(), 3);
}

#[test]
fn without_the_lock_the_body_never_runs() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[distributed_lock(key = "b:busy", wait = 0, using = client())]
    fn busy() -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    #[distributed_lock(key = "b:busy", wait = "20ms", using = client())]
    fn late() -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    #[distributed_lock(key = name, using = client())]
    fn empty_key(name: &str) -> Answer {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    let _guard = client().lock("b:busy").acquire().unwrap();
    assert!(matches!(busy(), Err(Error::Busy { .. })));
    assert!(matches!(late(), Err(Error::TimedOut { .. })));
    assert!(matches!(empty_key(""), Err(Error::Config(_))));
    assert_eq!(RUNS.load(Ordering::Relaxed), 0);
}

#[test]
fn one_at_a_time() {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    #[distributed_lock(key = "b:one", wait = 30, using = client())]
    fn body() -> Answer<u32> {
        let inside = INSIDE.fetch_add(1, Ordering::SeqCst);
        std::thread::yield_now();
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        Ok(inside)
    }
    let threads: Vec<_> = (0..20).map(|_| std::thread::spawn(body)).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap().unwrap(), 0);
    }
}

#[test]
fn or_else_and_lease() {
    #[distributed_lock(key = "b:or:{id}", wait = 0, using = client(), or_else = |_| None, lease = grant)]
    fn body(id: u32) -> Option<String> {
        assert!(grant.is_held());
        Some(grant.key().to_string())
    }
    #[distributed_lock(key = "b:or:7", wait = 0, using = client(), or_else = drop)]
    fn unit() {}
    assert_eq!(body(7).as_deref(), Some("b:or:7"));
    unit();
    let _guard = client().lock("b:or:7").acquire().unwrap();
    assert_eq!(body(7), None);
}

#[test]
fn methods_with_each_receiver() {
    use std::{pin::Pin, rc::Rc, sync::Arc};

    struct Service {
        locks: Client,
        calls: u32,
    }
    impl Service {
        #[distributed_lock(key = "b:recv", using = self.locks)]
        fn shared(&self) -> Answer<u32> {
            Ok(self.calls)
        }
        #[distributed_lock(key = "b:recv:{self.calls}", using = self.locks)]
        fn exclusive(&mut self) -> Answer<&mut u32> {
            self.calls += 1;
            Ok(&mut self.calls)
        }
        #[distributed_lock(key = "b:recv", using = self.locks)]
        fn owned(mut self) -> Answer<Self> {
            self.calls += 1;
            Ok(self)
        }
        #[distributed_lock(key = "b:recv", using = self.locks)]
        fn part(self) -> Answer<Client> {
            Ok(self.locks)
        }
        #[distributed_lock(key = "b:recv", using = self.locks)]
        fn arc(self: Arc<Self>) -> Answer<u32> {
            Ok(self.calls)
        }
        #[distributed_lock(key = "b:recv", using = self.locks)]
        fn rc(self: &Rc<Self>) -> Answer<u32> {
            Ok(self.calls)
        }
        #[distributed_lock(key = "b:recv", using = self.locks)]
        fn boxed(self: Box<Self>) -> Answer<Self> {
            Ok(*self)
        }
        #[distributed_lock(key = "b:recv", using = self.locks)]
        fn pinned(mut self: Pin<&mut Self>) -> Answer<u32> {
            self.calls += 1;
            Ok(self.calls)
        }
    }
    let mut service = Service { locks: client().clone(), calls: 0 };
    assert_eq!(service.shared().unwrap(), 0);
    *service.exclusive().unwrap() += 1;
    let mut service = service.owned().unwrap();
    assert_eq!(Pin::new(&mut service).pinned().unwrap(), 4);
    let service = Box::new(service).boxed().unwrap();
    let rc = Rc::new(service);
    assert_eq!(rc.rc().unwrap(), 4);
    let service = Rc::into_inner(rc).unwrap();
    let arc = Arc::new(service);
    assert_eq!(Arc::clone(&arc).arc().unwrap(), 4);
    Arc::into_inner(arc).unwrap().part().unwrap();
}

#[test]
fn m10_a_borrow_of_an_argument_can_be_returned() {
    #[distributed_lock(key = "b:m10", using = client())]
    fn body(values: &mut Vec<u8>) -> Answer<&mut u8> {
        values.push(1);
        Ok(values.last_mut().unwrap())
    }
    #[distributed_lock(key = "b:m10:{index}", using = client())]
    fn named<'a>(values: &'a mut [u8], _other: &str, index: usize) -> Answer<&'a mut u8> {
        Ok(&mut values[index])
    }
    let mut values = vec![];
    *body(&mut values).unwrap() = 5;
    *named(&mut values, "x", 0).unwrap() += 1;
    assert_eq!(values, [6]);
}

#[test]
fn m08_results_are_coerced() {
    type Shown = Box<dyn std::fmt::Display>;
    #[distributed_lock(key = "b:m08", using = client())]
    fn body(early: bool) -> Answer<Shown> {
        if early {
            return Ok(Box::new(1));
        }
        Ok(Box::new("two"))
    }
    assert_eq!(format!("{}{}", body(true).unwrap(), body(false).unwrap()), "1two");
}

#[test]
fn m09_impl_trait_is_returned() {
    #[distributed_lock(key = "b:m09", using = client())]
    fn body(x: u8) -> Answer<impl Fn() -> u8 + use<>> {
        Ok(move || x + 1)
    }
    assert_eq!(body(1).unwrap()(), 2);
}

#[test]
fn extern_const_generic_and_recursive() {
    #[distributed_lock(key = "b:extern", using = client(), or_else = |_| 0)]
    extern "C" fn c(x: u8) -> u8 {
        x
    }
    #[distributed_lock(key = "b:const:{N}", using = client())]
    fn generic<T, const N: usize>(values: [T; N]) -> Answer<Vec<T>>
    where
        T: Clone,
    {
        Ok(values.to_vec())
    }
    #[distributed_lock(key = "b:rec:{n}", using = client())]
    fn recursive(n: u32) -> Answer<u32> {
        if n == 0 { Ok(0) } else { Ok(1 + recursive(n - 1)?) }
    }
    assert_eq!(c(3), 3);
    assert_eq!(generic([1, 2]).unwrap(), [1, 2]);
    assert_eq!(recursive(5).unwrap(), 5);
}

#[test]
fn m07_never_returns() {
    #[distributed_lock(key = "b:m07", using = client(), or_else = |_| panic!("not had"))]
    fn body() -> ! {
        panic!("ran")
    }
    let panic = catch_unwind(|| body()).unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "ran");
}
