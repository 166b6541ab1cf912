//! Looking who holds a lock, and taking it away from them.

use std::{sync::Mutex, time::Duration};

use event_listener::{Event, EventListener};
use tairlock::{
    Error, Fault, Holder, Operation,
    proto::{Event as Told, Inquiry, Op, Verdict},
};

use crate::{
    Client,
    client::Inner,
    drive::{self, Port},
};

impl Client {
    /// Who holds the lock called `key` at this moment; `None` if nobody does.
    ///
    /// One round trip, and no wait: what it tells may have changed by the time it is read. To take
    /// the lock, ask for it.
    ///
    /// ```
    /// # fn main() -> Result<(), tairlock_sync::Error> {
    /// let client = tairlock_sync::Client::in_memory();
    /// assert!(client.inspect("report")?.is_none());
    /// let _guard = client.lock("report").acquire()?;
    /// let holder = client.inspect("report")?.expect("somebody holds it");
    /// println!("{:?} since {:?}", holder.label(), holder.since());
    /// assert!(holder.is_own());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Backend`] if a server or the network failed, or something that is no lock stands under
    /// the key; [`Error::Config`] for an unusable key, before anything is sent; [`Error::Closed`].
    pub fn inspect(&self, key: impl AsRef<[u8]>) -> Result<Option<Holder>, Error> {
        let key = self.key(key.as_ref())?;
        let op = Op::Inspect(key.clone());
        let reply = inquire(self.inner(), op, true)?;
        let knows = |token: &_| self.inner().keep.with(|keeper| keeper.knows(token));
        Holder::hear(key, Operation::Inspect, reply, knows)
    }

    /// Gives back the lock called `key`, whoever holds it, and tells who did; `None` if nobody did.
    ///
    /// For an operator whose holder hangs. Whoever held it goes on until its next renewal, and is told
    /// then that the lease is lost ([`LossReason::Vanished`](crate::LossReason::Vanished)): for so
    /// long there may be two holders. Only a fence that the store checks keeps the first from writing.
    /// A guard of this very client is told at once.
    ///
    /// ```
    /// # fn main() -> Result<(), tairlock_sync::Error> {
    /// let client = tairlock_sync::Client::in_memory();
    /// let stuck = client.lock("report").acquire()?;
    /// let holder = client.force_release("report")?.expect("somebody held it");
    /// println!("taken away from {:?}", holder.label());
    /// assert!(client.inspect("report")?.is_none());
    /// # drop(stuck); Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Backend`] if a server or the network failed (where a reply was lost, the lock may have
    /// been given back or not: look, and decide), or something that is no lock stands under the key,
    /// which is left there; [`Error::Config`] for an unusable key; [`Error::Closed`].
    pub fn force_release(&self, key: impl AsRef<[u8]>) -> Result<Option<Holder>, Error> {
        let key = self.key(key.as_ref())?;
        let op = Op::ForceRelease(key.clone());
        // Asked twice, it could take the lock away from somebody else than was meant.
        let reply = inquire(self.inner(), op, false)?;
        let own = |token: &_| self.inner().keep.with(|keeper| keeper.evicted(token));
        let holder = Holder::hear(key.clone(), Operation::ForceRelease, reply, own);
        self.inner().queue.ring(&key);
        holder
    }
}

/// Asks one question; the outer error is that it could not even be asked.
pub(crate) fn inquire(
    inner: &Inner,
    op: Op,
    repeatable: bool,
) -> Result<Result<Verdict, Fault>, Error> {
    if inner.is_closed() {
        return Err(Error::Closed);
    }
    let inquiry = Mutex::new(Inquiry::new(op, inner.limits.response, repeatable));
    let asking = Asking(inner);
    Ok(drive::drive(&inquiry, &asking, asking.listen()))
}

/// Where questions go.
struct Asking<'a>(&'a Inner);

impl Port<()> for Asking<'_> {
    fn call(&self, (): (), op: &Op, within: Duration) -> Result<Verdict, Fault> {
        self.0.commands.call(op, within)
    }

    fn listen(&self) -> EventListener {
        Event::new().listen()
    }

    fn rung(&self) -> Option<Told> {
        None
    }
}
