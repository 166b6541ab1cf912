//! Slots that move to another node, under locks that are held and asked for.

use std::{thread, time::Duration};

use tairlock::{Release, slot::slot};
use tairlock_tests::{
    Server,
    fleet::Cluster,
    for_each_world as for_each_driver,
    world::{Ask, Wish, World},
};

use crate::{add, cluster_of, in_cluster, key_at, push, take};

for_each_driver!(
    a_held_lock_moves_along,
    a_key_that_is_not_there_yet_is_made_where_the_slot_goes,
    a_fence_in_a_slot_that_is_half_way_is_waited_for,
);

fn a_held_lock_moves_along(world: &dyn World) {
    let cluster = cluster_of(Server::redis7);
    let client = in_cluster(world, &cluster);
    let key = key_at(&cluster, 0);
    let at = slot(key.as_bytes());
    let guard = take(&*client, &Ask::new(&key).ttl(3_000));
    let value = client.value(&Wish::new(format!("{{{key}}}:value")));
    value.create(b"1").expect("created");
    for to in [1, 2, 0] {
        cluster.move_slot(at, to).expect("moved");
        assert_eq!(cluster.owner(key.as_bytes()).expect("an owner"), to);
        // A renewal is due within a second.
        assert_eq!(guard.lease().wait_lost(Duration::from_millis(1_500)), None, "at {to}");
        value.update_json(&mut add).expect("an update");
        let second = client.try_acquire(&Ask::new(&key)).expect("busy");
        assert!(second.is_none(), "at {to}, {:?}", guard.lease());
    }
    assert_eq!(value.read_json().expect("a value").expect("there").value, 4);
    assert_eq!(guard.release().expect("release"), Release::Released);
}

/// `ASK`: the node that gives the slot away has only what it had.
/// O51: a lock is asked for while its slot moves.
fn a_key_that_is_not_there_yet_is_made_where_the_slot_goes(world: &dyn World) {
    let cluster = cluster_of(Server::valkey9);
    let client = in_cluster(world, &cluster);
    let key = key_at(&cluster, 0);
    let there = format!("{{{key}}}:there");
    let old = take(&*client, &Ask::new(&there).ttl(900));
    cluster.begin_move(slot(key.as_bytes()), 2).expect("begun");
    let new = take(&*client, &Ask::new(&key).ttl(900));
    // Both are renewed in one batch, and only one of them is sent on.
    for guard in [&old, &new] {
        assert_eq!(guard.lease().wait_lost(Duration::from_millis(1_500)), None);
    }
    assert!(client.try_acquire(&Ask::new(&key)).expect("busy").is_none());
    let mut asking = redis::pipe();
    asking.cmd("ASKING").ignore().cmd("GET").arg(&key);
    let (token,): (Vec<u8>,) = asking.query(&mut cluster.nodes()[2].cli()).expect("GET");
    assert_eq!(token, new.lease().token().as_bytes());
    let value = client.value(&Wish::new(format!("{{{key}}}:value")));
    value.update_or(b"", &mut push).expect("an update");
    for guard in [old, new] {
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
    cluster_settles(&cluster, slot(key.as_bytes()));
    assert_eq!(value.read().expect("a value").expect("there").value, b"x");
}

/// `TRYAGAIN`: of a lock and its fence, one is here and the other nowhere.
fn a_fence_in_a_slot_that_is_half_way_is_waited_for(world: &dyn World) {
    let cluster = cluster_of(Server::redis7);
    let client = in_cluster(world, &cluster);
    let key = key_at(&cluster, 1);
    let first = take(&*client, &Ask::new(&key).fenced());
    let fence = first.fence();
    assert_eq!(first.release().expect("release"), Release::Released);
    cluster.begin_move(slot(key.as_bytes()), 0).expect("begun");
    let refused = client.try_acquire(&Ask::new(&key).fenced()).map(|_| ()).expect_err("half-way");
    assert!(refused.is_transient(), "{refused}");
    thread::scope(|scope| {
        let waiter = client.another();
        let ask = Ask::new(&key).fenced().wait(20_000);
        let waiting = scope.spawn(move || take(&*waiter, &ask));
        cluster_settles(&cluster, slot(key.as_bytes()));
        let guard = waiting.join().expect("granted");
        assert!(guard.fence() > fence);
        assert_eq!(guard.release().expect("release"), Release::Released);
    });
}

/// Ends a move that was begun.
fn cluster_settles(cluster: &Cluster, slot: u16) {
    let to = if cluster.importing(slot, 2) { 2 } else { 0 };
    cluster.move_slot(slot, to).expect("moved");
}
