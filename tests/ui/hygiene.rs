//! A crate that is hard on attributes: every lint denied, no prelude, and the user's own `std`, `core`,
//! `tairlock` and `Result`. Checked in editions 2021 and 2024, with both crates renamed. Some functions
//! are in one line on purpose: rustc looks for unnecessary braces there.

#![deny(warnings, unused, missing_docs, unreachable_pub, unused_qualifications, unknown_lints)]
#![deny(let_underscore_drop, single_use_lifetimes, unsafe_op_in_unsafe_fn)]
#![no_implicit_prelude]
// Of `clippy::restriction`, what this crate's own code is full of…
#![allow(clippy::blanket_clippy_restriction_lints, clippy::absolute_paths, clippy::min_ident_chars)]
#![allow(clippy::arbitrary_source_item_ordering, clippy::arithmetic_side_effects, clippy::string_add)]
#![allow(clippy::exhaustive_enums, clippy::missing_docs_in_private_items)]
#![allow(clippy::missing_inline_in_public_items, clippy::std_instead_of_alloc)]
#![allow(clippy::std_instead_of_core, clippy::allow_attributes_without_reason)]
// …and what an attribute cannot help: a body ends in a value, and its arguments are bound again.
#![allow(clippy::implicit_return, clippy::shadow_same, clippy::shadow_reuse)]

use ::core::result::Result::Ok;
use ::locks::{distributed_lock, optimistic_retry};
use ::std::{cell::RefCell, string::String, sync::OnceLock, vec::Vec};

mod core {}
mod std {}
mod tairlock {}
mod tairlock_sync {}

/// Not the one that everybody means.
pub enum Result {}

type Answer<T> = ::core::result::Result<T, ::locks::Error>;

fn client() -> &'static ::locks::Client {
    static CLIENT: OnceLock<::locks::Client> = OnceLock::new();
    CLIENT.get_or_init(::locks::Client::in_memory)
}

fn blocking() -> &'static ::blocking_locks::Client {
    static CLIENT: OnceLock<::blocking_locks::Client> = OnceLock::new();
    CLIENT.get_or_init(::blocking_locks::Client::in_memory)
}

/// Names that an expansion might want for itself.
///
/// # Errors
/// As the lock.
#[distributed_lock(key = "names:{key}", ttl = 5, wait = "1s", renew = true)]
pub async fn names(key: u8, ttl: u8, guard: u8, lease: u8, client: u8, result: u8) -> Answer<u8> {
    Ok(ttl + guard + lease + client + result)
}

/// Each kind of argument.
///
/// # Errors
/// As the lock.
#[distributed_lock(key = "arguments:{key}", using = client(), lease = lease)]
pub async fn arguments(
    key: &str,
    _unused: u8,
    mut changed: u8,
    (first, second): (u8, u8),
    _: u8,
) -> Answer<u8> {
    changed += 1;
    if lease.is_held() {
        return Ok(changed + first);
    }
    Ok(second)
}

/// Each kind of argument, in one line.
///
/// # Errors
/// As the lock.
#[distributed_lock(key = "arguments:{key}", ttl = 0.5, wait = 0, renew = false, using = blocking())]
pub fn arguments_blocking(key: &str, _unused: u8, mut a: u8, (b, c): (u8, u8), _: u8) -> Answer<u8> { a += 1; Ok(a + b + c) }

/// Nothing to return.
#[distributed_lock(key = "nothing", or_else = |_| ())]
pub async fn nothing() {}

/// Nothing to return.
#[distributed_lock(key = "nothing", or_else = |_| ())]
pub fn nothing_blocking(_a: u8) { nothing_at_all() }

fn nothing_at_all() {}

/// Every other option, with names that an expansion might want for itself.
///
/// # Errors
/// As the lock.
#[distributed_lock(
    keys = ["a:{key}", keys], lease = result, when = when, reentrant = true, on_lost = finish, name = "all",
    using = client()
)]
pub async fn others(key: u8, keys: &str, when: bool, lock: u8, output: u8) -> Answer<u8> {
    if result.is_some() {
        return Ok(lock);
    }
    Ok(output)
}

/// The same.
#[distributed_lock(keys = keys, on_busy = skip, when = key > 1, using = blocking())]
#[must_use]
pub fn others_blocking(key: u8, keys: Vec<String>, lock: usize) -> ::core::option::Option<usize> {
    ::core::option::Option::Some(keys.len() + lock)
}

/// Skipped, in one line.
#[distributed_lock(key = "skipped", on_busy = skip)]
pub async fn skipped() { nothing_at_all(); }

/// One line, one expression.
///
/// # Errors
/// As the lock.
#[distributed_lock(key = "one-line")]
pub async fn one_line() -> Answer<u8> { Ok(1) }

/// One line, one expression.
#[distributed_lock(key = "one-line", or_else = |_| 5)]
#[must_use]
pub fn one_line_blocking(x: u8) -> u8 { x.wrapping_add(1) }

/// Each kind of argument of a body that runs again, and the names that its loop might want.
///
/// # Errors
/// As the update.
#[optimistic_retry(key = "retry:{key}", max_attempts = attempts, default = output, using = client())]
pub async fn again(
    key: &str,
    #[value] value: &mut u32,
    _unused: u8,
    mut copy: String,
    (terms, again): (u32, u32),
    _: u8,
    attempts: u32,
    output: u32,
) -> Answer<u32> {
    copy.push('x');
    if *value > terms {
        return Ok(again);
    }
    *value += 1;
    Ok(*value)
}

/// The same, in one line.
///
/// # Errors
/// As the update.
#[optimistic_retry(key = "retry:{key}", expire = keep, within = 0.5, using = blocking())]
pub fn again_blocking(key: &str, #[value] value: &mut ::core::option::Option<u8>, mut a: u8, _b: u8) -> Answer<u8> { a += 1; *value = ::core::option::Option::Some(a); Ok(a) }

/// Nothing to return.
#[optimistic_retry(key = "retry", codec = integer, or_else = ::core::mem::drop)]
pub async fn again_nothing(#[value] value: &mut i64) { *value += 1; }

/// Nothing to change.
///
/// # Errors
/// As the body.
#[optimistic_retry]
pub async fn again_alone(error: u8, terms: u8) -> Answer<u8> { Ok(error + terms) }

/// Nothing to change.
///
/// # Errors
/// As the body.
#[optimistic_retry(max_attempts = 3)]
pub fn again_alone_blocking(again: u8) -> Answer<u8> { Ok(again) }

/// Under a lock, and a lock under it.
///
/// # Errors
/// As the lock and the update.
#[distributed_lock(key = "outer:{key}", using = client())]
#[optimistic_retry(key = "retry:{key}", default = 0, using = client())]
#[distributed_lock(key = "inner:{key}", lease = lease, using = client())]
pub async fn again_locked(key: String, #[value] value: &mut u8) -> Answer<usize> {
    *value += 1;
    if lease.is_held() {
        return Ok(key.len());
    }
    Ok(0)
}

/// A type with methods.
#[derive(Debug)]
pub struct Service {
    locks: ::locks::Client,
    name: String,
}

impl Service {
    /// Borrowed for a while.
    ///
    /// # Errors
    /// As the lock.
    #[distributed_lock(key = "service:{self.name}", using = self.locks)]
    pub async fn exclusive(&mut self) -> Answer<&mut String> {
        self.name.push('a');
        Ok(&mut self.name)
    }

    /// Taken apart.
    ///
    /// # Errors
    /// As the lock.
    #[distributed_lock(key = "service:{self.name}", using = self.locks)]
    pub async fn parts(self, text: String) -> Answer<String> {
        Ok(text + &self.name)
    }

    /// Two locks.
    ///
    /// # Errors
    /// As the locks.
    #[distributed_lock(key = "service:{self.name}", using = &self.locks)]
    #[distributed_lock(key = "other:{self.name}", using = &self.locks)]
    pub async fn returned(mut self) -> Answer<Self> {
        self.name.push('x');
        Ok(self)
    }

    /// The same.
    ///
    /// # Errors
    /// As the lock.
    #[distributed_lock(key = "service:{self.name}", using = blocking())]
    pub fn returned_blocking(mut self) -> Answer<Self> {
        self.name.push('x');
        Ok(self)
    }

    /// Reads what `pointer` points to.
    ///
    /// # Safety
    /// `pointer` must be valid.
    ///
    /// # Errors
    /// As the lock.
    #[distributed_lock(key = "service:{self.name}", using = blocking())]
    pub unsafe fn dangerous(&self, pointer: *const u8) -> Answer<u8> {
        // SAFETY: the caller's word.
        Ok(unsafe { *pointer })
    }

    /// A temporary in the last expression.
    ///
    /// # Errors
    /// As the lock.
    #[distributed_lock(key = "service", using = client())]
    pub async fn temporary(&self, cell: RefCell<Vec<u8>>) -> Answer<usize> {
        Ok(cell.borrow().len())
    }

    /// A body that runs again, borrowed for a while.
    ///
    /// # Errors
    /// As the update.
    #[optimistic_retry(key = "again:{self.name}", default = String::new(), using = self.locks)]
    pub async fn again(&mut self, #[value] there: &mut String) -> Answer<usize> {
        self.name.push('a');
        ::std::clone::Clone::clone_from(there, &self.name);
        Ok(there.len())
    }

    /// The same, of something owned.
    ///
    /// # Errors
    /// As the update.
    #[optimistic_retry(key = "again:{self.name}", default = 1, using = blocking())]
    pub fn again_blocking(mut self, #[value] there: &mut usize) -> Answer<usize> {
        self.name.push('x');
        *there += self.name.len();
        Ok(*there)
    }
}
