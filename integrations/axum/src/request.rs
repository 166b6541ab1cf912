//! A request of axum, as a [`LockKey`](crate::LockKey) sees it.

use axum::extract::RawPathParams;
use http::request::Parts;
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
        self.parts.uri.path()
    }

    fn query(&self) -> Option<&str> {
        self.parts.uri.query()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.parts.header(name)
    }

    fn param(&self, name: &str) -> Option<&str> {
        let params = self.params.as_ref()?;
        params.iter().find(|(param, _)| *param == name).map(|(_, value)| value)
    }
}
