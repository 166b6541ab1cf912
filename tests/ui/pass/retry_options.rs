//! Every option of `#[optimistic_retry]`, on both kinds of function.

use std::time::Duration;

use tairlock::{Codec, Error, Expiry, optimistic_retry};

const WITHIN: Duration = Duration::from_secs(5);

struct Service {
    client: tairlock::Client,
    blocking: tairlock_sync::Client,
}

impl Service {
    #[optimistic_retry(
        key = "stock:{sku}",
        max_attempts = 16,
        within = WITHIN,
        expire = "1h",
        default = 10,
        codec = Codec::INTEGER,
        name = "taking",
        using = self.client,
        or_else = |error| Some(error.to_string()),
        crate = ::tairlock,
    )]
    async fn take(&self, sku: &str, #[value] left: &mut i64) -> Option<String> {
        *left -= 1;
        Some(left.to_string())
    }

    #[optimistic_retry(
        key = format!("stock:{sku}"),
        max_attempts = 8 + 8,
        within = 0.5,
        expire = Expiry::Keep,
        codec = text,
        using = self.blocking,
        or_else = |error| Some(error.to_string()),
        crate = ::tairlock_sync,
    )]
    fn take_blocking(&self, sku: &str, #[value] left: &mut Option<String>) -> Option<String> {
        left.get_or_insert_default().push('x');
        left.clone()
    }
}

#[optimistic_retry(max_attempts = 3, within = "1s", or_else = |error| Err(error), crate = tairlock)]
async fn alone(client: &tairlock::Client) -> Result<u64, Error> {
    client.versioned::<u64>("alone").create(&1).await
}

#[tokio::main]
async fn main() {
    let service = Service {
        client: tairlock::Client::in_memory(),
        blocking: tairlock_sync::Client::in_memory(),
    };
    assert_eq!(service.take("a").await.unwrap(), "9");
    assert_eq!(service.take("a").await.unwrap(), "8");
    assert_eq!(service.take_blocking("a").unwrap(), "x");
    assert_eq!(service.take_blocking("a").unwrap(), "xx");
    alone(&service.client).await.unwrap();
    assert!(matches!(alone(&service.client).await, Err(Error::Exhausted { attempts: 3, .. })));
}
