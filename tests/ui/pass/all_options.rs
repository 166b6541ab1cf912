//! Every option, on both kinds of function.

use std::time::Duration;

use tairlock::{Confirm, distributed_lock};

const TTL: Duration = Duration::from_secs(5);
const CONFIRM: Confirm = Confirm::none();

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
        max_hold = "1m",
        min_hold = 0,
        fence = true,
        confirm = Confirm::none(),
        reentrant = true,
        name = "settlement",
        on_busy = error,
        on_lost = finish,
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
        max_hold = TTL,
        min_hold = "0s",
        fence = false,
        confirm = CONFIRM,
        using = self.blocking,
        lease = lease,
        or_else = |error| error.to_string(),
        crate = ::tairlock_sync,
    )]
    fn settle_blocking(&self, order_id: u64) -> String {
        format!("{order_id} {}", lease.is_held())
    }
}

#[distributed_lock(keys = ["a", "b"], when = yes, on_busy = skip, on_lost = cancel, lease = leases)]
async fn several(yes: bool) -> Option<bool> {
    Some(leases.is_some_and(|leases| leases.is_held()))
}

#[tokio::main]
async fn main() {
    let service = Service {
        client: tairlock::Client::in_memory(),
        blocking: tairlock_sync::Client::in_memory(),
    };
    tairlock::set_default(service.client.clone()).unwrap();
    assert_eq!((several(true).await, several(false).await), (Some(true), Some(false)));
    assert_eq!(service.settle(42).await, "42 true");
    assert_eq!(service.settle_blocking(42), "42 true");
}
