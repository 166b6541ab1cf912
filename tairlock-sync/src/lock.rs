//! [`Lock`]: one lock as it is asked for, and the two ways to ask.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use event_listener::{Event, EventListener};
use tairlock::{
    Error, Fault, FaultKind, Key, Operation, Token, Ttl,
    bell::Turn,
    core_private::{Asking, declined, seek},
    options::Request,
    proto::{self, Acquire, Op, Route, Undo, Verdict},
    time,
};

use crate::{
    Client, LockGuard,
    client::Inner,
    drive::{self, Port},
    node::SharedLine,
};

/// A lock as it is asked for: its key and its options. Cheap to clone, and usable any number of times.
///
/// ```
/// # use std::time::Duration;
/// # fn main() -> Result<(), tairlock_sync::Error> {
/// let client = tairlock_sync::Client::in_memory();
/// let lock = client.lock("report").ttl(Duration::from_secs(30));
/// match lock.try_acquire()? {
///     Some(guard) => guard.release().map(drop)?,
///     None => println!("somebody else is at it"),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a lock is not held before `acquire` or `try_acquire`"]
pub struct Lock {
    client: Result<Client, Error>,
    request: Result<Request, Error>,
}

impl Lock {
    tairlock::__lock_setters!();

    /// Takes the lock, blocking the thread while somebody else holds it.
    ///
    /// Callers of one client who want the same lock are served in the order in which they came.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if it was held by others for all of the wait ([`Lock::wait`], 3 s);
    /// [`Error::Busy`] instead if the wait is zero. [`Error::Backend`] if a server or the network
    /// failed, at once where time cannot cure it and at the end of the wait where it might have.
    /// [`Error::NotReplicated`], at once, if too few copies had the grant in time ([`Lock::confirm`]).
    /// [`Error::Config`] for a key or an option that makes no sense, before anything is sent;
    /// [`Error::Closed`] after [`Client::close`]; [`Error::WouldDeadlock`] inside of a body under
    /// `#[distributed_lock]` that holds this lock ([`Lock::reentrant`]).
    pub fn acquire(&self) -> Result<LockGuard, Error> {
        let (client, request) = self.checked()?;
        Self::asked(client, request)
    }

    /// Takes the lock if it is free now. `Ok(None)` means that somebody else holds it.
    ///
    /// # Errors
    /// As [`Lock::acquire`], but never [`Error::Busy`], [`Error::TimedOut`] or [`Error::WouldDeadlock`].
    pub fn try_acquire(&self) -> Result<Option<LockGuard>, Error> {
        let (client, request) = self.checked()?;
        let request = Request { wait: Duration::ZERO, ..request.clone() };
        match Self::asked(client, &request) {
            Ok(guard) => Ok(Some(guard)),
            Err(Error::Busy { .. } | Error::WouldDeadlock { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) const fn new(
        client: Result<Client, Error>,
        request: Result<Request, Error>,
    ) -> Self {
        Self { client, request }
    }

    /// A lock that answers `error` whenever it is asked for.
    pub(crate) const fn refused(error: Error) -> Self {
        Self { client: Err(error), request: Err(Error::Closed) }
    }

    fn checked(&self) -> Result<(&Client, &Request), Error> {
        self.check().inspect_err(|error| declined(self.request.as_ref().ok(), error))
    }

    fn check(&self) -> Result<(&Client, &Request), Error> {
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let request = self.request.as_ref().map_err(Clone::clone)?.checked()?;
        if client.inner().is_closed() { Err(Error::Closed) } else { Ok((client, request)) }
    }

    fn asked(client: &Client, request: &Request) -> Result<LockGuard, Error> {
        let asking = Asking::begin(request, &client.inner().label);
        let answer = Self::take(client, request);
        asking.over(&answer, LockGuard::is_lent);
        answer
    }

    fn take(client: &Client, request: &Request) -> Result<LockGuard, Error> {
        if let Some(held) = seek(client.id(), request)? {
            return Ok(LockGuard::lent(client.clone(), held));
        }
        let inner = client.inner();
        let mut attempt = Attempt::begin(inner, request);
        let bell = attempt.listen();
        attempt.look_ahead();
        let acquired = drive::drive(&attempt.machine, &attempt, bell);
        let grant = acquired.granted(request)?;
        let (turn, now) = (attempt.turn.take(), time::now());
        let ((lease, tenancy), closed) =
            inner.keep.with(|keeper| (keeper.admit(grant, turn, now), keeper.is_closing()));
        if closed {
            return Err(Error::Closed);
        }
        let guard = LockGuard::new(client.clone(), lease, tenancy);
        if inner.keep.is_running() {
            return Ok(guard);
        }
        let text = "the operating system gives no thread for the keeper, which renews leases";
        let fault = Fault::new(FaultKind::Config, text);
        let key = Some(guard.key().clone());
        Err(Error::Backend { key, operation: Operation::Acquire, fault })
    }
}

/// One acquire under way. Dropped before it is granted, it undoes what it may have left.
struct Attempt<'a> {
    inner: &'a Inner,
    machine: Mutex<Acquire>,
    turn: Option<Turn>,
    line: SharedLine,
    key: Key,
    ttl: Ttl,
}

impl<'a> Attempt<'a> {
    fn begin(inner: &'a Inner, request: &Request) -> Self {
        let token = Token::generate(&inner.label);
        let (limit, seed) = (inner.limits.response, inner.next_seed());
        let machine =
            Acquire::new(request, token, limit, seed, time::now()).among(Arc::clone(&inner.crowds));
        // Who does not wait does not stand in line either, and asks the server.
        let turn = (!request.wait.is_zero()).then(|| inner.queue.enter(&request.key));
        let (key, machine) = (request.key.clone(), Mutex::new(machine));
        let line = inner.commands.for_one_caller();
        let line = line.unwrap_or_else(|| Arc::clone(&inner.commands));
        Self { inner, machine, turn, line, key, ttl: request.ttl }
    }

    /// Stands in line if somebody is in front. Asked after the bell was listened for.
    fn look_ahead(&self) {
        if self.turn.as_ref().is_some_and(|turn| !turn.has_come()) {
            drive::lock(&self.machine).stand_in_line();
        }
    }
}

impl Port<Route> for Attempt<'_> {
    fn call(&self, route: Route, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        if let (Op::Confirmed(_), false) = (op, self.inner.confirmable) {
            let text = "to confirm a lock takes connections of the client's own, as renewals are confirmed too; \
                        say `url` or `redis_client` beside the pool";
            return Err(Fault::new(FaultKind::Unsupported, text));
        }
        match (route, &self.inner.listener) {
            (Route::Commands, _) => self.line.call(op, within),
            (Route::Listener, Some(listener)) => listener.ask(op, within),
            (Route::Listener, None) => Err(Fault::new(FaultKind::Unsupported, "this client polls")),
        }
    }

    fn listen(&self) -> EventListener {
        self.turn.as_ref().map_or_else(|| Event::new().listen(), Turn::listen)
    }

    fn rung(&self) -> Option<proto::Event> {
        self.turn.as_ref().and_then(Turn::told)
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let residue = drive::lock(&self.machine).residue();
        if residue.is_empty() {
            return;
        }
        let now = time::now();
        // A reply that is missing cost its connection: there is none left to send the undoing down, and
        // on another it may overtake the acquire. So it is sent again.
        let (until, again) = (now + self.ttl.as_duration(), true);
        self.inner.keep.with(|keeper| {
            for token in residue {
                let (key, route) = (self.key.clone(), None);
                keeper.undo(Undo { key, token, until, route, again }, now);
            }
        });
    }
}
