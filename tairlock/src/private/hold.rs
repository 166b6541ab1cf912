//! The future of a body under a lock: asks, runs the body, gives back.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use super::held::{Asked, Held};
use crate::{Error, core_private::Answers};

/// Runs `body` under `lock`; `answers` says what to answer if the lock is not had or is lost.
///
/// No `async fn`: that would hold the body's arguments three times, where this holds them once.
pub fn hold<L, T, O, F, Fut>(lock: L, answers: Answers<T, O>, body: F) -> impl Future<Output = T>
where
    L: Asked,
    O: FnOnce(Error) -> T,
    F: FnOnce(L::View) -> Fut,
    Fut: Future<Output = T>,
{
    // On the heap: an acquire is large, and every caller's future would hold room for it. Once, for the
    // release too.
    let errand = Box::pin(Errand::Asking { asking: lock.ask() });
    Hold {
        errand,
        settle: <L::Held as Held>::settle,
        step: Step::Asking { body },
        answers: Some(answers),
    }
}

pin_project! {
    struct Hold<T, O, F, Fut, H: Held, A, R, S> {
        #[pin]
        step: Step<T, F, Fut, H>,
        errand: Pin<Box<Errand<A, R>>>,
        settle: S,
        answers: Option<Answers<T, O>>,
    }
}

pin_project! {
    /// What is asked of a server, before the body and after it.
    #[project = ErrandView]
    enum Errand<A, R> {
        Asking { #[pin] asking: A },
        Settling { #[pin] settling: R },
        None,
    }
}

pin_project! {
    #[project = StepView]
    #[project_replace = StepTaken]
    enum Step<T, F, Fut, H: Held> {
        Asking { body: F },
        // In this order: the body is dropped before the lock.
        Running { #[pin] body: Fut, bell: H::Bell, held: H },
        Settling { output: Option<T> },
        Over,
    }
}

impl<T, O, F, Fut, H, V, A, R, S> Future for Hold<T, O, F, Fut, H, A, R, S>
where
    O: FnOnce(Error) -> T,
    F: FnOnce(V) -> Fut,
    Fut: Future<Output = T>,
    H: Held<View = V>,
    A: Future<Output = Result<H, Error>>,
    R: Future<Output = Option<Error>>,
    S: Fn(H) -> R,
{
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        const OVER: &str = "a future is not polled after it is over";
        let mut this = self.project();
        loop {
            match this.step.as_mut().project() {
                StepView::Asking { .. } => {
                    let ErrandView::Asking { asking } = this.errand.as_mut().project() else {
                        unreachable!("{OVER}")
                    };
                    let asked = ready!(asking.poll(cx));
                    this.errand.set(Errand::None);
                    let StepTaken::Asking { body } = this.step.as_mut().project_replace(Step::Over)
                    else {
                        unreachable!("{OVER}")
                    };
                    match asked {
                        Ok(held) => {
                            let (body, bell) = (body(held.view()), H::Bell::default());
                            this.step.set(Step::Running { body, bell, held });
                        }
                        Err(error) => {
                            drop(body);
                            return Poll::Ready(this.answers.take().expect(OVER).denied(error));
                        }
                    }
                }
                StepView::Running { body, bell, held } => {
                    // The loss is looked at first: a body must not go on under a lock that is
                    // somebody else's.
                    if this.answers.as_ref().is_some_and(Answers::cuts)
                        && let Poll::Ready(error) = held.poll_lost(bell, cx)
                    {
                        this.step.set(Step::Over);
                        return Poll::Ready(this.answers.take().expect(OVER).denied(error));
                    }
                    let scope = held.enter();
                    let output = ready!(body.poll(cx));
                    drop(scope);
                    let StepTaken::Running { held, .. } =
                        this.step.as_mut().project_replace(Step::Settling { output: Some(output) })
                    else {
                        unreachable!("{OVER}")
                    };
                    this.errand.set(Errand::Settling { settling: (this.settle)(held) });
                }
                StepView::Settling { output } => {
                    let ErrandView::Settling { settling } = this.errand.as_mut().project() else {
                        unreachable!("{OVER}")
                    };
                    let lost = ready!(settling.poll(cx));
                    let output = output.take().expect(OVER);
                    this.errand.set(Errand::None);
                    this.step.set(Step::Over);
                    return Poll::Ready(match lost {
                        Some(error) => this.answers.take().expect(OVER).tainted(output, error),
                        None => output,
                    });
                }
                StepView::Over => unreachable!("{OVER}"),
            }
        }
    }
}
