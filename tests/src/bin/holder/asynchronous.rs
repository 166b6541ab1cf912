//! The async driver, in a runtime of one thread.

use tairlock::{Client, Error, distributed_lock};

use crate::{Deed, TTL, say, work_through_a_pause};

pub(super) fn run(url: &str, deed: Deed) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let client = Client::connect(url).await.expect("a client");
        say("connected");
        match deed {
            Deed::Take => {
                let taken = client.lock("k").ttl(TTL).try_acquire().await;
                say(taken.map(|guard| guard.map(|guard| guard.state())));
            }
            Deed::Guard => {
                let guard = client.lock("k").ttl(TTL).acquire().await.expect("a free lock");
                say(work_through_a_pause(guard.lease()));
                say(guard.release().await);
            }
            Deed::Attribute => say(attribute(&client).await),
        }
        client.close().await;
    });
}

#[distributed_lock(key = "k", ttl = 1, using = client, lease = lease)]
async fn attribute(client: &Client) -> Result<(), Error> {
    say(work_through_a_pause(&lease));
    tokio::task::yield_now().await;
    say("went on");
    Ok(())
}
