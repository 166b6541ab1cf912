//! [`Fenced`]: a value that refuses a holder who comes too late.

use std::fmt;

use crate::{
    Client, Codec, Coded, Error, Key, Written,
    inspect::inquire,
    proto::Op,
    value::{FencedAction, FencedValue},
};

/// A value that is written under a lock, and refuses who writes with a lower fence than it has seen.
///
/// A holder that was paused beyond its lease does not know it and writes all the same; by then another
/// holder may have written, with the higher fence of its own grant. For values on the server that the
/// locks are on; for a database of yours see the example `fenced_sql`.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
/// let client = tairlock::Client::in_memory();
/// let balance = client.fenced::<u32>("balance:7"); // JSON; or .text() .bytes() .integer()
/// let lock = client.lock("account:7").fence(true);
///
/// let paused = lock.acquire().await?;
/// client.force_release("account:7").await?; // its lease is over, and it does not know
/// let next = lock.acquire().await?;
/// balance.set(&90, next.fence().unwrap()).await?;
///
/// let late = balance.set(&70, paused.fence().unwrap()).await.unwrap_err();
/// assert!(matches!(late, tairlock::Error::StaleFence { .. }));
/// assert_eq!(balance.get().await?.unwrap().value, 90);
/// # Ok(()) }
/// ```
///
/// It is a hash with the fields `value` and `fence`, on every server, and never expires of itself. Each
/// call is one script, and one round trip. Cheap to clone.
#[must_use = "nothing is read or written before a method says so"]
pub struct Fenced<T> {
    client: Client,
    key: Result<Key, Error>,
    codec: Codec<T>,
}

impl<T> Fenced<T> {
    /// The value, and the fence that it was written with; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Decode`] if the codec cannot read what is there, [`Error::Backend`] if a server or the
    /// network failed, or if something else than a fenced value stands under the key;
    /// [`Error::Config`], [`Error::Closed`].
    ///
    /// # Cancel safety
    /// Nothing is changed.
    pub async fn get(&self) -> Result<Option<Written<T>>, Error> {
        let key = self.key.clone()?;
        let op = Op::Fenced(key.clone(), FencedAction::Get);
        let reply = inquire(self.client.inner(), op, true).await?;
        let read = FencedAction::read(key.clone(), reply)?.map(|FencedValue { value, fence }| {
            let value = self.codec.decode(&key, &value)?;
            Ok(Written { value, fence })
        });
        read.transpose()
    }

    /// Writes `value` with the fence of the lock that it is written under, unless it has been written
    /// with a higher one. The same fence again is accepted: a holder may write as often as it likes.
    ///
    /// # Errors
    /// [`Error::StaleFence`] if it has been written with a higher fence: somebody else has had the lock
    /// since, and nothing was written. [`Error::Encode`]; [`Error::Backend`], after which it was written
    /// or not, and the same call can be made again; [`Error::Config`], [`Error::Closed`].
    ///
    /// # Cancel safety
    /// Dropped midway, it is written or not.
    pub async fn set(&self, value: &T, fence: u64) -> Result<(), Error> {
        let key = self.key.clone()?;
        let value = self.codec.encode(&key, value)?.into();
        let op = Op::Fenced(key.clone(), FencedAction::Set(FencedValue { value, fence }));
        let reply = inquire(self.client.inner(), op, true).await?;
        FencedAction::written(key, fence, reply)
    }

    /// As UTF-8 text.
    pub fn text(self) -> Fenced<String> {
        self.coded(Codec::TEXT)
    }

    /// As bytes.
    pub fn bytes(self) -> Fenced<Vec<u8>> {
        self.coded(Codec::BYTES)
    }

    /// As a decimal number.
    pub fn integer(self) -> Fenced<i64> {
        self.coded(Codec::INTEGER)
    }

    fn coded<U>(self, codec: Codec<U>) -> Fenced<U> {
        Fenced { client: self.client, key: self.key, codec }
    }
}

impl Client {
    /// The fenced value under `key`: any non-empty bytes, up to [`Key::MAX_LEN`] with the client's
    /// prefix, and another key than the lock's. It is written as JSON unless another codec is chosen.
    ///
    /// Nothing is sent before a method of [`Fenced`] says so; an unusable key is refused there.
    pub fn fenced<T: Coded>(&self, key: impl AsRef<[u8]>) -> Fenced<T> {
        self.fenced_with(key, T::CODEC)
    }

    /// As [`Client::fenced`], written by `codec`.
    pub fn fenced_with<T>(&self, key: impl AsRef<[u8]>, codec: Codec<T>) -> Fenced<T> {
        Fenced { client: self.clone(), key: self.key(key.as_ref()), codec }
    }
}

impl<T> Clone for Fenced<T> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), key: self.key.clone(), codec: self.codec }
    }
}

impl<T> fmt::Debug for Fenced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fenced").field("key", &self.key).field("codec", &self.codec).finish()
    }
}
