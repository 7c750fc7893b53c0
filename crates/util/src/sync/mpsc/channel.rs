//! What the ends of a channel share, and how values come from one end to the other.
//!
//! Senders push values into a queue behind a lock. The receiver takes all of them at once: it
//! exchanges the queue for an empty one, and receives the values from this batch without a lock.
//! Wakers, and the drops of values, are foreign code: they are cloned, woken and dropped without
//! the lock.

use super::error::TryRecvError;
use crate::sync::told::{Told, What};
use crate::sync::{Notify, Semaphore};
use crate::wake::{discard, wake_all};
use arc::task::consume_budget;
use pin_project_lite::pin_project;
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

/// The capacity, in values, that an empty queue keeps at most. The rest of its memory is freed.
const KEPT_CAPACITY: usize = 256;

/// What the senders and the receiver of a channel share.
pub(super) struct Channel<T> {
    state: Mutex<State<T>>,
    /// Notified when the receiver is closed.
    closed: Notify,
    /// The free places of a bounded channel: a sender takes a permit for each value, and the
    /// receiver gives it back. An unbounded channel has none and needs none.
    pub(super) places: Semaphore,
    /// The number of places, free or not.
    pub(super) max_capacity: usize,
    /// What is told of the values.
    told: Told,
}

struct State<T> {
    /// The values that were sent since the receiver last took a batch.
    values: VecDeque<T>,
    senders: usize,
    /// The places that are held by permits. Their values may be sent after the receiver is closed.
    reserved: usize,
    receiver: Receiving,
    /// The receiver's waker, while it waits for a value.
    waker: Option<Waker>,
}

/// What became of the receiver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Receiving {
    Open,
    Closed,
    Dropped,
}

impl<T> State<T> {
    /// Returns whether no more values can be sent, not even with a permit.
    fn is_over(&self) -> bool {
        self.senders == 0 || (self.receiver != Receiving::Open && self.reserved == 0)
    }

    /// Moves all values into a batch, which is empty.
    fn fill(&mut self, batch: &mut VecDeque<T>) -> Result<(), TryRecvError> {
        if !self.values.is_empty() {
            mem::swap(&mut self.values, batch);
            Ok(())
        } else if self.is_over() {
            Err(TryRecvError::Disconnected)
        } else {
            Err(TryRecvError::Empty)
        }
    }
}

impl<T> Channel<T> {
    /// Creates an empty channel with one sender.
    #[track_caller]
    pub(super) fn new(max_capacity: usize) -> Arc<Self> {
        let state = State {
            values: VecDeque::new(),
            senders: 1,
            reserved: 0,
            receiver: Receiving::Open,
            waker: None,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            closed: Notify::told(Told::new(What::Closed)),
            places: Semaphore::told(max_capacity, Told::new(What::Room)),
            max_capacity,
            told: Told::new(What::Value),
        })
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a value, unless the receiver is closed.
    #[inline]
    pub(super) fn push(&self, value: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.receiver != Receiving::Open {
            return Err(value);
        }

        state.values.push_back(value);
        self.told.sends();
        // A bounded channel has as much room as was asked for.
        if self.max_capacity == 0 {
            self.told.piles(state.values.len(), || state.values.len());
        }
        let waker = state.waker.take();
        drop(state);
        if waker.is_some() {
            wake_all(waker);
        }
        Ok(())
    }

    /// Sends a value to a place of a bounded channel, and gives the place back if that fails.
    #[inline]
    pub(super) fn push_to_place(&self, value: T) -> Result<(), T> {
        let pushed = self.push(value);
        if pushed.is_err() {
            self.places.give_back(1);
        }
        pushed
    }

    /// Turns places into reserved ones. Gives them back and returns false if the receiver is
    /// closed.
    pub(super) fn reserve(&self, count: usize) -> bool {
        let mut state = self.lock();
        let is_open = state.receiver == Receiving::Open;
        if is_open {
            state.reserved += count;
        }
        drop(state);

        if !is_open {
            self.places.give_back(count);
        }
        is_open
    }

    /// Sends a value to a reserved place, even if the receiver is closed.
    pub(super) fn push_reserved(&self, value: T) {
        let mut state = self.lock();
        state.reserved -= 1;
        if state.receiver == Receiving::Dropped {
            // The value, which nobody will receive, is foreign code when it is dropped.
            drop(state);
            drop(value);
            return;
        }

        state.values.push_back(value);
        self.told.sends();
        let waker = state.waker.take();
        drop(state);
        wake_all(waker);
    }

    /// Gives reserved places back.
    pub(super) fn release_reserved(&self, count: usize) {
        let mut state = self.lock();
        state.reserved -= count;
        // They may have been the last ones for which a closed receiver waited.
        let waker = if state.is_over() { state.waker.take() } else { None };
        drop(state);
        self.places.give_back(count);
        wake_all(waker);
    }

    fn close(&self, receiver: Receiving) {
        self.lock().receiver = receiver;
        self.closed.notify_waiters();
        self.places.close();
    }

    /// Waits until the receiver is closed.
    pub(super) async fn closed(&self) {
        // Made before the check, so that a `close` after the check is not missed.
        let closed = self.closed.notified();
        if !self.is_closed() {
            closed.await;
        }
    }

    /// Returns whether the receiver is closed or dropped.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().receiver != Receiving::Open
    }

    pub(super) fn senders(&self) -> usize {
        self.lock().senders
    }

    pub(super) fn add_sender(&self) {
        self.lock().senders += 1;
    }

    /// Adds a sender if there is one. Returns whether there is.
    pub(super) fn try_add_sender(&self) -> bool {
        let mut state = self.lock();
        let is_there = state.senders > 0;
        state.senders += usize::from(is_there);
        is_there
    }

    pub(super) fn remove_sender(&self) {
        let mut state = self.lock();
        state.senders -= 1;
        let waker = if state.senders == 0 { state.waker.take() } else { None };
        drop(state);
        wake_all(waker);
    }

    fn forget_waker(&self) {
        let waker = self.lock().waker.take();
        discard(waker);
    }

    /// Waits until there are values, and moves them into a batch, which is empty. It stays empty
    /// if no more values can be sent.
    #[inline]
    fn poll_fill(&self, batch: &mut VecDeque<T>, context: &Context<'_>) -> Poll<()> {
        let filled = self.lock().fill(batch);
        match filled {
            Ok(()) | Err(TryRecvError::Disconnected) => Poll::Ready(()),
            Err(TryRecvError::Empty) => self.poll_fill_later(batch, context),
        }
    }

    fn poll_fill_later(&self, batch: &mut VecDeque<T>, context: &Context<'_>) -> Poll<()> {
        // Cloned without the lock, so the state must be looked at again. Declared before the
        // lock, a waker that is not needed is dropped after it is released.
        let mut waker = Some(context.waker().clone());
        let mut state = self.lock();
        if state.fill(batch) != Err(TryRecvError::Empty) {
            return Poll::Ready(());
        }
        mem::swap(&mut state.waker, &mut waker);
        self.told.waits();
        Poll::Pending
    }
}

/// The receiver's side of a channel.
pub(super) struct Outlet<T> {
    pub(super) channel: Arc<Channel<T>>,
    /// The values that come next. The mutex is never locked while the batch changes: it is there
    /// so that threads may share a receiver of values that they may not share.
    batch: Mutex<VecDeque<T>>,
}

impl<T> Outlet<T> {
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Self { channel, batch: Mutex::new(VecDeque::new()) }
    }

    /// Polls for a value, and frees its place. `None` if no more values can be sent.
    #[inline]
    pub(super) fn poll_pop(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let batch = ready!(self.poll_batch(context));
        let value = batch.pop_front();
        self.free(usize::from(value.is_some()));
        Poll::Ready(value)
    }

    /// Moves at most so many values to the end of `values`, as soon as there are some, and frees
    /// their places. Returns how many, which is 0 if no more values can be sent.
    pub(super) fn poll_pop_many(
        &mut self,
        context: &mut Context<'_>,
        values: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        if limit == 0 {
            return Poll::Ready(0);
        }

        ready!(self.poll_batch(context));
        let mut count = 0;
        loop {
            let batch = self.batch();
            let part = batch.len().min(limit - count);
            values.extend(batch.drain(..part));
            count += part;
            // Values may have been sent since the batch was taken.
            if count == limit || self.fill().is_err() {
                self.free(count);
                return Poll::Ready(count);
            }
        }
    }

    /// Takes a value without waiting, and frees its place.
    pub(super) fn try_pop(&mut self) -> Result<T, TryRecvError> {
        if self.batch().is_empty() {
            self.fill()?;
        }
        let value = self.batch().pop_front().ok_or(TryRecvError::Empty)?;
        self.free(1);
        Ok(value)
    }

    /// Polls until there is a value in the batch, or no more values can be sent. Takes part in
    /// the budget.
    ///
    /// Only the receiver takes values out: what is ready stays ready.
    #[inline]
    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<&mut VecDeque<T>> {
        let batch = get_mut(&mut self.batch);
        if batch.is_empty() {
            shrink(batch);
            ready!(self.channel.poll_fill(batch, context));
        }
        ready!(pin!(consume_budget()).poll(context));
        Poll::Ready(batch)
    }

    /// Takes a batch, after the last one was used up.
    fn fill(&mut self) -> Result<(), TryRecvError> {
        let batch = get_mut(&mut self.batch);
        shrink(batch);
        self.channel.lock().fill(batch)
    }

    fn batch(&mut self) -> &mut VecDeque<T> {
        get_mut(&mut self.batch)
    }

    /// Frees the places of values that were taken out of the queue.
    #[inline]
    fn free(&self, count: usize) {
        self.channel.told.receives(count);
        if self.channel.max_capacity > 0 && count > 0 {
            self.channel.places.told.provides();
            self.channel.places.give_back(count);
        }
    }

    pub(super) fn close(&self) {
        self.channel.close(Receiving::Closed);
    }

    /// Returns whether the receiver is closed, or all senders are dropped.
    pub(super) fn is_closed(&self) -> bool {
        let state = self.channel.lock();
        state.receiver != Receiving::Open || state.senders == 0
    }

    pub(super) fn len(&self) -> usize {
        self.size_hint().0
    }

    /// Returns how many values can be received at least, and at most.
    pub(super) fn size_hint(&self) -> (usize, Option<usize>) {
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.channel.lock();
        let len = batch.len() + state.values.len();
        let most = if state.senders == 0 {
            Some(len)
        } else if state.receiver != Receiving::Open {
            // Those who hold places may still send.
            Some(len + state.reserved)
        } else {
            None
        };
        (len, most)
    }
}

/// Values are kept behind pointers: none of them is pinned.
impl<T> Unpin for Outlet<T> {}

impl<T> Drop for Outlet<T> {
    fn drop(&mut self) {
        self.channel.close(Receiving::Dropped);
        // Senders keep the queue alive: drop the waker and the values now, even if the drop of
        // one of them panics.
        self.channel.forget_waker();
        let batch = mem::take(self.batch());
        let values = mem::take(&mut self.channel.lock().values);
        self.channel.told.receives(batch.len() + values.len());
        batch.into_iter().chain(values).for_each(discard);
    }
}

pin_project! {
    /// Waits for what `poll` waits for. A wait that is dropped removes its waker, which may own a
    /// lot. As tokio's, it must be pinned.
    pub(super) struct Wait<'a, T, P> {
        outlet: &'a mut Outlet<T>,
        poll: P,
        is_waiting: bool,
        #[pin]
        pinned: PhantomPinned,
    }

    impl<T, P> PinnedDrop for Wait<'_, T, P> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            if this.is_waiting {
                this.outlet.channel.forget_waker();
            }
        }
    }
}

impl<'a, T, P> Wait<'a, T, P> {
    #[inline]
    pub(super) fn new(outlet: &'a mut Outlet<T>, poll: P) -> Self {
        Self { outlet, poll, is_waiting: false, pinned: PhantomPinned }
    }
}

impl<T, P, R> Future for Wait<'_, T, P>
where
    P: FnMut(&mut Outlet<T>, &mut Context<'_>) -> Poll<R>,
{
    type Output = R;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let this = self.project();
        let polled = (this.poll)(this.outlet, context);
        *this.is_waiting = polled.is_pending();
        polled
    }
}

#[inline]
fn get_mut<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the memory of many values back, once they are gone.
#[inline]
fn shrink<T>(batch: &mut VecDeque<T>) {
    if batch.capacity() > KEPT_CAPACITY {
        batch.shrink_to(KEPT_CAPACITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_values_took_is_given_back() {
        let channel = Channel::new(0);
        let mut outlet = Outlet::new(channel.clone());
        let capacity =
            |outlet: &mut Outlet<_>| outlet.batch().capacity() + channel.lock().values.capacity();
        for _ in 0..2 {
            (0..10_000).for_each(|number| channel.push(number).expect("it is open"));
            assert!(capacity(&mut outlet) >= 10_000);
            while outlet.try_pop().is_ok() {}
            assert!(capacity(&mut outlet) <= 2 * KEPT_CAPACITY);
        }
    }
}
