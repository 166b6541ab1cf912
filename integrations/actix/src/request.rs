//! A request of actix, as a [`LockKey`](crate::LockKey) sees it.

use actix_web::HttpRequest;
use tairlock_tower::Asked;

pub(crate) struct Seen<'a>(pub(crate) &'a HttpRequest);

impl Asked for Seen<'_> {
    fn method(&self) -> &str {
        self.0.method().as_str()
    }

    fn path(&self) -> &str {
        self.0.uri().path()
    }

    fn query(&self) -> Option<&str> {
        self.0.uri().query()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    fn param(&self, name: &str) -> Option<&str> {
        self.0.match_info().get(name)
    }
}
