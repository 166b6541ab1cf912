//! [`IdempotencyLayer`]: requests with an `Idempotency-Key`, for axum's routers.

use http::request::Parts;
use tairlock_tower::{Idempotency, IdempotencyService};
use tower_layer::Layer;

use crate::request::uri;

/// Does requests with an `Idempotency-Key` once, and answers those that repeat them alike: tower's
/// [layer](tairlock_tower::IdempotencyLayer), which sees a request's whole path also in a nested router.
///
/// A request that has begun is a task of its own, so that it comes to its end also if its client leaves.
///
/// ```
/// use axum::{Router, routing::post};
/// use tairlock_axum::{Idempotency, IdempotencyLayer};
///
/// #[derive(Clone)]
/// struct Account(String); // what a layer above has authenticated
///
/// let once = IdempotencyLayer::new(Idempotency::new(tairlock::Client::in_memory()))
///     .scope(|request| request.extensions.get::<Account>().map(|account| account.0.clone()));
/// let app: Router = Router::new().route("/pay", post(async || "paid").layer(once));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct IdempotencyLayer(tairlock_tower::IdempotencyLayer);

impl IdempotencyLayer {
    /// Treats requests so.
    pub fn new(idempotency: Idempotency) -> Self {
        Self(tairlock_tower::IdempotencyLayer::new(idempotency).uri(uri))
    }

    /// Whose key it is: an account, a tenant. Keys of two scopes have nothing to do with each other.
    ///
    /// By default there is one scope. **A service with several customers must set this**, from what it
    /// has authenticated: whoever sends another's key, path and body would be given that one's answer. It
    /// must be the same when a client repeats its request, which a token that is refreshed is not.
    pub fn scope(self, scope: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(self.0.scope(scope))
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = IdempotencyService<S>;

    fn layer(&self, inner: S) -> IdempotencyService<S> {
        self.0.layer(inner)
    }
}
