//! A request of axum, as a [`LockKey`](crate::LockKey) sees it.

use axum::extract::{OriginalUri, RawPathParams};
use http::{Uri, request::Parts};
use tairlock_tower::Asked;

pub(crate) struct Seen<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) params: Option<RawPathParams>,
}

impl Asked for Seen<'_> {
    fn method(&self) -> &str {
        self.parts.method.as_str()
    }

    fn path(&self) -> &str {
        uri(self.parts).path()
    }

    fn query(&self) -> Option<&str> {
        uri(self.parts).query()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.parts.header(name)
    }

    fn param(&self, name: &str) -> Option<&str> {
        let params = self.params.as_ref()?;
        params.iter().find(|(param, _)| *param == name).map(|(_, value)| value)
    }
}

/// The address as it was sent: a router that is nested in another one sees only the rest of it.
pub(crate) fn uri(parts: &Parts) -> &Uri {
    parts.extensions.get().map_or(&parts.uri, |OriginalUri(uri)| uri)
}
