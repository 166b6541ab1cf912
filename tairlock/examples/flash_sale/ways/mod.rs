//! The ways to sell an item: a new one is a file beside this one, and a line in [`ALL`].

mod distributed_lock;
pub(crate) mod optimistic_retry;
mod read_then_write;

use std::{pin::Pin, time::Duration};

use crate::buyers::Shop;

/// Every way, in the order of the table.
pub(crate) const ALL: &[&dyn Way] =
    &[&read_then_write::ReadThenWrite, &distributed_lock::Locked, &optimistic_retry::Retried];

/// How long a payment takes to check.
const PAYMENT: Duration = Duration::from_millis(1);

/// One way to sell an item.
pub(crate) trait Way: Sync {
    /// What it is called in the table.
    fn name(&self) -> &'static str;

    /// Whether it promises that no update is lost.
    fn is_safe(&self) -> bool;

    /// Whether it sells from a stock with versions.
    fn is_versioned(&self) -> bool {
        false
    }

    /// Sells one item to one buyer.
    fn sell<'a>(&'a self, shop: &'a Shop) -> Selling<'a>;
}

/// A sale under way.
pub(crate) type Selling<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Sale>> + Send + 'a>>;

/// What a buyer is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sale {
    /// Confirmed; this many items should be left.
    Confirmed { left: u64 },
    /// Nothing is left.
    SoldOut,
}

/// The way of this name.
pub(crate) fn named(name: &str) -> Option<&'static dyn Way> {
    ALL.iter().copied().find(|way| way.name() == name)
}
