//! [`Versioned`]: a value that is changed only as the version that was seen, so that no change is lost.

mod updating;

use std::{fmt, sync::Arc};

pub(crate) use updating::Updating;

use crate::{
    Client, Codec, Error, Key, Snapshot,
    proto::{Deed, Outcome},
    value::{Change, Coded, Recall, Stored, ValueOp, ValueRequest},
};

/// A value that many read, compute on, and write back, without losing a change.
///
/// Every content of the value has a version. An [`update`](Self::update) writes only if the version is
/// still the one that it computed on; otherwise it computes again, on what stands there now.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
/// let client = tairlock::Client::in_memory();
/// let stock = client.versioned::<u32>("stock:sku-1"); // JSON; or .text() .bytes() .integer()
/// stock.create(&10).await?;
///
/// let left = stock.update(|left| {
///     *left -= 3;
///     Ok::<_, tairlock::Error>(*left)
/// });
/// assert_eq!(left.await?, 7);
/// # Ok(()) }
/// ```
///
/// All handles of one client on one key share what they last saw there, so that an update begins with
/// the write: one command where nobody else changed the value meanwhile. That is remembered for a while
/// after the last handle is gone: of 1,024 values of up to 64 KiB, those that were used last, 4 MiB together.
/// Updates of one key through one client stand in one line. Cheap to clone.
///
/// A lock and a value under the same key are in each other's way: a value is no lock, and the one that
/// comes second gets an error that says so.
#[must_use = "nothing is read or written before a method says so"]
pub struct Versioned<T> {
    client: Result<Client, Error>,
    request: Result<ValueRequest, Error>,
    recall: Option<Arc<Recall>>,
    codec: Codec<T>,
}

impl<T> Versioned<T> {
    crate::__versioned_setters!();

    /// The value and its version, as they are on the server now; `None` if there is none.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
    /// # let client = tairlock::Client::in_memory();
    /// let motto = client.versioned::<()>("motto").text();
    /// assert_eq!(motto.read().await?, None);
    /// let version = motto.create(&"festina lente".to_owned()).await?;
    /// assert_eq!(motto.read().await?.unwrap().version, version);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Decode`] if the codec cannot read what is there, [`Error::Backend`] if a server or the
    /// network failed, or if something else than a versioned value stands under the key.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn read(&self) -> Result<Option<Snapshot<T>>, Error> {
        let (op, outcome) = self.ask(Ok(Deed::Read)).await?;
        let snapshot = outcome.read(&op)?.map(|Stored { value, version, .. }| {
            let value = self.codec.decode(&op.key, &value)?;
            Ok(Snapshot { value, version })
        });
        snapshot.transpose()
    }

    /// Changes the value by `change`, which is given a copy and is called once per attempt: what it
    /// leaves there is written if the value still is what it was given, and else it is called on a
    /// copy of what is there now.
    ///
    /// Its own error ends the update and nothing is written. Nor is anything written if it leaves the
    /// copy as it was; its result counts only if the value still was that then, which is one look at
    /// the server. What it changed elsewhere in an attempt that was lost stays changed.
    ///
    /// An update of the same key inside of it waits for itself, until the update's time is over.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = tairlock::Client::in_memory();
    /// let seats = client.versioned::<Vec<String>>("seats").default(Vec::new());
    /// let place = seats
    ///     .update(|taken| {
    ///         if taken.len() == 2 {
    ///             return Err("sold out".into());
    ///         }
    ///         taken.push("Ada".to_owned());
    ///         Ok::<_, Box<dyn std::error::Error>>(taken.len())
    ///     })
    ///     .await?;
    /// assert_eq!(place, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `change`'s own; [`Error::Absent`] if there is no value and no [default](Self::default);
    /// [`Error::Exhausted`] if others were faster for all of its attempts (64) or all of its time
    /// (5 s); [`Error::MaybeCommitted`] if a reply was lost and what is there does not tell whether
    /// the write was done; [`Error::Decode`], [`Error::Encode`], [`Error::Backend`],
    /// [`Error::Config`], [`Error::Closed`].
    ///
    /// # Cancel safety
    /// Dropped while a write is under way, the write may be done or not, and never in part; the next
    /// attempt of anybody sees which.
    pub async fn update<R, E, F>(&self, mut change: F) -> Result<R, E>
    where
        F: FnMut(&mut T) -> Result<R, E>,
        E: From<Error>,
    {
        let mut updating = self.begin()?;
        loop {
            let (outcome, left) = match updating.attempt().await? {
                None => {
                    let key = updating.request.key.clone();
                    (Err(Error::Absent { key }.into()), Change::Nothing)
                }
                Some(mut copy) => match change(&mut copy) {
                    Ok(output) => (Ok(output), updating.change(Some(&copy))?),
                    Err(own) => (Err(own), Change::Nothing),
                },
            };
            if updating.settle(left).await? {
                return outcome;
            }
        }
    }

    /// As [`update`](Self::update), beginning with `default` where nothing is.
    ///
    /// # Errors
    /// As [`update`](Self::update), without [`Error::Absent`].
    ///
    /// # Cancel safety
    /// As [`update`](Self::update).
    pub async fn update_or<R, E, F>(&self, default: T, change: F) -> Result<R, E>
    where
        F: FnMut(&mut T) -> Result<R, E>,
        E: From<Error>,
    {
        let with_default = self.clone().default(default);
        with_default.update(change).await
    }

    /// As [`update`](Self::update), with a say in whether there is a value: `change` is given `None`
    /// where nothing is, and removes the value by leaving `None`.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
    /// # let client = tairlock::Client::in_memory();
    /// let hold = client.versioned::<u32>("hold:sku-1");
    /// let add = |n: &mut Option<u32>| Ok::<_, tairlock::Error>(*n = Some(n.unwrap_or(0) + 1));
    /// let end = |n: &mut Option<u32>| Ok::<_, tairlock::Error>(n.take());
    /// hold.update_option(add).await?;
    /// assert_eq!(hold.update_option(end).await?, Some(1));
    /// assert_eq!(hold.read().await?, None);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`update`](Self::update), without [`Error::Absent`].
    ///
    /// # Cancel safety
    /// As [`update`](Self::update).
    pub async fn update_option<R, E, F>(&self, mut change: F) -> Result<R, E>
    where
        F: FnMut(&mut Option<T>) -> Result<R, E>,
        E: From<Error>,
    {
        let mut updating = self.begin()?;
        loop {
            let mut copy = updating.attempt().await?;
            let outcome = change(&mut copy);
            let left = match &outcome {
                Ok(_) => updating.change(copy.as_ref())?,
                Err(_) => Change::Nothing,
            };
            drop(copy);
            if updating.settle(left).await? {
                return outcome;
            }
        }
    }

    /// Writes `value` if the version is still `version`; answers the new version.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
    /// # let client = tairlock::Client::in_memory();
    /// let page = client.versioned::<String>("page:7");
    /// let first = page.create(&"draft".to_owned()).await?;
    /// let second = page.compare_and_set(&"final".to_owned(), first).await?;
    /// assert!(second > first);
    /// let late = page.compare_and_set(&"other".to_owned(), first).await.unwrap_err();
    /// assert!(late.is_conflict());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] if the version is another or the value is gone;
    /// [`Error::MaybeCommitted`] if a reply was lost and what is there does not tell whether the write
    /// was done; [`Error::Encode`], [`Error::Backend`], [`Error::Config`], [`Error::Closed`].
    ///
    /// # Cancel safety
    /// Dropped before it is ready, the write may be done or not, and never in part.
    pub async fn compare_and_set(&self, value: &T, version: u64) -> Result<u64, Error> {
        self.write(self.encoded(value).map(|bytes| Deed::Swap(bytes, version))).await
    }

    /// Writes `value` if nothing is there; answers its version.
    ///
    /// # Errors
    /// As [`compare_and_set`](Self::compare_and_set); [`Error::Conflict`] if a value is there.
    ///
    /// # Cancel safety
    /// As [`compare_and_set`](Self::compare_and_set).
    pub async fn create(&self, value: &T) -> Result<u64, Error> {
        self.write(self.encoded(value).map(Deed::Create)).await
    }

    /// Writes `value` whatever is there; answers its version, which is greater than the one before.
    ///
    /// What somebody else changed since this caller last looked is lost.
    ///
    /// # Errors
    /// As [`compare_and_set`](Self::compare_and_set), without [`Error::Conflict`].
    ///
    /// # Cancel safety
    /// As [`compare_and_set`](Self::compare_and_set).
    pub async fn overwrite(&self, value: &T) -> Result<u64, Error> {
        self.write(self.encoded(value).map(Deed::Overwrite)).await
    }

    /// Removes the value if the version is still `version`.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
    /// # let client = tairlock::Client::in_memory();
    /// let job = client.versioned::<u64>("job");
    /// let version = job.create(&1).await?;
    /// job.update(|n| Ok::<_, tairlock::Error>(*n += 1)).await?;
    /// assert!(job.remove(version).await.unwrap_err().is_conflict());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`compare_and_set`](Self::compare_and_set).
    ///
    /// # Cancel safety
    /// As [`compare_and_set`](Self::compare_and_set).
    pub async fn remove(&self, version: u64) -> Result<(), Error> {
        self.write(Ok(Deed::Remove(version))).await.map(drop)
    }

    /// The value's key, prefix included.
    ///
    /// # Errors
    /// [`Error::Config`] if the key or an option makes no sense.
    pub fn key(&self) -> Result<&Key, Error> {
        self.request.as_ref().map(|request| &request.key).map_err(Clone::clone)
    }

    pub(crate) fn new(client: &Client, key: Result<Key, Error>, codec: Codec<T>) -> Self {
        let recall = key.as_ref().ok().map(|key| client.inner().values.recall(key));
        Self { client: Ok(client.clone()), request: key.map(ValueRequest::new), recall, codec }
    }

    /// A value that answers `error` whatever is asked of it.
    pub(crate) const fn refused(error: Error, codec: Codec<T>) -> Self {
        Self { client: Err(error), request: Err(Error::Closed), recall: None, codec }
    }

    /// Begins an update whose computation is somewhere else: what an attribute expands to.
    pub(crate) fn begin(&self) -> Result<Updating<'_, T>, Error> {
        let (client, request, recall) = self.checked()?;
        Updating::begin(client.inner(), request, recall, self.codec)
    }

    fn checked(&self) -> Result<(&Client, &ValueRequest, &Recall), Error> {
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let request = self.request.as_ref().map_err(Clone::clone)?;
        // A key that is usable is remembered.
        let recall = self.recall.as_deref().ok_or(Error::Closed)?;
        if client.inner().is_closed() { Err(Error::Closed) } else { Ok((client, request, recall)) }
    }

    fn encoded(&self, value: &T) -> Result<Arc<[u8]>, Error> {
        Ok(self.codec.encode(self.key()?, value)?.into())
    }

    async fn write(&self, deed: Result<Deed, Error>) -> Result<u64, Error> {
        let (op, outcome) = self.ask(deed).await?;
        outcome.written(&op)
    }

    async fn ask(&self, deed: Result<Deed, Error>) -> Result<(ValueOp, Outcome), Error> {
        let (client, request, recall) = self.checked()?;
        let (op, outcome) = updating::ask(client.inner(), request, deed?).await?;
        recall.saw(outcome.known(&op));
        Ok((op, outcome))
    }
}

impl Client {
    /// The value under `key`: any non-empty bytes, up to [`Key::MAX_LEN`] with the client's prefix. It
    /// is written as JSON unless another codec is chosen.
    ///
    /// Nothing is sent before a method of [`Versioned`] says so; an unusable key is refused there.
    pub fn versioned<T: Coded>(&self, key: impl AsRef<[u8]>) -> Versioned<T> {
        self.versioned_with(key, T::CODEC)
    }

    /// As [`Client::versioned`], written by `codec`.
    pub fn versioned_with<T>(&self, key: impl AsRef<[u8]>, codec: Codec<T>) -> Versioned<T> {
        Versioned::new(self, self.key(key.as_ref()), codec)
    }
}

impl<T> Clone for Versioned<T> {
    fn clone(&self) -> Self {
        let (client, request) = (self.client.clone(), self.request.clone());
        Self { client, request, recall: self.recall.clone(), codec: self.codec }
    }
}

impl<T> fmt::Debug for Versioned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versioned")
            .field("request", &self.request)
            .field("codec", &self.codec)
            .finish_non_exhaustive()
    }
}
