//! [`AnswerBody`]: a service's body, or our own in its place, and a lock that lives as long.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tairlock::LockGuard;

/// The body of a response through a layer of this crate: the service's own, or the layer's.
pub struct AnswerBody<B> {
    first: Option<Bytes>,
    rest: Option<Pin<Box<B>>>,
    guard: Option<LockGuard>,
}

impl<B> AnswerBody<B> {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self { first: Some(bytes), rest: None, guard: None }
    }

    pub(crate) fn of(body: B) -> Self {
        Self { first: None, rest: Some(Box::pin(body)), guard: None }
    }

    /// A body of which `first` was read already.
    pub(crate) const fn resumed(first: Bytes, rest: Pin<Box<B>>) -> Self {
        Self { first: Some(first), rest: Some(rest), guard: None }
    }

    /// Holds `guard` until the body has ended or is dropped.
    pub(crate) fn holding(self, guard: LockGuard) -> Self {
        Self { guard: Some(guard), ..self }
    }
}

impl<B: Body<Data = Bytes>> Body for AnswerBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let next = match &mut self.rest {
            Some(rest) => std::task::ready!(rest.as_mut().poll_frame(cx)),
            None => None,
        };
        if next.is_none() {
            self.rest = None;
            self.guard = None;
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.first.as_ref().is_none_or(Bytes::is_empty)
            && self.rest.as_ref().is_none_or(|rest| rest.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, |first| first.len() as u64);
        let rest =
            self.rest.as_ref().map_or_else(|| SizeHint::with_exact(0), |rest| rest.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(first));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(first));
        }
        hint
    }
}

impl<B> fmt::Debug for AnswerBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBody").field("guard", &self.guard).finish_non_exhaustive()
    }
}
