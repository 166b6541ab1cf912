//! A cluster at rest: any bytes are a key, batches are parted by node, lost replies are settled.

use std::time::Duration;

use tairlock::{FaultKind, Release, slot::slot};
use tairlock_tests::{
    Server,
    fleet::Cluster,
    for_each_world as for_each_driver,
    place::At,
    proxy::Fault,
    world::{Ask, Wish, World},
};

use crate::{BOUND, add, client_of, cluster_of, in_cluster, key_at, kind, push, take};

for_each_driver!(
    a_key_of_any_bytes_has_its_fence_and_its_value_in_its_slot,
    renewals_are_parted_by_node,
    the_replies_of_a_node_can_be_lost,
    what_passes_is_waited_for,
    who_is_no_cluster_or_is_away_is_told_apart,
    a_user_needs_little_more_than_for_one_server,
);

/// O49 and O50: braces that no trick of ours may be fooled by, and every byte there is.
fn a_key_of_any_bytes_has_its_fence_and_its_value_in_its_slot(world: &dyn World) {
    let cluster = cluster_of(Server::redis7);
    let client = in_cluster(world, &cluster);
    let odd: [&[u8]; 16] = [
        b"{",
        b"}",
        b"{}",
        b"a}b",
        b"a{b",
        b"{}a",
        b"{a}b",
        b"a{}b{c}",
        b"}{",
        b"{{a}}",
        b"{a",
        b"a}",
        b"}}{{",
        b"{\0}",
        b"{}{a}",
        b"{:}:tairlock:fence:",
    ];
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let braced = (0..=u8::MAX).map(|byte| vec![b'{', byte, b'}', byte]);
    for key in odd.into_iter().map(<[u8]>::to_vec).chain(bytes).chain(braced) {
        let shown = key.escape_ascii().to_string();
        let first = take(&*client, &Ask::new(&key).fenced());
        let fence = first.fence().expect("a fence");
        assert!(client.try_acquire(&Ask::new(&key)).expect("busy").is_none(), "{shown}");
        assert_eq!(first.release().expect("release"), Release::Released, "{shown}");
        let second = take(&*client, &Ask::new(&key).fenced());
        assert!(second.fence().expect("a fence") > fence, "{shown}");
        assert_eq!(second.release().expect("release"), Release::Released, "{shown}");
        let value = client.value(&Wish::new(&key));
        value.update_or(b"", &mut push).expect("an update");
        let read = value.read().expect("a value").expect("there");
        assert_eq!(read.value, b"x", "{shown}");
        value.remove(read.version).expect("removed");
        client.fenced_set(&key, b"v", fence).expect("a fenced value");
        let () = cluster.ask(&key, redis::cmd("DEL").arg(&key)).expect("DEL");
    }
}

/// One pipeline with keys of several nodes is refused, so that none of these would be held for long.
fn renewals_are_parted_by_node(world: &dyn World) {
    let cluster = Cluster::proxied(Server::valkey9).expect("a cluster");
    let client = in_cluster(world, &cluster);
    let ask = |number: usize| Ask::new(format!("lock{number}")).ttl(1_500);
    let held: Vec<_> = (0..90).map(|number| take(&*client, &ask(number))).collect();
    cluster.proxies().iter().for_each(tairlock_tests::Proxy::clear);
    for proxy in &cluster.proxies()[..3] {
        // About 30 each, and again a third of the TTL later.
        assert!(proxy.wait_for("SET", 64, BOUND), "{:?}", proxy.texts());
        assert!(proxy.round_trips() <= 30, "one by one: {} trips", proxy.round_trips());
    }
    for guard in &held {
        assert_eq!(guard.lease().wait_lost(Duration::ZERO), None);
    }
    for guard in held {
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
}

/// Whoever repeated the command, the token that is found is ours.
fn the_replies_of_a_node_can_be_lost(world: &dyn World) {
    let cluster = Cluster::proxied(Server::redis7).expect("a cluster");
    let client = in_cluster(world, &cluster);
    let key = key_at(&cluster, 1);
    let proxy = &cluster.proxies()[1];
    for fault in [Fault::Swallow, Fault::SwallowAndCut, Fault::CutMidFrame, Fault::LoseRequest] {
        proxy.once(&format!("SET {key}"), fault.clone());
        let guard = take(&*client, &Ask::new(&key).ttl(3_000).wait(5_000));
        let token: Vec<u8> = cluster.ask(key.as_bytes(), redis::cmd("GET").arg(&key)).expect("GET");
        assert_eq!(token, guard.lease().token().as_bytes(), "{fault:?}");
        let release = guard.release().expect("release");
        assert_eq!(release, Release::Released, "{fault:?}");

        let value = client.value(&Wish::new(format!("{{{key}}}:count")));
        proxy.once("EVAL", fault.clone());
        value.update_or(b"", &mut push).expect("an update");
        let read = value.read().expect("a value").expect("there");
        assert_eq!(read.value, b"x", "once: {fault:?}");
        value.remove(read.version).expect("removed");
    }
}

/// Each error that a failover or a move brings with it, and one of Tair's proxies.
fn what_passes_is_waited_for(world: &dyn World) {
    let cluster = Cluster::proxied(Server::redis7).expect("a cluster");
    let client = in_cluster(world, &cluster);
    let key = key_at(&cluster, 0);
    let (proxy, at) = (&cluster.proxies()[0], slot(key.as_bytes()));
    let value = client.value(&Wish::new(format!("{{{key}}}:count")));
    value.create(b"0").expect("created");
    let elsewhere = cluster.proxies()[1].addr();
    let passing = [
        "TRYAGAIN Multiple keys request during rehashing of slot".to_owned(),
        "CLUSTERDOWN The cluster is down".to_owned(),
        "CLUSTERDOWN Hash slot not served".to_owned(),
        "READONLY You can't write against a read only replica.".to_owned(),
        "LOADING Redis is loading the dataset in memory".to_owned(),
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
            .to_owned(),
        "ERR READONLY you can't write against a read only instance".to_owned(),
        // That node sends it back.
        format!("MOVED {at} {elsewhere}"),
        format!("ASK {at} {elsewhere}"),
    ];
    for text in &passing {
        let refused = Fault::Answer(format!("-{text}\r\n").into_bytes());
        for _ in 0..2 {
            proxy.once(&format!("SET {key}"), refused.clone());
            proxy.once("EVALSHA", refused.clone());
        }
        let guard = take(&*client, &Ask::new(&key).wait(5_000));
        value.update_json(&mut add).unwrap_or_else(|e| panic!("{text}: {e}"));
        proxy.allow("EVALSHA");
        assert_eq!(guard.release().expect("release"), Release::Released, "{text}");
        proxy.heal();
    }
    let count = value.read_json().expect("a value").expect("there").value;
    assert_eq!(count, u64::try_from(passing.len()).expect("few"));
}

fn who_is_no_cluster_or_is_away_is_told_apart(world: &dyn World) {
    let alone = Server::redis7().start().expect("a server");
    let outcome = client_of(world, At::Cluster(vec![alone.url()])).map(|_| ());
    assert!(
        outcome.as_ref().is_err_and(|error| error.to_string().contains(".url(")),
        "{outcome:?}"
    );
    assert_eq!(kind(outcome), FaultKind::Config);
    let outcome = client_of(world, At::Cluster(vec![])).map(|_| ());
    assert!(matches!(outcome, Err(tairlock::Error::Config(_))), "{outcome:?}");

    let mut gone = Server::redis7().start().expect("a server");
    gone.kill();
    let outcome = client_of(world, At::Cluster(vec![gone.url(), gone.url()])).map(|_| ());
    assert_eq!(kind(outcome), FaultKind::Unreachable);

    let cluster = cluster_of(Server::redis7);
    let seeds = vec![gone.url(), cluster.urls().remove(5)];
    let client = client_of(world, At::Cluster(seeds)).unwrap_or_else(|error| panic!("{error}"));
    for at in 0..3 {
        drop(take(&*client, &Ask::new(key_at(&cluster, at))));
    }
}

fn a_user_needs_little_more_than_for_one_server(world: &dyn World) {
    const RULES: &str = "worker on >secret resetchannels -@all ~* +set +get +del +pexpire +evalsha +eval +pttl \
                         +hello +ping +client +cluster|slots +asking";
    let users = |rules: &'static str| move || Server::redis7().user(rules);
    let urls = |cluster: &Cluster, password: &str| {
        let login = format!("redis://worker:{password}@");
        cluster.urls().iter().map(|url| url.replace("redis://", &login)).collect::<Vec<_>>()
    };
    let cluster = cluster_of(users(RULES));
    let at = At::Cluster(urls(&cluster, "secret"));
    let client = client_of(world, at).unwrap_or_else(|error| panic!("{error}"));
    for at in 0..3 {
        let guard = take(&*client, &Ask::new(key_at(&cluster, at)));
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
    let outcome = client_of(world, At::Cluster(urls(&cluster, "c4n4ry"))).map(|_| ());
    assert!(!format!("{outcome:?}").contains("c4n4ry"));
    assert_eq!(kind(outcome), FaultKind::Auth);

    for node in cluster.nodes() {
        let rules = ["SETUSER", "worker", "-cluster|slots"];
        redis::cmd("ACL").arg(&rules[..]).exec(&mut node.cli()).expect("ACL SETUSER");
    }
    let outcome = client_of(world, At::Cluster(urls(&cluster, "secret"))).map(|_| ());
    assert!(format!("{outcome:?}").contains("+cluster|slots"), "{outcome:?}");
    assert_eq!(kind(outcome), FaultKind::Permission);
    // The slots are as a client of ours counts them.
    let counted: u16 = redis::cmd("CLUSTER")
        .arg("KEYSLOT")
        .arg("a{b}c")
        .query(&mut cluster.nodes()[0].cli())
        .expect("CLUSTER KEYSLOT");
    assert_eq!(counted, slot(b"a{b}c"));
}
