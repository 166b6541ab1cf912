//! What the body that is being polled holds: so that a call which asks for a lock that it has is told so,
//! rather than left to wait for itself.
//!
//! The scope follows the polling. It is entered whenever a body under a lock is polled (in blocking code,
//! while it runs) and left when that returns, so it belongs neither to a task nor to a thread: two futures
//! side by side are each in their own, and what a body spawns is in none.

use std::{cell::RefCell, marker::PhantomData};

use crate::{Error, Key, Lease, options::Request, proto::Tenancy, report::Entered};

thread_local! {
    static HELD: RefCell<Vec<(Held, Entered)>> = const { RefCell::new(Vec::new()) };
}

/// A lease that the body holds, and whose: a client is known by a number that no other client has while
/// this one lives.
#[derive(Clone, Debug)]
pub struct Held {
    /// The client.
    pub client: usize,
    /// What was granted.
    pub lease: Lease,
    /// Its place at the keeper.
    pub tenancy: Tenancy,
}

/// A body is being polled, until this is dropped.
#[derive(Debug)]
#[must_use = "a scope ends when it is dropped"]
pub struct Scope {
    depth: usize,
    /// It ends on the thread that it began on.
    _here: PhantomData<*const ()>,
}

/// A body that holds `leases` is polled from here on.
pub fn enter(leases: impl IntoIterator<Item = Held>) -> Scope {
    let depth = HELD.try_with(|held| held.borrow().len());
    for held in leases {
        // Outside of the borrow: who is told of it may come back here.
        let entered = held.lease.enter();
        _ = HELD.try_with(|all| all.borrow_mut().push((held, entered)));
    }
    // While a thread ends, it has no place to note anything; then a call waits for itself, and times out.
    Scope { depth: depth.unwrap_or(usize::MAX), _here: PhantomData }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let next = |held: &RefCell<Vec<(Held, Entered)>>| {
            let mut held = held.borrow_mut();
            if held.len() > self.depth { held.pop() } else { None }
        };
        // One at a time, and outside of the borrow: what a lease rings when it goes may come back here.
        while let Ok(Some(left)) = HELD.try_with(next) {
            drop(left);
        }
    }
}

/// The lease to share, if the body that is being polled holds what is asked for and is ready to share it.
///
/// # Errors
/// [`Error::WouldDeadlock`] if it holds it and did not ask to share.
pub fn seek(client: usize, request: &Request) -> Result<Option<Held>, Error> {
    match find(client, &request.key) {
        None => Ok(None),
        Some(held) if request.reentrant => Ok(Some(held)),
        Some(_) => Err(Error::WouldDeadlock { key: request.key.clone() }),
    }
}

/// What is lost is not held: then somebody else may have it, and there is something to wait for.
fn find(client: usize, key: &Key) -> Option<Held> {
    let same = |held: &&Held| held.client == client && held.lease.key() == key;
    let found = HELD.try_with(|all| {
        let all = all.borrow();
        all.iter().rev().map(|(held, _)| held).find(same).cloned()
    });
    found.ok().flatten().filter(|held| held.lease.is_held())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Token, Ttl,
        proto::{Grant, Keeper},
        time,
    };

    fn held(client: usize, key: &str) -> Held {
        let (key, token) = (Key::new(key).unwrap(), Token::from_bytes("t"));
        let (sent, ttl) = (time::now(), Ttl::DEFAULT);
        let until = sent + ttl.certain();
        let hold = crate::options::Hold::default();
        let (fence, confirm, holding) = (None, None, crate::report::Holding::default());
        let renew = false;
        let grant = Grant {
            key,
            token,
            ttl,
            renew,
            hold,
            confirm,
            sent,
            until,
            late: false,
            fence,
            holding,
        };
        let mut keeper = Keeper::<()>::new(std::time::Duration::from_secs(1));
        let (lease, tenancy) = keeper.admit(grant, None, sent);
        Held { client, lease, tenancy }
    }

    fn request(key: &str) -> Request {
        Request::new(Key::new(key).unwrap())
    }

    #[test]
    fn found_inside_and_not_outside() {
        assert!(seek(1, &request("k")).unwrap().is_none());
        let scope = enter([held(1, "k")]);
        assert!(matches!(seek(1, &request("k")), Err(Error::WouldDeadlock { .. })));
        assert!(seek(2, &request("k")).unwrap().is_none(), "another client's");
        assert!(seek(1, &request("other")).unwrap().is_none());
        let inner = enter([held(1, "other"), held(1, "third")]);
        assert!(seek(1, &request("other")).is_err() && seek(1, &request("k")).is_err());
        drop(inner);
        assert!(seek(1, &request("other")).unwrap().is_none() && seek(1, &request("k")).is_err());
        drop(scope);
        assert!(seek(1, &request("k")).unwrap().is_none());
    }

    #[test]
    fn shared_on_demand_and_while_it_is_held() {
        let outer = held(1, "k");
        let _scope = enter([outer.clone()]);
        let request = request("k").reentrant(true).unwrap();
        let shared = seek(1, &request).unwrap().expect("it is held");
        assert_eq!(shared.lease.token(), outer.lease.token());
        outer.lease.lose(crate::LossReason::Taken);
        assert!(seek(1, &request).unwrap().is_none(), "what is lost can be asked for");
    }

    #[test]
    fn a_panic_leaves_the_scope() {
        let panicked = std::panic::catch_unwind(|| {
            let _scope = enter([held(1, "k")]);
            panic!("on purpose");
        });
        assert!(panicked.is_err() && seek(1, &request("k")).unwrap().is_none());
    }
}
