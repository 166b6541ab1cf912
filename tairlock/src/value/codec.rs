//! A [`Codec`] turns a value into bytes and back; it is chosen, and never guessed from a type.

use std::{fmt, str};

use crate::{Error, Key};

/// How a value is written as bytes, and read back.
///
/// `client.versioned(key)` uses JSON; `.text()`, `.bytes()` and `.integer()` choose another, and
/// `client.versioned_with(key, codec)` takes one of your own:
///
/// ```
/// # #[cfg(feature = "tokio")] #[tokio::main] async fn main() -> Result<(), tairlock::Error> {
/// use tairlock::{Client, Codec};
///
/// const CELSIUS: Codec<f64> = Codec::new(
///     "celsius",
///     |degrees| Ok(format!("{degrees:.1} °C").into_bytes()),
///     |bytes| Ok(std::str::from_utf8(bytes)?.trim_end_matches(" °C").parse()?),
/// );
/// let cellar = Client::in_memory().versioned_with("cellar", CELSIUS);
/// cellar.create(&12.5).await?;
/// assert_eq!(cellar.read().await?.unwrap().value, 12.5);
/// # Ok(()) }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
pub struct Codec<T> {
    name: &'static str,
    encode: fn(&T) -> Result<Vec<u8>, Problem>,
    decode: fn(&[u8]) -> Result<T, Problem>,
}

/// Why a value cannot be written or read.
type Problem = Box<dyn std::error::Error + Send + Sync>;

impl<T> Codec<T> {
    /// A codec called `name` in errors.
    #[must_use]
    pub const fn new(
        name: &'static str,
        encode: fn(&T) -> Result<Vec<u8>, Problem>,
        decode: fn(&[u8]) -> Result<T, Problem>,
    ) -> Self {
        Self { name, encode, decode }
    }

    /// What errors call it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// `value` as bytes.
    ///
    /// # Errors
    /// [`Error::Encode`].
    pub fn encode(&self, key: &Key, value: &T) -> Result<Vec<u8>, Error> {
        (self.encode)(value).map_err(|problem| {
            let (key, reason) = (key.clone(), problem.to_string());
            Error::Encode { key, codec: self.name, reason }
        })
    }

    /// What `bytes` say.
    ///
    /// # Errors
    /// [`Error::Decode`].
    pub fn decode(&self, key: &Key, bytes: &[u8]) -> Result<T, Error> {
        (self.decode)(bytes).map_err(|problem| {
            let (key, reason) = (key.clone(), problem.to_string());
            Error::Decode { key, codec: self.name, reason }
        })
    }
}

impl Codec<String> {
    /// UTF-8 text.
    pub const TEXT: Self = Self::new(
        "text",
        |text| Ok(text.clone().into_bytes()),
        |bytes| Ok(str::from_utf8(bytes)?.to_owned()),
    );
}

impl Codec<Vec<u8>> {
    /// Bytes as they are.
    pub const BYTES: Self =
        Self::new("bytes", |bytes| Ok(bytes.clone()), |bytes| Ok(bytes.to_vec()));
}

impl Codec<i64> {
    /// A decimal number, as servers write theirs.
    pub const INTEGER: Self = Self::new(
        "integer",
        |number| Ok(number.to_string().into_bytes()),
        |bytes| Ok(str::from_utf8(bytes)?.parse()?),
    );
}

impl<T> Clone for Codec<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Codec<T> {}

impl<T> fmt::Debug for Codec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Codec({})", self.name)
    }
}

/// A type that needs no codec to be named: with the feature `serde`, whatever serde can write and read
/// is JSON.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a versioned value",
    label = "not both `serde::Serialize` and `serde::de::DeserializeOwned`",
    note = "derive both, with the feature `serde` of tairlock (it is on by default); \
            or name a codec: `client.versioned_with(key, codec)`, or `codec = …` in the attribute"
)]
pub trait Coded: Sized {
    /// Its codec.
    #[doc(hidden)]
    const CODEC: Codec<Self>;
}
