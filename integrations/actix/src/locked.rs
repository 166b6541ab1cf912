//! [`Locked`]: a lock as an extractor.

use std::{future::Future, ops::Deref, pin::Pin};

use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use tairlock::{Client, Error};
use tairlock_tower::{Answers, Held, LockKey};

use crate::{Refused, request::Seen};

/// Holds the lock that the request is about while it lives: a handler's argument, until the handler
/// returns.
///
/// The key and the lock's options are the business of `K`. The client is the application's
/// `web::Data<Client>`, or else the [default one](tairlock::set_default). Rejections are answered as
/// [`Problem`](crate::Problem), or by the [`Answers`] that are given as `app_data`; a handler that takes a
/// `Result<Locked<K>, Refused>` decides by itself.
///
/// actix polls extractors side by side, so that what another one does may be done without the lock. The
/// drop releases in the background, and may be a moment later than the response; where the client's next
/// request has to find the lock free, or a loss has to be noticed, do the work in [`Held::run`]:
///
/// ```
/// # use tairlock_actix::{LockKey, Asked, BadKey, Locked, Refused};
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

impl<K: LockKey + 'static> FromRequest for Locked<K> {
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Refused>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let answers = request.app_data::<Answers>().cloned().unwrap_or_default();
        let key = K::find(&Seen(request));
        let client = request.app_data::<web::Data<Client>>().map(|client| (***client).clone());
        Box::pin(async move {
            let held = match (key, client.map_or_else(tairlock::default_client, Ok)) {
                (Err(bad), _) => Err(bad.into()),
                (_, Err(none)) => Err(Error::into(none)),
                (Ok(key), Ok(client)) => Held::of(&client, key).await,
            };
            held.map(Self).map_err(|refusal| Refused::new(refusal, answers))
        })
    }
}
