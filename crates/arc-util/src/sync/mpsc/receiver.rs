//! The receiving ends of channels.

use super::error::TryRecvError;
use super::tolds::Tolds;
use crate::sync::blocking::{block_on, may_block};
use crate::sync::wait::{poll_wait, wait};
use futures_util::Stream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc as tokio;

/// The receiving end of a [`channel`](super::channel()). Dropping it closes the channel and drops
/// the values in it.
pub struct Receiver<T> {
    pub(super) told: Tolds,
    pub(super) receiver: tokio::Receiver<T>,
}

/// The receiving end of an [`unbounded_channel`](super::unbounded_channel). Dropping it closes
/// the channel and drops the values in it.
pub struct UnboundedReceiver<T> {
    pub(super) told: Tolds,
    pub(super) receiver: tokio::UnboundedReceiver<T>,
}

impl<T> Receiver<T> {
    /// How many values come, at most: those that are there, and those for which a place is
    /// reserved.
    fn most(&self) -> Option<usize> {
        self.is_closed().then(|| self.max_capacity() - self.capacity())
    }
}

impl<T> UnboundedReceiver<T> {
    /// While there are senders, one may be about to send, also if the channel is closed.
    fn most(&self) -> Option<usize> {
        (self.sender_strong_count() == 0).then(|| self.len())
    }
}

/// Defines what both kinds of receivers have.
macro_rules! receiver {
    ($name:ident, $create:literal, $send:literal) => {
        impl<T> $name<T> {
            /// Tells that so many values came out, and so made room.
            fn took(&self, count: usize) {
                self.told.value.receives(count);
                self.told.room.provides();
            }

            /// Waits for the next value.
            ///
            /// Returns `None` when the channel is empty and no more values can be sent, because
            /// all senders were dropped or the receiver was closed.
            ///
            /// # Cancellation
            ///
            /// Cancel safe: no value is lost.
            pub async fn recv(&mut self) -> Option<T> {
                let value = wait(&self.told.value, self.receiver.recv()).await?;
                self.took(1);
                Some(value)
            }

            /// Waits for values, and adds them to the end of `values`: those that are there, but at
            /// most so many. Returns how many.
            ///
            /// Returns 0 when the channel is empty and no more values can be sent, and when
            /// `limit` is 0.
            ///
            /// # Cancellation
            ///
            /// Cancel safe: no value is lost.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[arc::main]
            /// # async fn main() {
            #[doc = concat!("let (sender, mut receiver) = arc_util::sync::mpsc::", $create, ";")]
            #[doc = concat!("for number in 1..=3 {\n    sender.", $send, ";\n}")]
            /// let mut numbers = Vec::new();
            /// assert_eq!(receiver.recv_many(&mut numbers, 2).await, 2);
            /// assert_eq!(receiver.recv_many(&mut numbers, 2).await, 1);
            /// assert_eq!(numbers, [1, 2, 3]);
            /// # }
            /// ```
            pub async fn recv_many(&mut self, values: &mut Vec<T>, limit: usize) -> usize {
                let count = wait(&self.told.value, self.receiver.recv_many(values, limit)).await;
                self.took(count);
                count
            }

            /// Polls for values, for futures written by hand. See
            /// [`recv_many`](Self::recv_many). Only the task that polled last is woken.
            pub fn poll_recv_many(
                &mut self,
                context: &mut Context<'_>,
                values: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                let poll = |context: &mut Context<'_>| {
                    self.receiver.poll_recv_many(context, values, limit)
                };
                let count = ready!(poll_wait(&self.told.value, context, poll));
                self.took(count);
                Poll::Ready(count)
            }

            /// Polls for the next value, for futures written by hand. See
            /// [`recv`](Self::recv). Only the task that polled last is woken.
            pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
                let poll = |context: &mut Context<'_>| self.receiver.poll_recv(context);
                let value = ready!(poll_wait(&self.told.value, context, poll));
                self.took(usize::from(value.is_some()));
                Poll::Ready(value)
            }

            /// Receives the next value without waiting.
            ///
            /// # Errors
            ///
            /// Fails when the channel is empty. The error says whether a value may still come.
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                let value = self.receiver.try_recv()?;
                self.took(1);
                Ok(value)
            }

            /// Does the same as [`recv`](Self::recv), on a thread that may block, such as one
            /// of [`spawn_blocking`](arc::task::spawn_blocking).
            ///
            /// # Panics
            ///
            /// Panics inside a task or `block_on`: it would block a thread that polls futures.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                may_block("blocking_recv");
                block_on(self.recv())
            }

            /// Does the same as [`recv_many`](Self::recv_many), on a thread that may block. See
            /// [`blocking_recv`](Self::blocking_recv).
            ///
            /// # Panics
            ///
            /// As `blocking_recv`.
            #[track_caller]
            pub fn blocking_recv_many(&mut self, values: &mut Vec<T>, limit: usize) -> usize {
                may_block("blocking_recv_many");
                block_on(self.recv_many(values, limit))
            }
        }

        /// The values, up to the last one: what tokio's programs have `ReceiverStream` of
        /// tokio-stream for.
        ///
        /// # Examples
        ///
        /// ```
        /// use futures_util::StreamExt;
        /// # #[arc::main]
        /// # async fn main() {
        #[doc = concat!("let (sender, receiver) = arc_util::sync::mpsc::", $create, ";")]
        #[doc = concat!("for number in 1..=3 {\n    sender.", $send, ";\n}")]
        /// drop(sender);
        /// let squares: Vec<i32> = receiver.map(|number| number * number).collect().await;
        /// assert_eq!(squares, [1, 4, 9]);
        /// # }
        /// ```
        impl<T> Stream for $name<T> {
            type Item = T;

            fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
                self.poll_recv(context)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.len(), self.most())
            }
        }

        #[cfg(feature = "trace")]
        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                // What is left is dropped: nobody is to take it for a pile.
                self.told.value.receives(self.len());
            }
        }

        tokios_own! { mut $name receiver }
    };
}

receiver!(Receiver, "channel(3)", "send(number).await.unwrap()");
receiver!(UnboundedReceiver, "unbounded_channel()", "send(number).unwrap()");
