//! [`Lock`]: one lock as it is asked for, and the two ways to ask.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use event_listener::{Event, EventListener};

use crate::{
    Client, Error, Fault, FaultKind, Key, LockGuard, Operation, Token, Ttl,
    bell::Turn,
    client::Inner,
    core_private::{Asking, declined, seek},
    drive::{self, Port},
    node::{Role, SharedLine},
    options::Request,
    proto::{self, Acquire, Op, Route, Undo, Verdict},
    runtime::{BoxFuture, Runtime},
    time,
};

/// A lock as it is asked for: its key and its options. Cheap to clone, and usable any number of times.
///
/// ```
/// # use std::time::Duration;
/// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
/// let client = tairlock::Client::in_memory();
/// let lock = client.lock("report").ttl(Duration::from_secs(30)).wait(Duration::ZERO);
/// match lock.try_acquire().await? {
///     Some(guard) => guard.release().await.map(drop)?,
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
    crate::__lock_setters!();

    /// Takes the lock, waiting while somebody else holds it.
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
    ///
    /// # Cancel safety
    /// The future can be dropped at any await: what it may have left on the server is released in the
    /// background, and dies with its TTL in any case.
    pub async fn acquire(&self) -> Result<LockGuard, Error> {
        let (client, request) = self.checked()?;
        self.asked(client, request).await
    }

    /// Takes the lock if it is free now. `Ok(None)` means that somebody else holds it.
    ///
    /// # Errors
    /// As [`Lock::acquire`], but never [`Error::Busy`], [`Error::TimedOut`] or [`Error::WouldDeadlock`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn try_acquire(&self) -> Result<Option<LockGuard>, Error> {
        let (client, request) = self.checked()?;
        let request = Request { wait: Duration::ZERO, ..request.clone() };
        match self.asked(client, &request).await {
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

    async fn asked(&self, client: &Client, request: &Request) -> Result<LockGuard, Error> {
        let asking = Asking::begin(request, &client.inner().label);
        let answer = self.take(client, request).await;
        asking.over(&answer, LockGuard::is_lent);
        answer
    }

    async fn take(&self, client: &Client, request: &Request) -> Result<LockGuard, Error> {
        if let Some(held) = seek(client.id(), request)? {
            return Ok(LockGuard::lent(client.clone(), held));
        }
        let inner = client.inner();
        let failed = |fault| {
            let key = Some(request.key.clone());
            Error::Backend { key, operation: Operation::Acquire, fault }
        };
        let runtime = Runtime::here().map_err(failed)?;
        let mut attempt = Attempt::begin(inner, request);
        let bell = attempt.listen();
        attempt.look_ahead();
        let acquired = drive::drive(&attempt.machine, &attempt, bell, runtime).await;
        let grant = acquired.granted(request)?;
        let (turn, now) = (attempt.turn.take(), time::now());
        let ((lease, tenancy), closed) =
            inner.keep.with(|keeper| (keeper.admit(grant, turn, now), keeper.is_closing()));
        if closed { Err(Error::Closed) } else { Ok(LockGuard::new(client.clone(), lease, tenancy)) }
    }
}

/// One acquire under way. Dropped before it is granted, it undoes what it may have left.
struct Attempt<'a> {
    inner: &'a Inner,
    /// On the heap: futures are moved, and this is most of an acquire's.
    machine: Box<Mutex<Acquire>>,
    turn: Option<Turn>,
    lines: Mutex<Lines>,
    key: Key,
    ttl: Ttl,
}

/// Which connections carried the acquire.
#[derive(Default)]
struct Lines {
    last: Option<SharedLine>,
    several: bool,
}

impl<'a> Attempt<'a> {
    fn begin(inner: &'a Inner, request: &Request) -> Self {
        let token = Token::generate(&inner.label);
        let (limit, seed) = (inner.limits.response, inner.next_seed());
        let machine =
            Acquire::new(request, token, limit, seed, time::now()).among(Arc::clone(&inner.crowds));
        // Who does not wait does not stand in line either, and asks the server.
        let turn = (!request.wait.is_zero()).then(|| inner.queue.enter(&request.key));
        let (key, machine) = (request.key.clone(), Box::new(Mutex::new(machine)));
        Self { inner, machine, turn, lines: Mutex::default(), key, ttl: request.ttl }
    }

    /// Stands in line if somebody is in front. Asked after the bell was listened for.
    fn look_ahead(&self) {
        if self.turn.as_ref().is_some_and(|turn| !turn.has_come()) {
            drive::lock(&self.machine).stand_in_line();
        }
    }

    async fn line(&self) -> Result<SharedLine, Fault> {
        let own = drive::lock(&self.lines).last.clone().filter(|line| line.is_callers_own());
        if let Some(line) = own {
            return Ok(line);
        }
        let line = self.inner.node.line(Role::Commands).await?;
        let mut lines = drive::lock(&self.lines);
        let changed = lines.last.as_ref().is_some_and(|last| !Arc::ptr_eq(last, &line));
        // Behind a caller's own line there may have been any number.
        lines.several |= changed || line.is_callers_own();
        lines.last = Some(Arc::clone(&line));
        Ok(line)
    }
}

impl Port<Route> for Attempt<'_> {
    fn call(
        &self,
        route: Route,
        op: Op,
        within: Duration,
    ) -> BoxFuture<'_, Result<Verdict, Fault>> {
        Box::pin(async move {
            if route == Route::Listener {
                return match &self.inner.listener {
                    Some(listener) => listener.ask(&op, within).await,
                    None => Err(Fault::new(FaultKind::Unsupported, "this client polls")),
                };
            }
            if let Op::Confirmed(_) = op {
                // It goes down a connection that is nobody's afterwards, so its undoing goes down another, which
                // it may overtake.
                drive::lock(&self.lines).several = true;
            }
            let line = self.line().await?;
            line.call(&op, within).await
        })
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
        let Lines { last: route, several: again } = std::mem::take(&mut *drive::lock(&self.lines));
        let now = time::now();
        let until = now + self.ttl.as_duration();
        self.inner.keep.with(|keeper| {
            for token in residue {
                let (key, route) = (self.key.clone(), route.clone());
                keeper.undo(Undo { key, token, until, route, again }, now);
            }
        });
    }
}
