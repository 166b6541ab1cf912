//! JSON through serde: the codec of everything that names no other.

use serde::{Serialize, de::DeserializeOwned};

use super::{Codec, Coded};

impl<T: Serialize + DeserializeOwned> Codec<T> {
    /// JSON, as serde writes it.
    pub const JSON: Self = Self::new(
        "JSON",
        |value| Ok(serde_json::to_vec(value)?),
        |bytes| Ok(serde_json::from_slice(bytes)?),
    );
}

impl<T: Serialize + DeserializeOwned> Coded for T {
    const CODEC: Codec<Self> = Codec::JSON;
}
