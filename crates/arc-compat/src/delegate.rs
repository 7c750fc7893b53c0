//! Forwards writes from one family of IO traits to another.
//!
//! The methods for writing are the same in every family, except for their names.

/// Implements the write trait of one family for a wrapper whose inner stream implements the
/// write trait of another family.
macro_rules! delegate_write {
    ($wrapper:ident<$theirs:path>: $trait:path, $close:ident = $their_close:ident
        $(, vectored: |$this:ident| $vectored:expr)?) => {
        impl<T: $theirs> $trait for $wrapper<T> {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffer: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.project().inner.poll_write(context, buffer)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffers: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.project().inner.poll_write_vectored(context, buffers)
            }

            $(
                fn is_write_vectored(&self) -> bool {
                    let $this = self;
                    $vectored
                }
            )?

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.project().inner.poll_flush(context)
            }

            fn $close(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.project().inner.$their_close(context)
            }
        }
    };
}

pub(crate) use delegate_write;
