//! What a request says: its `Idempotency-Key`, whose it is, and what it asks for.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use tairlock::core_private::Template;

use super::{HEADER, Idempotency};
use crate::{Asked, Refusal};

/// What a request asks for: its method, its path with the query, and its body, as one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub(super) String);

impl Fingerprint {
    /// Of a request with this method, address and body.
    #[must_use]
    pub fn of(method: &str, path: &str, query: Option<&str>, body: &[u8]) -> Self {
        let mut hash = Sha256::new();
        for part in [method, path, query.unwrap_or_default()].map(str::as_bytes) {
            // No two requests give the same bytes: each part says where it ends.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.update(body);
        Self(hash.finalize().iter().fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        }))
    }
}

impl Idempotency {
    /// The record's key, for a request that has an `Idempotency-Key` and is treated by it. Keys of two
    /// scopes have nothing to do with each other.
    ///
    /// # Errors
    /// [`Refusal::IdempotencyKeyMissing`], [`Refusal::IdempotencyKeyInvalid`].
    pub fn key_of(
        &self,
        request: &dyn Asked,
        scope: Option<String>,
    ) -> Result<Option<String>, Refusal> {
        if !self.rule.methods.iter().any(|method| method == request.method()) {
            return Ok(None);
        }
        let Some(key) = request.header(HEADER) else {
            return if self.rule.required { Err(Refusal::IdempotencyKeyMissing) } else { Ok(None) };
        };
        let key = unquoted(key)?;
        let scope = scope.unwrap_or_default();
        let name = Template::new().literal("idempotency:").value(&scope).literal(":").value(key);
        Ok(Some(String::from_utf8_lossy(&name.finish()).into_owned()))
    }
}

/// The draft has the key in quotes; many clients send it without.
fn unquoted(key: &str) -> Result<&str, Refusal> {
    let key = key.trim();
    let bare = key.strip_prefix('"').map_or(Some(key), |rest| rest.strip_suffix('"'));
    match bare {
        None => Err(Refusal::IdempotencyKeyInvalid("a quote without its other")),
        Some("") => Err(Refusal::IdempotencyKeyInvalid("it is empty")),
        Some(key) if key.len() > 255 => Err(Refusal::IdempotencyKeyInvalid("more than 255 bytes")),
        Some(key) if !key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"') => {
            Err(Refusal::IdempotencyKeyInvalid("other than visible ASCII"))
        }
        Some(key) => Ok(key),
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, request::Parts};
    use tairlock::Client;

    use super::*;

    fn parts(method: &str, uri: &str, key: Option<&str>) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(key) = key {
            request = request.header(HEADER, key);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn keys_with_and_without_quotes_are_one_and_nonsense_is_refused() {
        let idempotency = Idempotency::new(Client::in_memory());
        let key = |key: &str| idempotency.key_of(&parts("POST", "/", Some(key)), None);
        assert_eq!(key("\"a-1\"").unwrap().as_deref(), Some("idempotency:%_:a-1"));
        assert_eq!(key("a-1").unwrap(), key("\"a-1\"").unwrap());
        assert_eq!(key("a:lock").unwrap().as_deref(), Some("idempotency:%_:a%3Alock"));
        for bad in ["", "\"\"", "\"a", "a b", "a\"b", &"x".repeat(256)] {
            assert!(matches!(key(bad), Err(Refusal::IdempotencyKeyInvalid(_))), "{bad}");
        }
        let get = parts("GET", "/", Some("a-1"));
        assert_eq!(idempotency.key_of(&get, None).unwrap(), None);
        let none = parts("POST", "/", None);
        assert_eq!(idempotency.key_of(&none, None).unwrap(), None);
        let required = idempotency.clone().required(true).key_of(&none, None);
        assert!(matches!(required, Err(Refusal::IdempotencyKeyMissing)));
        let scope = Some("x:".to_owned());
        let key = idempotency.key_of(&parts("POST", "/", Some("a")), scope).unwrap();
        assert_eq!(key.as_deref(), Some("idempotency:x%3A:a"));
    }

    #[test]
    fn the_fingerprint_tells_method_path_query_and_body_apart() {
        let of = |method, uri: &str, body: &str| {
            let (path, query) =
                uri.split_once('?').map_or((uri, None), |(path, q)| (path, Some(q)));
            Fingerprint::of(method, path, query, body.as_bytes())
        };
        let requests = [
            of("POST", "/a", "b"),
            of("PATCH", "/a", "b"),
            of("POST", "/ab", ""),
            of("POST", "/a?b", ""),
            of("POST", "/a", "c"),
        ];
        for (nth, one) in requests.iter().enumerate() {
            assert!(!requests[..nth].contains(one), "{nth}");
        }
        assert_eq!(of("POST", "/a", "b"), requests[0]);
    }
}
