//! Renewals, doubts and losses, which the keeper tells of on its own thread, by every driver.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tairlock::{Confirm, Error, LossReason};
use tairlock_tests::{
    Proxy, Server, fleet::Replicated, for_each_world as for_each_driver, place::Place,
    proxy::Fault, world::World,
};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt as _},
};

use crate::{
    BOUND, ask, client, client_at, name,
    scrape::{acquires, count},
    server, soon, take, told,
};

for_each_driver!(
    a_renewal_is_counted_with_what_was_left,
    what_ran_out_is_told,
    what_was_taken_is_told,
    what_vanished_is_told,
    what_was_held_for_too_long_is_told,
    a_silent_server_is_told_before_the_loss,
    copies_that_are_missing_are_told_before_the_loss,
    a_loss_that_the_release_finds_is_told,
    a_lost_reply_to_a_release_is_no_loss,
    the_keeper_tells_whom_the_asker_told,
);

/// That the loss of the lock is counted and told, once, in its hold's span.
#[track_caller]
fn lost(name: &'static str, reason: &str) {
    soon("the loss is told", || told::outcomes("tairlock.hold", name) == ["lost"]);
    assert_eq!(count("tairlock_losses_total", name, &[("reason", reason)]), 1.0);
    assert_eq!(count("tairlock_losses_total", name, &[]), 1.0);
    assert_eq!(count("tairlock_hold_seconds_count", name, &[("outcome", "lost")]), 1.0);
    assert_eq!(count("tairlock_held", name, &[]), 0.0);
    let store = told::store();
    let (told, holds) = (store.said("lease lost", name), store.of("tairlock.hold", name));
    assert_eq!((told.len(), holds.len()), (1, 1));
    assert_eq!((told[0].level, &*told[0].fields["reason"]), (Level::WARN, reason));
    assert_eq!(told[0].span, Some(holds[0].0), "it is told in its own span");
}

fn a_renewal_is_counted_with_what_was_left(world: &dyn World) {
    let name = name(world, "renewal");
    let client = client(world, &Place::memory());
    let guard = take(&*client, &ask(name).ttl(900));
    let renewed = || count("tairlock_renewals_total", name, &[("outcome", "confirmed")]);
    soon("two renewals", || renewed() >= 2.0);
    _ = guard.release().expect("it is ours");
    let (sum, count) = (
        count("tairlock_renewal_margin_seconds_sum", name, &[]),
        count("tairlock_renewal_margin_seconds_count", name, &[]),
    );
    assert_eq!(count, renewed());
    assert!(sum > 0.0 && sum <= 0.6 * count, "a third of the ttl is gone by then: {sum} / {count}");
}

fn what_ran_out_is_told(world: &dyn World) {
    let name = name(world, "expired");
    let client = client(world, &Place::memory());
    let guard = take(&*client, &ask(name).ttl(100).fixed());
    assert_eq!(guard.lease().wait_lost(BOUND), Some(LossReason::Expired));
    lost(name, "expired");
}

fn what_was_taken_is_told(world: &dyn World) {
    let (name, place) = (name(world, "taken"), Place::memory());
    let client = client(world, &place);
    let guard = take(&*client, &ask(name).ttl(600));
    place.steal(name.as_bytes(), "a stranger");
    assert_eq!(guard.lease().wait_lost(BOUND), Some(LossReason::Taken));
    lost(name, "taken");
}

fn what_vanished_is_told(world: &dyn World) {
    let (name, place) = (name(world, "vanished"), Place::memory());
    let client = client(world, &place);
    let guard = take(&*client, &ask(name).ttl(600));
    place.delete(name.as_bytes());
    assert_eq!(guard.lease().wait_lost(BOUND), Some(LossReason::Vanished));
    lost(name, "vanished");
}

fn what_was_held_for_too_long_is_told(world: &dyn World) {
    let name = name(world, "max-hold");
    let client = client(world, &Place::memory());
    let guard = take(&*client, &ask(name).ttl(200).max_hold(200));
    assert_eq!(guard.lease().wait_lost(BOUND), Some(LossReason::MaxHold));
    lost(name, "max_hold");
}

fn a_silent_server_is_told_before_the_loss(world: &dyn World) {
    let (name, server) = (name(world, "unreachable"), server());
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    let guard = take(&*client, &ask(name).ttl(900));
    let renewed = || count("tairlock_renewals_total", name, &[("outcome", "confirmed")]);
    soon("the keeper is connected", || renewed() >= 1.0);
    proxy.black_hole(true);
    assert_eq!(guard.lease().wait_lost(BOUND), Some(LossReason::Unreachable));
    lost(name, "unreachable");
    assert!(count("tairlock_renewals_total", name, &[("outcome", "unconfirmed")]) >= 1.0);
    let store = told::store();
    let told = store.said("a renewal was not confirmed", name);
    assert_eq!(told.len(), 1, "once, not at every try");
    assert!(told[0].fields.contains_key("fault"));
    assert_eq!(told[0].span, Some(store.of("tairlock.hold", name)[0].0));
    drop(store);
    proxy.black_hole(false);
    drop(guard);
}

fn copies_that_are_missing_are_told_before_the_loss(world: &dyn World) {
    let name = name(world, "unconfirmed");
    let fleet = Replicated::start(Server::redis7, 1).expect("a replica");
    let client = client_at(world, fleet.primary().url());
    let ask = ask(name).ttl(900).confirm(Confirm::replicas(1).within(Duration::from_millis(100)));
    let guard = take(&*client, &ask);
    fleet.link(0).stall();
    assert_eq!(guard.lease().wait_lost(BOUND), Some(LossReason::Unreachable));
    lost(name, "unreachable");
    assert!(count("tairlock_renewals_total", name, &[("outcome", "unconfirmed")]) >= 1.0);
    let store = told::store();
    let told = store.said("a renewal was not confirmed", name);
    assert_eq!(told.len(), 1, "once, not at every try");
    assert_eq!(told[0].fields["fault"], "0 of 1 copies had it in time");
    drop(store);

    assert!(matches!(client.acquire(&ask), Err(Error::NotReplicated { .. })));
    assert_eq!(acquires(name, "not_replicated"), 1.0);
}

fn a_loss_that_the_release_finds_is_told(world: &dyn World) {
    let (name, place) = (name(world, "found-late"), Place::memory());
    let client = client(world, &place);
    let guard = take(&*client, &ask(name));
    place.delete(name.as_bytes());
    assert_eq!(guard.release().expect("it is no fault"), tairlock::Release::Expired);
    assert_eq!(told::outcomes("tairlock.hold", name), ["expired"]);
    assert_eq!(count("tairlock_losses_total", name, &[("reason", "vanished")]), 1.0);
    assert_eq!(count("tairlock_releases_total", name, &[("outcome", "expired")]), 1.0);
    assert_eq!(told::store().said("lease lost", name).len(), 1);
}

fn a_lost_reply_to_a_release_is_no_loss(world: &dyn World) {
    let (name, server) = (name(world, "unknown"), server());
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    let client = client_at(world, proxy.url());
    let guard = take(&*client, &ask(name));
    proxy.once("EVALSHA", Fault::Swallow);
    proxy.once("EVAL", Fault::Swallow);
    assert_eq!(guard.release().expect("it is no fault"), tairlock::Release::Unknown);
    assert_eq!(count("tairlock_releases_total", name, &[("outcome", "unknown")]), 1.0);
    assert!(client.close(), "the keeper sees it through");
    assert_eq!(count("tairlock_losses_total", name, &[]), 0.0);
    assert_eq!(count("tairlock_releases_total", name, &[]), 1.0);
    assert_eq!(told::outcomes("tairlock.hold", name), ["unknown"]);
}

/// Counts the warnings.
struct Warnings(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let warns = *event.metadata().level() == Level::WARN;
        self.0.fetch_add(usize::from(warns), Ordering::Relaxed);
    }
}

fn the_keeper_tells_whom_the_asker_told(world: &dyn World) {
    let (name, place) = (name(world, "scoped"), Place::memory());
    let (client, warnings) = (client(world, &place), Arc::new(AtomicUsize::new(0)));
    let ours = Registry::default().with(Warnings(Arc::clone(&warnings)));
    let guard = tracing::subscriber::with_default(ours, || take(&*client, &ask(name).ttl(600)));
    place.delete(name.as_bytes());
    soon("the loss is told", || warnings.load(Ordering::Relaxed) == 1);
    assert!(told::store().said("lease lost", name).is_empty(), "and to nobody else");
    drop(guard);
}
