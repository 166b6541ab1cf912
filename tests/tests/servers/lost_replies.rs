//! A reply that is lost after its command was executed: one holder, nothing left, nothing claimed.

use std::time::Duration;

use tairlock::Release;
use tairlock_tests::{
    Proxy, Server,
    proxy::Fault,
    world::{Ask, World},
};

use crate::{BOUND, client_at, for_each_driver, take};

for_each_driver!(
    of_an_acquire_that_won,
    of_an_acquire_that_is_not_repeated_for_long,
    of_a_release,
    of_a_renewal,
);

const FAULTS: [Fault; 3] = [Fault::Swallow, Fault::SwallowAndCut, Fault::CutMidFrame];

fn of_an_acquire_that_won(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    for fault in FAULTS {
        let client = client_at(world, proxy.url());
        proxy.once("SET k", fault.clone());
        let guard = take(&*client, &Ask::new("k").ttl(3_000));
        assert!(guard.lease().is_held(), "{fault:?}");
        let token: Option<Vec<u8>> = redis::cmd("GET").arg("k").query(&mut server.cli()).unwrap();
        assert_eq!(token.as_deref(), Some(guard.lease().token().as_bytes()), "{fault:?}");
        // The lease counts from the command that won, which is the first.
        let left: u64 = redis::cmd("PTTL").arg("k").query(&mut server.cli()).unwrap();
        assert!(guard.lease().remaining() <= Duration::from_millis(left), "{fault:?}");
        assert_eq!(guard.release().expect("release"), Release::Released, "{fault:?}");
        assert_eq!(server_keys(&server), 0, "{fault:?}");
    }
}

fn of_an_acquire_that_is_not_repeated_for_long(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    // Both tries are executed and lose their replies: the caller is told, and the key is undone.
    proxy.once("SET k", Fault::SwallowAndCut);
    proxy.once("SET k", Fault::SwallowAndCut);
    let error = client.try_acquire(&Ask::new("k").ttl(30_000)).map(|_| ()).expect_err("unknown");
    assert!(!error.is_busy() && error.is_transient(), "{error}");
    assert!(proxy.wait_for("EVAL", 1, BOUND), "undone: {:?}", proxy.texts());
    drop(take(&*client, &Ask::new("k").wait(5_000)));
}

fn of_a_release(world: &dyn World) {
    let server = Server::valkey9().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    for fault in FAULTS.into_iter().chain([Fault::LoseRequest]) {
        let client = client_at(world, proxy.url());
        let guard = take(&*client, &Ask::new("k"));
        proxy.clear();
        proxy.once("DELIFEQ", fault.clone());
        let released = guard.release().expect("a lost reply is no error");
        assert_eq!(released, Release::Unknown, "{fault:?}");
        assert!(proxy.wait_for("DELIFEQ", 2, BOUND), "sent again after {fault:?}");
        drop(take(&*client, &Ask::new("k").wait(5_000)));
        assert!(client.close(), "{fault:?}");
        assert_eq!(server_keys(&server), 0, "{fault:?}");
    }
}

fn of_a_renewal(world: &dyn World) {
    let server = Server::valkey9().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    for fault in FAULTS.into_iter().chain([Fault::LoseRequest]) {
        let client = client_at(world, proxy.url());
        let guard = take(&*client, &Ask::new("k").ttl(3_000));
        proxy.clear();
        proxy.once("SET k", fault.clone());
        assert!(proxy.wait_for("SET k", 2, BOUND), "renewed again after {fault:?}");
        assert_eq!(guard.lease().wait_lost(Duration::from_millis(100)), None, "{fault:?}");
        assert!(guard.lease().is_held(), "one lost reply is no loss: {fault:?}");
        assert_eq!(guard.release().expect("release"), Release::Released, "{fault:?}");
        assert!(client.close(), "{fault:?}");
        assert_eq!(server_keys(&server), 0, "{fault:?}");
    }
}

fn server_keys(server: &Server) -> u64 {
    redis::cmd("DBSIZE").query(&mut server.cli()).expect("DBSIZE")
}
