//! A versioned value behind one face, whichever driver stands behind it.

use std::time::Duration;

use tairlock::{Error, Expiry, Snapshot};

/// A value as it is asked for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The key, without the client's prefix.
    pub key: Vec<u8>,
    /// See the driver's `Versioned`.
    pub expiry: Expiry,
    /// See the driver's `Versioned`; by the server's clock unless named.
    pub initial_version: Option<u64>,
    /// See the driver's `Versioned`.
    pub attempts: u32,
    /// See the driver's `Versioned`.
    pub within: Duration,
}

impl Wish {
    /// A value that stays, with more than enough attempts and time for it.
    #[must_use]
    pub fn new(key: impl AsRef<[u8]>) -> Self {
        let (expiry, within) = (Expiry::Persist, Duration::from_secs(60));
        let key = key.as_ref().to_vec();
        Self { key, expiry, initial_version: None, attempts: 10_000, within }
    }

    /// With this expiry.
    #[must_use]
    pub fn expire(self, expiry: Expiry) -> Self {
        Self { expiry, ..self }
    }

    /// With this first version.
    #[must_use]
    pub fn initial_version(self, version: u64) -> Self {
        Self { initial_version: Some(version), ..self }
    }

    /// With so many attempts.
    #[must_use]
    pub fn attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }
}

/// What an update does to a copy.
pub type Change<'a, T> = &'a mut dyn FnMut(&mut T) -> Result<(), Error>;

/// A handle on a value, as bytes.
pub trait Value: Send + Sync {
    /// Another handle, which shares what this one remembers.
    fn another(&self) -> Box<dyn Value>;

    /// As the driver's `read`.
    fn read(&self) -> Result<Option<Snapshot<Vec<u8>>>, Error>;

    /// As the driver's `read`, as text.
    fn read_text(&self) -> Result<Option<Snapshot<String>>, Error>;

    /// As the driver's `read`, as a JSON number.
    fn read_json(&self) -> Result<Option<Snapshot<u64>>, Error>;

    /// As the driver's `update`.
    fn update(&self, change: Change<'_, Vec<u8>>) -> Result<(), Error>;

    /// As the driver's `update_or`.
    fn update_or(&self, default: &[u8], change: Change<'_, Vec<u8>>) -> Result<(), Error>;

    /// As the driver's `update_option`.
    fn update_option(&self, change: Change<'_, Option<Vec<u8>>>) -> Result<(), Error>;

    /// As the driver's `update` of a JSON number.
    fn update_json(&self, change: Change<'_, u64>) -> Result<(), Error>;

    /// As the driver's `compare_and_set`.
    fn compare_and_set(&self, value: &[u8], version: u64) -> Result<u64, Error>;

    /// As the driver's `create`.
    fn create(&self, value: &[u8]) -> Result<u64, Error>;

    /// As the driver's `overwrite`.
    fn overwrite(&self, value: &[u8]) -> Result<u64, Error>;

    /// As the driver's `remove`.
    fn remove(&self, version: u64) -> Result<(), Error>;
}

/// Implements [`Value`] for a type with a field `0: Versioned<Vec<u8>>`; `$run` turns what a method of
/// `$versioned` answers into what came of it.
macro_rules! value {
    ($Type:ty $(where $E:ident: $Bound:ident)?, |$this:ident, $answer:ident| $run:expr) => {
        impl $(<$E: $Bound>)? super::Value for $Type {
            fn another(&self) -> Box<dyn super::Value> {
                Box::new(self.clone())
            }

            fn read(&self) -> Result<Option<Snapshot<Vec<u8>>>, Error> {
                let ($this, $answer) = (self, self.value.read());
                $run
            }

            fn read_text(&self) -> Result<Option<Snapshot<String>>, Error> {
                let text = self.value.clone().text();
                let ($this, $answer) = (self, text.read());
                $run
            }

            fn read_json(&self) -> Result<Option<Snapshot<u64>>, Error> {
                let json = self.json();
                let ($this, $answer) = (self, json.read());
                $run
            }

            fn update(&self, change: super::Change<'_, Vec<u8>>) -> Result<(), Error> {
                let ($this, $answer) = (self, self.value.update(change));
                $run
            }

            fn update_or(
                &self,
                default: &[u8],
                change: super::Change<'_, Vec<u8>>,
            ) -> Result<(), Error> {
                let ($this, $answer) = (self, self.value.update_or(default.to_vec(), change));
                $run
            }

            fn update_option(
                &self,
                change: super::Change<'_, Option<Vec<u8>>>,
            ) -> Result<(), Error> {
                let ($this, $answer) = (self, self.value.update_option(change));
                $run
            }

            fn update_json(&self, change: super::Change<'_, u64>) -> Result<(), Error> {
                let json = self.json();
                let ($this, $answer) = (self, json.update(change));
                $run
            }

            fn compare_and_set(&self, value: &[u8], version: u64) -> Result<u64, Error> {
                let value = value.to_vec();
                let ($this, $answer) = (self, self.value.compare_and_set(&value, version));
                $run
            }

            fn create(&self, value: &[u8]) -> Result<u64, Error> {
                let value = value.to_vec();
                let ($this, $answer) = (self, self.value.create(&value));
                $run
            }

            fn overwrite(&self, value: &[u8]) -> Result<u64, Error> {
                let value = value.to_vec();
                let ($this, $answer) = (self, self.value.overwrite(&value));
                $run
            }

            fn remove(&self, version: u64) -> Result<(), Error> {
                let ($this, $answer) = (self, self.value.remove(version));
                $run
            }
        }
    };
}
pub(super) use value;

/// Tells a `Versioned` what `$wish` says.
macro_rules! told {
    ($versioned:expr, $wish:expr) => {{
        let told =
            $versioned.expire($wish.expiry).max_attempts($wish.attempts).within($wish.within);
        match $wish.initial_version {
            Some(version) => told.initial_version(version),
            None => told,
        }
    }};
}
pub(super) use told;
