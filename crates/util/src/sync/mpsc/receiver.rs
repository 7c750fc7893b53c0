//! The receiving ends of channels.

use super::channel::{Outlet, Wait};
use super::error::TryRecvError;
use crate::sync::blocking::{block_on, may_block};
use futures_util::Stream;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The receiving end of a [`channel`](super::channel()). Dropping it closes the channel and drops
/// the values in it.
pub struct Receiver<T>(pub(super) Outlet<T>);

impl<T> Receiver<T> {
    /// Returns the number of places that are free now.
    pub fn capacity(&self) -> usize {
        self.0.channel.places.available_permits()
    }

    /// Returns the number of places in the channel, free or not.
    pub fn max_capacity(&self) -> usize {
        self.0.channel.max_capacity
    }
}

/// The receiving end of an [`unbounded_channel`](super::unbounded_channel). Dropping it closes
/// the channel and drops the values in it.
pub struct UnboundedReceiver<T>(pub(super) Outlet<T>);

/// Defines what both kinds of receivers have.
macro_rules! receiver {
    ($name:ident, $create:literal, $send:literal) => {
        /// Methods that both kinds of channels have.
        impl<T> $name<T> {
            /// Waits for the next value.
            ///
            /// Returns `None` when the channel is empty and no more values can be sent, because
            /// all senders were dropped or the receiver was [closed](Self::close).
            ///
            /// # Cancellation
            ///
            /// Cancel safe: no value is lost.
            #[inline]
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> + use<'_, T> {
                Wait::new(&mut self.0, Outlet::poll_pop)
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
                let poll = |outlet: &mut Outlet<T>, context: &mut Context<'_>| {
                    outlet.poll_pop_many(context, values, limit)
                };
                Wait::new(&mut self.0, poll).await
            }

            /// Polls for values, for futures written by hand. See
            /// [`recv_many`](Self::recv_many). Only the task that polled last is woken.
            pub fn poll_recv_many(
                &mut self,
                context: &mut Context<'_>,
                values: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                self.0.poll_pop_many(context, values, limit)
            }

            /// Polls for the next value, for futures written by hand. See
            /// [`recv`](Self::recv). Only the task that polled last is woken.
            pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
                self.0.poll_pop(context)
            }

            /// Receives the next value without waiting.
            ///
            /// # Errors
            ///
            /// Fails when the channel is empty. The error says whether a value may still come.
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.0.try_pop()
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

            /// Does the same as [`recv_many`](Self::recv_many), on a thread that may block, such
            /// as one of [`spawn_blocking`](arc::task::spawn_blocking).
            ///
            /// # Panics
            ///
            /// Panics inside a task or `block_on`: it would block a thread that polls futures.
            #[track_caller]
            pub fn blocking_recv_many(&mut self, values: &mut Vec<T>, limit: usize) -> usize {
                may_block("blocking_recv_many");
                block_on(self.recv_many(values, limit))
            }

            /// Closes the channel: no more values can be sent, except by permits that are out.
            /// Values that were sent can still be received.
            pub fn close(&mut self) {
                self.0.close();
            }

            /// Returns whether the channel was [closed](Self::close), or all senders were dropped.
            pub fn is_closed(&self) -> bool {
                self.0.is_closed()
            }

            /// Returns the number of senders that keep the channel open.
            pub fn sender_strong_count(&self) -> usize {
                self.0.channel.senders()
            }

            /// Returns the number of senders that do not keep the channel open.
            pub fn sender_weak_count(&self) -> usize {
                Arc::weak_count(&self.0.channel)
            }

            /// Returns the number of values in the channel.
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// Returns whether there are no values in the channel.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
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
                self.0.size_hint()
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($name))
            }
        }
    };
}

receiver!(Receiver, "channel(3)", "send(number).await.unwrap()");
receiver!(UnboundedReceiver, "unbounded_channel()", "send(number).unwrap()");
