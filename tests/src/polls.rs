//! Dropping a future after its n-th poll, or when the n-th wake-up has come and nobody looked.

use std::{
    future::{Future, poll_fn},
    task::Poll,
};

/// Where a future is dropped.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// After so many polls.
    polls: usize,
    /// Not before it has been woken once more: what it waited for is there by then.
    woken: bool,
}

impl Cut {
    /// What became of `future`: its output, if it was ready before it was to be dropped.
    pub async fn short<F: Future>(self, future: F) -> Option<F::Output> {
        let mut future = std::pin::pin!(future);
        let mut polls = 0;
        poll_fn(move |cx| {
            if polls >= self.polls {
                return Poll::Ready(None);
            }
            polls += 1;
            match future.as_mut().poll(cx) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending if polls == self.polls && !self.woken => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// Plays `scene` with every cut, until one is beyond the future's end, which `scene` says. A few times over:
/// what needs how many polls depends on who is faster.
///
/// # Panics
/// If no cut is beyond the end, or every one.
pub fn every_cut(mut scene: impl FnMut(Cut) -> bool) {
    let mut cuts = 0;
    for woken in [false, true, false, true] {
        let done = |polls| scene(Cut { polls, woken });
        cuts += (1..1_000).position(done).expect("it is done some time");
    }
    assert!(cuts > 0, "it waits for something");
}
