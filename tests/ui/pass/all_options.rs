//! Every option, on both kinds of function.

use std::time::Duration;

use tairlock::distributed_lock;

const TTL: Duration = Duration::from_secs(5);

struct Service {
    client: tairlock::Client,
    blocking: tairlock_sync::Client,
}

impl Service {
    #[distributed_lock(
        key = "order:{order_id}",
        ttl = TTL,
        wait = "1500ms",
        renew = false,
        using = self.client,
        lease = lease,
        or_else = |error| error.to_string(),
        crate = ::tairlock,
    )]
    async fn settle(&self, order_id: u64) -> String {
        format!("{order_id} {}", lease.is_held())
    }

    #[distributed_lock(
        key = "order:{order_id}",
        ttl = 0.5,
        wait = 0,
        renew = true,
        using = self.blocking,
        lease = lease,
        or_else = |error| error.to_string(),
        crate = ::tairlock_sync,
    )]
    fn settle_blocking(&self, order_id: u64) -> String {
        format!("{order_id} {}", lease.is_held())
    }
}

#[tokio::main]
async fn main() {
    let service = Service {
        client: tairlock::Client::in_memory(),
        blocking: tairlock_sync::Client::in_memory(),
    };
    assert_eq!(service.settle(42).await, "42 true");
    assert_eq!(service.settle_blocking(42), "42 true");
}
