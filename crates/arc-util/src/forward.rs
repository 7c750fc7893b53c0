//! Implements readers and writers by what is inside of them.
//!
//! An invocation names the parameters, the type, and where in it (a pinned mutable reference) the
//! reader or the writer is.

/// Implements `AsyncRead`.
macro_rules! reads_by {
    ([$($params:tt)*] $type:ty $(where [$($bound:tt)*])?, |$this:ident| $inner:expr) => {
        impl<$($params)*> arc::io::AsyncRead for $type $(where $($bound)*)? {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffer: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                $inner.poll_read(context, buffer)
            }

            fn poll_read_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                $inner.poll_read_vectored(context, buffers)
            }
        }
    };
}

/// Implements `AsyncBufRead`.
macro_rules! buf_reads_by {
    ([$($params:tt)*] $type:ty, |$this:ident| $inner:expr) => {
        impl<$($params)*> arc::io::AsyncBufRead for $type {
            fn poll_fill_buf(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<&[u8]>> {
                let $this = self;
                $inner.poll_fill_buf(context)
            }

            fn consume(self: std::pin::Pin<&mut Self>, bytes: usize) {
                let $this = self;
                $inner.consume(bytes);
            }
        }
    };
}

/// Implements `AsyncWrite`.
macro_rules! writes_by {
    ([$($params:tt)*] $type:ty $(where [$($bound:tt)*])?, |$this:ident| $inner:expr) => {
        impl<$($params)*> arc::io::AsyncWrite for $type $(where $($bound)*)? {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                $inner.poll_write(context, bytes)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                parts: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                $inner.poll_write_vectored(context, parts)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let $this = self;
                $inner.poll_flush(context)
            }

            fn poll_close(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let $this = self;
                $inner.poll_close(context)
            }
        }
    };
}

pub(crate) use {buf_reads_by, reads_by, writes_by};
