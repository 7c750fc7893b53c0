//! How large a future is, and what it means to pin one (chapter 23).

use arc::task::yield_now;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};

const BUFFER_BYTES: usize = 4096;

fn sum(buffer: &[u8]) -> u32 {
    buffer.iter().map(|byte| u32::from(*byte)).sum()
}

/// The buffer is gone before it waits.
pub async fn sums_before() -> u32 {
    let sum = {
        let buffer = [1; BUFFER_BYTES];
        sum(&buffer)
    };
    yield_now().await;
    sum
}

/// The buffer lives across the `.await`, so it is a field of the future.
pub async fn sums_after() -> u32 {
    let buffer = [1; BUFFER_BYTES];
    yield_now().await;
    sum(&buffer)
}

/// Whoever awaits it has all of it as a field.
pub async fn awaits_it() -> u32 {
    sums_after().await
}

/// It takes two of them as arguments, and waits for both at once.
pub async fn awaits_two_at_once() -> u32 {
    let (one, other) = arc::join!(sums_after(), sums_after());
    one + other
}

/// The buffer is on the heap, and what is left here is an address.
pub async fn awaits_a_box() -> u32 {
    Box::pin(sums_after()).await
}

/// A vector is three words, whatever is in it.
pub async fn sums_a_vector() -> u32 {
    let buffer = vec![1; BUFFER_BYTES];
    yield_now().await;
    sum(&buffer)
}

/// The names of these functions, and how many bytes their futures have.
pub fn sizes() -> [(&'static str, usize); 6] {
    [
        ("sums_before", size_of_val(&sums_before())),
        ("sums_after", size_of_val(&sums_after())),
        ("awaits_it", size_of_val(&awaits_it())),
        ("awaits_two_at_once", size_of_val(&awaits_two_at_once())),
        ("awaits_a_box", size_of_val(&awaits_a_box())),
        ("sums_a_vector", size_of_val(&sums_a_vector())),
    ]
}

/// Counts the polls of a future, which is on the heap. This type is `Unpin`, and needs no `unsafe`.
pub struct CountsBoxed<F> {
    future: Pin<Box<F>>,
    polls: usize,
}

impl<F: Future> Future for CountsBoxed<F> {
    type Output = (F::Output, usize);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.polls += 1;
        let polls = self.polls;
        self.future.as_mut().poll(context).map(|output| (output, polls))
    }
}

/// The same, for a future that may be moved between two polls.
pub struct CountsUnpin<F> {
    future: F,
    polls: usize,
}

impl<F: Future + Unpin> Future for CountsUnpin<F> {
    type Output = (F::Output, usize);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.polls += 1;
        let polls = self.polls;
        Pin::new(&mut self.future).poll(context).map(|output| (output, polls))
    }
}

pin_project! {
    /// The same, for any future: it is a field, and is pinned when this is.
    pub struct Counts<F> {
        #[pin]
        future: F,
        polls: usize,
    }
}

impl<F: Future> Future for Counts<F> {
    type Output = (F::Output, usize);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        *this.polls += 1;
        let polls = *this.polls;
        this.future.poll(context).map(|output| (output, polls))
    }
}

/// The three of them, around a future each.
pub fn boxed<F>(future: F) -> CountsBoxed<F> {
    CountsBoxed { future: Box::pin(future), polls: 0 }
}

/// See [`boxed`].
pub fn unpin<F>(future: F) -> CountsUnpin<F> {
    CountsUnpin { future, polls: 0 }
}

/// See [`boxed`].
pub fn counts<F>(future: F) -> Counts<F> {
    Counts { future, polls: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arc::task::LocalSet;
    use std::future::ready;

    #[test]
    fn future_has_what_lives_across_an_await() {
        let sizes = sizes().map(|(_, size)| size);
        let [before, after, awaits, two, boxed, vector] = sizes;
        assert!(before < 64 && boxed < 64 && vector < 128, "{sizes:?}");
        assert!((BUFFER_BYTES..BUFFER_BYTES + 64).contains(&after), "{sizes:?}");
        assert!(awaits >= after && awaits < after + 64, "{sizes:?}");
        assert!(two >= 2 * after, "{sizes:?}");
    }

    #[arc::test]
    async fn polls_are_counted() {
        assert_eq!(boxed(sums_before()).await, (4096, 2));
        assert_eq!(counts(sums_before()).await, (4096, 2));
        assert_eq!(unpin(ready(7)).await, (7, 1));
        assert_eq!(unpin(Box::pin(sums_after())).await, (4096, 2));
    }

    #[test]
    fn some_of_them_may_be_moved() {
        fn is_unpin(_: &impl Unpin) {}
        is_unpin(&boxed(sums_after()));
        is_unpin(&unpin(ready(1)));
        is_unpin(&counts(ready(1)));
    }

    #[test]
    fn large_future_can_be_spawned_here_and_anywhere() {
        let runtime = arc::runtime::Runtime::new().unwrap();
        assert_eq!(
            runtime.block_on(async { arc::spawn(awaits_two_at_once()).await }).unwrap(),
            8192
        );
        let local = LocalSet::new();
        let sum = local.run_until(async { arc::task::spawn_local(awaits_two_at_once()).await });
        assert_eq!(runtime.block_on(sum).unwrap(), 8192);
    }
}
