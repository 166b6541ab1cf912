//! [`LockKey`]: types that know how a request says which lock it needs.

use http::request::Parts;
use tairlock::{Client, Lock};

/// A request as a [`LockKey`] sees it: everything but the body, in any framework.
pub trait Asked {
    /// The method, in capitals.
    fn method(&self) -> &str;

    /// The path, as it was sent.
    fn path(&self) -> &str;

    /// What stands behind the `?`, as it was sent.
    fn query(&self) -> Option<&str>;

    /// A header's first value, if it is text. The name in small letters.
    fn header(&self, name: &str) -> Option<&str>;

    /// What stands in the path for a parameter of the route, decoded. A plain tower service has no
    /// routes, and none of these.
    fn param(&self, name: &str) -> Option<&str>;
}

impl Asked for Parts {
    fn method(&self) -> &str {
        self.method.as_str()
    }

    fn path(&self) -> &str {
        self.uri.path()
    }

    fn query(&self) -> Option<&str> {
        self.uri.query()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn param(&self, _: &str) -> Option<&str> {
        None
    }
}

/// A type that stands for a lock and finds itself in a request. One type serves axum, actix and tower.
///
/// ```
/// use std::time::Duration;
/// use tairlock::Lock;
/// use tairlock_tower::{Asked, BadKey, LockKey};
///
/// struct Order(u64);
///
/// impl LockKey for Order {
///     fn find(request: &dyn Asked) -> Result<Self, BadKey> {
///         let id = request.param("id").and_then(|id| id.parse().ok());
///         id.map(Self).ok_or(BadKey("an order's id is a number"))
///     }
///     fn key(&self) -> String {
///         format!("order:{}", self.0)
///     }
///     fn options(lock: Lock) -> Lock {
///         lock.ttl(Duration::from_secs(5)).wait(Duration::from_secs(1))
///     }
/// }
/// ```
pub trait LockKey: Sized {
    /// Finds what the request is about.
    ///
    /// # Errors
    /// [`BadKey`] if it does not say; the request is answered with 400.
    fn find(request: &dyn Asked) -> Result<Self, BadKey>;

    /// The lock's key. Two different things must not give one key: where text of the caller's comes
    /// before other text, mind the separator.
    fn key(&self) -> String;

    /// The lock's options: ttl, wait, renewal. By default tairlock's, and the type's own name in spans and
    /// metrics.
    fn options(lock: Lock) -> Lock {
        lock
    }
}

/// The lock that `key` stands for.
pub(crate) fn lock<K: LockKey>(client: &Client, key: &K) -> Lock {
    K::options(client.lock(key.key()).name(called(std::any::type_name::<K>())))
}

/// A type's own name, without where it is and what it is generic over.
fn called(full: &'static str) -> &'static str {
    let path = full.split('<').next().unwrap_or(full);
    path.rsplit("::").next().unwrap_or(path)
}

/// The request does not say which lock it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request names no lock: {0}")]
pub struct BadKey(
    /// What is wrong with it, for logs.
    pub &'static str,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_called_by_its_own_name() {
        assert_eq!(called("shop::orders::Order"), "Order");
        assert_eq!(called("shop::Of<shop::Order, alloc::string::String>"), "Of");
        assert_eq!(called("u64"), "u64");
    }
}
