//! [`Locked`]: a lock as an extractor.

use std::ops::Deref;

use axum::extract::{FromRef, FromRequestParts, RawPathParams};
use http::request::Parts;
use tairlock::Client;
use tairlock_tower::{Answers, Held, LockKey};

use crate::{Refused, request::Seen};

/// Holds the lock that the request is about while it lives: a handler's argument, until the handler
/// returns.
///
/// The key and the lock's options are the business of `K`. The [`Client`] comes from the router's state
/// by [`FromRef`]. Rejections are answered as [`Problem`](crate::Problem), or by the [`Answers`] of an
/// `Extension` layer; a handler that takes a `Result<Locked<K>, Refused>` decides by itself.
///
/// Extractors run in order, and what is before this one runs without the lock. Its drop releases in the
/// background, and may be a moment later than the response; where the client's next request has to find
/// the lock free, or a loss has to be noticed, do the work in [`Held::run`]:
///
/// ```
/// # use tairlock_axum::{LockKey, Asked, BadKey, Locked, Refused};
/// # struct Order(u64);
/// # impl LockKey for Order {
/// #     fn find(_: &dyn Asked) -> Result<Self, BadKey> { Ok(Self(7)) }
/// #     fn key(&self) -> String { "order:7".into() }
/// # }
/// async fn settle(order: Locked<Order>) -> Result<String, Refused> {
///     let id = order.0;
///     order.into_held().run(async move { Ok(format!("order {id} is settled")) }).await
/// }
/// ```
#[derive(Debug)]
pub struct Locked<K>(Held<K>);

impl<K> Locked<K> {
    /// The lock without the extractor around it.
    pub fn into_held(self) -> Held<K> {
        self.0
    }

    /// A view of the lease.
    #[must_use]
    pub const fn lease(&self) -> &tairlock::Lease {
        self.0.lease()
    }
}

impl<K> Deref for Locked<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.0
    }
}

impl<K, S> FromRequestParts<S> for Locked<K>
where
    K: LockKey + Send + Sync,
    Client: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let answers = parts.extensions.get::<Answers>().cloned().unwrap_or_default();
        let params = RawPathParams::from_request_parts(parts, state).await.ok();
        let key = K::find(&Seen { parts, params });
        let held = match key {
            Ok(key) => Held::of(&Client::from_ref(state), key).await,
            Err(bad) => Err(bad.into()),
        };
        held.map(Self).map_err(|refusal| Refused::new(refusal, answers))
    }
}
