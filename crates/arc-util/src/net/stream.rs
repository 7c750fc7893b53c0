//! What TCP and Unix streams have in common.

/// Defines the methods and the traits of a stream around one `Async`.
macro_rules! stream {
    ($type:ident, $inner:ty) => {
        /// As its halves have it: for code that takes any of them.
        impl AsRef<$type> for $type {
            fn as_ref(&self) -> &$type {
                self
            }
        }

        /// Reading and writing without waiting.
        ///
        /// # Errors
        ///
        /// `WouldBlock` when it would have to wait: when there is no data, or no room. Otherwise
        /// the errors are those of the system call. All fail when the runtime has ended.
        impl $type {
            /// Reads available data without waiting.
            pub fn try_read(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
                self.0.try_with(arc::io::Direction::Read, |mut it| it.read(buffer))
            }

            /// Reads available data to the end of a buffer, without waiting.
            ///
            /// It reads into memory of its own first, and at most 8 KiB.
            pub fn try_read_buf<B: bytes::BufMut>(&self, buffer: &mut B) -> std::io::Result<usize> {
                use crate::net::buffers::{READ_MAX, append};
                let read = append(buffer, READ_MAX, |bytes| Ok((self.try_read(bytes)?, ())));
                read.map(|(length, ())| length)
            }

            /// Reads available data into several buffers, without waiting.
            pub fn try_read_vectored(
                &self,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                self.0.try_with(arc::io::Direction::Read, |mut it| it.read_vectored(buffers))
            }

            /// Writes as much as there is room for, without waiting.
            pub fn try_write(&self, buffer: &[u8]) -> std::io::Result<usize> {
                self.0.try_with(arc::io::Direction::Write, |mut it| it.write(buffer))
            }

            /// Writes from several buffers as much as there is room for, without waiting.
            pub fn try_write_vectored(
                &self,
                buffers: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                self.0.try_with(arc::io::Direction::Write, |mut it| it.write_vectored(buffers))
            }
        }

        crate::net::ready::readiness!($type);

        // Closing it shuts down the sending direction.
        crate::forward::reads_by! { [] $type, |this| std::pin::Pin::new(&mut &this.0) }
        crate::forward::reads_by! { [] &$type, |this| std::pin::Pin::new(&mut &this.0) }
        crate::forward::writes_by! { [] $type, |this| std::pin::Pin::new(&mut &this.0) }
        crate::forward::writes_by! { [] &$type, |this| std::pin::Pin::new(&mut &this.0) }
    };
}

pub(super) use stream;
