//! The blocking driver.

use tairlock_sync::{Client, Error, distributed_lock};

use crate::{Deed, TTL, say, work_through_a_pause};

pub(super) fn run(url: &str, deed: Deed) {
    let client = Client::connect(url).expect("a client");
    say("connected");
    match deed {
        Deed::Take => {
            let taken = client.lock("k").ttl(TTL).try_acquire();
            say(taken.map(|guard| guard.map(|guard| guard.state())));
        }
        Deed::Guard => {
            let guard = client.lock("k").ttl(TTL).acquire().expect("a free lock");
            say(work_through_a_pause(guard.lease()));
            say(guard.release());
        }
        Deed::Attribute => say(attribute(&client)),
    }
    client.close();
}

#[distributed_lock(key = "k", ttl = 1, using = client, lease = lease)]
fn attribute(client: &Client) -> Result<(), Error> {
    say(work_through_a_pause(&lease));
    say("went on");
    Ok(())
}
