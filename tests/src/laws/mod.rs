//! The laws: what holds for every server and every driver, each written once.

mod fences;
mod holding;
mod inspecting;
mod limits;
mod losing;
mod refusing;
mod values;
mod versioned;
mod waiting;

use crate::{
    place::Place,
    world::{Ask, Config, Held, Locks, Wish, World},
};

/// What a law is tried on: a place, a driver, and a name that no other trial uses.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "a driver has nothing to show")]
pub struct Stage<'a> {
    /// Where the locks are.
    pub place: &'a Place,
    /// Who takes them.
    pub world: &'a dyn World,
    /// In front of every key of this trial.
    pub name: &'a str,
}

impl Stage<'_> {
    /// A new client, with everything at its default.
    #[must_use]
    pub fn client(&self) -> Box<dyn Locks> {
        self.client_with(&Config::default())
    }

    /// A new client.
    #[must_use]
    pub fn client_with(&self, config: &Config) -> Box<dyn Locks> {
        self.world.client(self.place, config).unwrap_or_else(|error| panic!("connecting: {error}"))
    }

    /// This trial's key called `key`.
    #[must_use]
    pub fn key(&self, key: &str) -> Vec<u8> {
        format!("{}:{key}", self.name).into_bytes()
    }

    /// A TTL of so many milliseconds; longer where a replica must confirm the grant in a third of it.
    #[must_use]
    pub fn ttl(&self, ms: u64) -> u64 {
        if self.place.confirm().is_some() { ms.max(900) } else { ms }
    }

    /// A request for this trial's key called `key`.
    #[must_use]
    pub fn ask(&self, key: &str) -> Ask {
        Ask::new(self.key(key))
    }

    /// This trial's value called `key`.
    #[must_use]
    pub fn wish(&self, key: &str) -> Wish {
        Wish::new(self.key(key))
    }
}

/// Takes a lock that is free.
fn take(client: &dyn Locks, ask: &Ask) -> Box<dyn Held> {
    client.acquire(ask).unwrap_or_else(|error| panic!("a free lock: {error}"))
}

/// Takes what must be busy, and is.
#[track_caller]
fn assert_busy(client: &dyn Locks, ask: &Ask) {
    match client.try_acquire(ask) {
        Ok(None) => {}
        Ok(Some(_)) => panic!("granted although it is held"),
        Err(error) => panic!("busy is no error: {error}"),
    }
}

/// A law: panics where it does not hold.
pub type Law = fn(Stage<'_>);

/// The laws of locks, by name.
const LOCKS: &[(&str, Law)] = &[
    ("one holder at a time", holding::one_holder_at_a_time),
    ("busy is no error", holding::busy_is_no_error),
    ("release says what it did", holding::release_says_what_it_did),
    ("drop releases", holding::drop_releases),
    ("every key dies of itself", holding::every_key_dies_of_itself),
    ("a lease is renewed while its guard lives", holding::renewed_while_its_guard_lives),
    ("what is certain is less than the ttl", holding::certain_is_less_than_the_ttl),
    ("any bytes are a key", holding::any_bytes_are_a_key),
    ("prefix and label are seen by others", holding::prefix_and_label),
    ("a panic releases", holding::a_panic_releases),
    ("close releases everything and grants nothing", holding::close_releases_everything),
    ("without renewal a lease ends", losing::without_renewal_a_lease_ends),
    ("a stranger's lock is never released", losing::a_strangers_lock_is_never_released),
    ("a stranger's lock is never renewed", losing::a_strangers_lock_is_never_renewed),
    ("renewal never makes a key", losing::renewal_never_makes_a_key),
    ("another kind of value is an error", refusing::another_kind_of_value),
    ("what makes no sense is refused", refusing::what_makes_no_sense),
    ("a stuck holder loses the lock", limits::a_stuck_holder_loses_the_lock),
    ("without renewal the ttl ends it", limits::without_renewal_the_ttl_comes_before_max_hold),
    ("given back early, it stays", limits::a_lock_given_back_early_stays_for_min_hold),
    ("dropped early, it stays", limits::a_dropped_guard_keeps_its_lock_for_min_hold),
    ("given back later, it is free", limits::after_its_time_a_release_frees_the_lock),
    ("lost, it does not stay", limits::after_a_loss_nothing_is_kept),
    ("a hold that makes no sense is refused", limits::a_hold_that_makes_no_sense_is_refused),
    ("a waiter is served when the lock is free", waiting::served_when_free),
    ("waiters of one client are served in order", waiting::served_in_order),
    ("waiting ends when it was to end", waiting::ends_when_it_was_to_end),
    ("a waiter of another client is served", waiting::served_across_clients),
];

/// Those of what one server must count, which a quorum refuses.
const COUNTED: &[(&str, Law)] = &[
    ("fences increase", fences::fences_increase),
    ("a fence is asked for", fences::without_asking_there_is_no_fence),
    ("a fenced lock is a lock", fences::a_fenced_lock_is_a_lock),
    ("a fence is forgotten", fences::a_fence_is_forgotten),
    ("a late writer is refused by its fence", fences::a_late_writer_is_refused),
    ("fences are compared as numbers", fences::fences_are_compared_as_numbers),
    ("another kind is no fenced value", fences::another_kind_is_no_fenced_value),
    ("a broken fence is refused", fences::a_broken_fence_is_refused),
    ("the holder is told", inspecting::the_holder_is_told),
    ("what is no token is told", inspecting::what_is_no_token_is_told),
    ("an operator takes a lock away", inspecting::an_operator_takes_a_lock_away),
    ("no look at what is no lock", inspecting::looking_is_refused_where_there_is_no_lock),
    ("no increment is lost", versioned::no_increment_is_lost),
    ("no increment is lost to removals", versioned::no_increment_is_lost_to_removals),
    ("a writer from before a removal loses", versioned::a_writer_from_before_a_removal_loses),
    ("with a fixed first version it may win", versioned::with_a_fixed_first_version_it_may_win),
    ("versions are right at the edges", versioned::versions_are_right_at_the_edges),
    ("an update has a budget", versioned::an_update_has_a_budget),
    ("any bytes are a value", values::any_bytes_are_a_value),
    ("what a codec cannot read is left alone", values::what_a_codec_cannot_read_is_left_alone),
    ("another kind than a value is named", values::another_kind_is_named),
    ("a write says how long it stays", values::a_write_says_how_long_it_stays),
    ("what is not to be written is not", values::what_is_not_to_be_written_is_not),
    ("a closed client writes nothing", values::a_closed_client_writes_nothing),
];

/// The laws that hold at `place`, by name.
pub fn at(place: &Place) -> impl Iterator<Item = &'static (&'static str, Law)> + use<> {
    let counted = if place.is_quorum() { &[] } else { COUNTED };
    LOCKS.iter().chain(counted)
}
