//! Waiting for a socket, and trying what one likes on it.

/// Gives a type around an `Async` the methods of [`ReadyExt`].
macro_rules! readiness {
    (@ $type:ty, $poll_read_ready:ident, $poll_write_ready:ident) => {
        /// Waiting until the socket is ready, and trying operations on it: as in
        /// [`ReadyExt`](crate::io::ReadyExt), which says what they return, their errors and their
        /// cancellation.
        impl $type {
            /// Waits until the socket is ready for a part of the interest.
            pub async fn ready(
                &self,
                interest: crate::io::Interest,
            ) -> std::io::Result<crate::io::Ready> {
                crate::io::ReadyExt::ready(&self.0, interest).await
            }

            /// Polls until a read is worth trying.
            pub fn $poll_read_ready(
                &self,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                crate::io::ReadyExt::poll_read_ready(&self.0, context)
            }

            /// Polls until a write is worth trying.
            pub fn $poll_write_ready(
                &self,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                crate::io::ReadyExt::poll_write_ready(&self.0, context)
            }
        }
    };
    ($type:ty, $poll_read_ready:ident, $poll_write_ready:ident) => {
        crate::net::ready::readiness!(@ $type, $poll_read_ready, $poll_write_ready);

        impl $type {
            /// Tries an operation on this socket once. See
            /// [`ReadyExt::try_io`](crate::io::ReadyExt::try_io).
            pub fn try_io<R>(
                &self,
                interest: crate::io::Interest,
                attempt: impl FnOnce() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                crate::io::ReadyExt::try_io(&self.0, interest, attempt)
            }

            /// Tries an operation on this socket until it does not return `WouldBlock`. See
            /// [`ReadyExt::async_io`](crate::io::ReadyExt::async_io).
            pub async fn async_io<R>(
                &self,
                interest: crate::io::Interest,
                attempt: impl FnMut() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                crate::io::ReadyExt::async_io(&self.0, interest, attempt).await
            }
        }
    };
    ($type:ty, pipe $direction:ident) => {
        crate::net::ready::readiness!(@ $type, poll_read_ready, poll_write_ready);

        impl $type {
            /// Tries an operation on this end once. See
            /// [`ReadyExt::try_io`](crate::io::ReadyExt::try_io).
            pub fn try_io<R>(
                &self,
                attempt: impl FnOnce() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                crate::io::ReadyExt::try_io(&self.0, crate::io::Interest::$direction, attempt)
            }
        }
    };
    ($type:ty) => {
        crate::net::ready::readiness!($type, poll_read_ready, poll_write_ready);
    };
}

pub(super) use readiness;
