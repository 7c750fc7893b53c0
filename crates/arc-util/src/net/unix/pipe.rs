//! Unix pipes, anonymous ones and those that have a path (FIFOs).
//!
//! Both ends dereference to their [`Async`], which has `readable`, `writable` and so on.

use super::fresh::has_nothing_yet;
use crate::forward::{reads_by, writes_by};
use crate::kernel::would_block;
use crate::net::buffers::{READ_MAX, append};
use crate::net::options::has_descriptor;
use crate::net::ready::readiness;
use arc::io::{Async, Direction};
use rustix::event::PollFlags;
use rustix::fs::{OFlags, fcntl_getfl};
use socket2::SockRef;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, PipeReader, PipeWriter, Read, Result, Write};
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::pin::Pin;

/// Creates an anonymous pipe: what is written to the sender is read from the receiver.
///
/// # Errors
///
/// Fails when the process or the system has no descriptors left, and when the runtime has ended.
///
/// # Panics
///
/// Panics outside a runtime.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt};
/// use arc_util::net::unix::pipe;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (mut sender, mut receiver) = pipe::pipe()?;
/// sender.write_all(b"hello").await?;
/// drop(sender);
/// let mut text = String::new();
/// receiver.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn pipe() -> Result<(Sender, Receiver)> {
    let (reader, writer) = std::io::pipe()?;
    let (sender, receiver) = (Sender(Async::new(writer)?), Receiver(Async::new(reader)?));
    has_nothing_yet(&receiver.0);
    Ok((sender, receiver))
}

/// Says how to open a pipe that has a path.
///
/// # Examples
///
/// ```no_run
/// use arc_util::io::AsyncReadExt;
/// use arc_util::net::unix::pipe;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut receiver = pipe::OpenOptions::new().open_receiver("/run/commands")?;
/// let mut text = String::new();
/// receiver.read_to_string(&mut text).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    read_write: bool,
    is_unchecked: bool,
}

impl OpenOptions {
    /// Creates options that open one end, and check that the path is that of a pipe.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the end is opened for both reading and writing.
    ///
    /// A sender can then be opened before there is a receiver. A receiver then never sees the end
    /// of the stream, as it could write to itself. POSIX does not define this; Linux does.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn read_write(&mut self, value: bool) -> &mut Self {
        self.read_write = value;
        self
    }

    /// Sets whether anything else than a pipe is opened as well.
    pub fn unchecked(&mut self, value: bool) -> &mut Self {
        self.is_unchecked = value;
        self
    }

    /// Opens the receiving end of the pipe at a path. It does not wait for a sender.
    ///
    /// # Errors
    ///
    /// Those of opening a file. `InvalidInput` when the path is not that of a pipe.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn open_receiver(&self, path: impl AsRef<Path>) -> Result<Receiver> {
        let file = self.open(path.as_ref(), true, self.read_write)?;
        Receiver::from_file_unchecked(file)
    }

    /// Opens the sending end of the pipe at a path.
    ///
    /// # Errors
    ///
    /// Those of opening a file. Fails when there is no receiver (`ENXIO`), unless
    /// `read_write` is set. `InvalidInput` when the path is not that of a pipe.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn open_sender(&self, path: impl AsRef<Path>) -> Result<Sender> {
        let file = self.open(path.as_ref(), self.read_write, true)?;
        Sender::from_file_unchecked(file)
    }

    fn open(&self, path: &Path, read: bool, write: bool) -> Result<File> {
        let mut options = fs::OpenOptions::new();
        // Without this flag, opening waits for the other end.
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = options.read(read).write(write).open(path)?;
        if !self.is_unchecked {
            check_is_pipe(&file)?;
        }
        Ok(file)
    }
}

fn check_is_pipe(file: &File) -> Result<()> {
    match file.metadata()?.file_type().is_fifo() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is not a pipe")),
    }
}

/// Fails unless the descriptor was opened with one of two modes.
fn check_mode(file: &File, one: OFlags, other: OFlags) -> Result<()> {
    let mode = fcntl_getfl(file)? & OFlags::RWMODE;
    match mode == one || mode == other {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is the other end of a pipe")),
    }
}

/// Registers an end that may be that of a FIFO.
///
/// What was just registered counts as ready, and is tried at once. But a FIFO that no sender has
/// opened yet gives the end of the stream to a read, and only `poll(2)` tells it from one whose
/// senders are gone. So the kernel is asked by that.
#[track_caller]
fn register<T: AsFd>(end: T) -> Result<Async<T>> {
    let end = Async::new(end)?;
    let _ = end.try_with(Direction::Read, |end| would_block(end, PollFlags::IN));
    Ok(end)
}

/// Defines what both ends have.
macro_rules! end {
    ($type:ident, $inner:ty, $mode:ident, $direction:ident, $what:literal) => {
        impl $type {
            #[doc = concat!("Makes a file the ", $what, " end of a pipe.")]
            ///
            /// # Errors
            ///
            /// `InvalidInput` when the file is not this end of a pipe. Fails when the runtime has
            /// ended.
            ///
            /// # Panics
            ///
            /// Panics outside a runtime.
            #[track_caller]
            pub fn from_file(file: File) -> Result<Self> {
                check_is_pipe(&file)?;
                check_mode(&file, OFlags::$mode, OFlags::RDWR)?;
                Self::from_file_unchecked(file)
            }

            /// Makes a descriptor this end of a pipe. See [`from_file`](Self::from_file).
            ///
            /// # Errors
            ///
            /// As `from_file`.
            ///
            /// # Panics
            ///
            /// Panics outside a runtime.
            #[track_caller]
            pub fn from_owned_fd(descriptor: OwnedFd) -> Result<Self> {
                Self::from_file(descriptor.into())
            }

            /// Makes a file this end of a pipe, whatever it is.
            ///
            /// # Errors
            ///
            /// Fails when the kernel cannot report the file's readiness, and when the runtime has
            /// ended.
            ///
            /// # Panics
            ///
            /// Panics outside a runtime.
            #[track_caller]
            pub fn from_file_unchecked(file: File) -> Result<Self> {
                register(<$inner>::from(OwnedFd::from(file))).map(Self)
            }

            /// Makes a descriptor this end of a pipe, whatever it is. See
            /// [`from_file_unchecked`](Self::from_file_unchecked).
            ///
            /// # Errors
            ///
            /// As `from_file_unchecked`.
            ///
            /// # Panics
            ///
            /// Panics outside a runtime.
            #[track_caller]
            pub fn from_owned_fd_unchecked(descriptor: OwnedFd) -> Result<Self> {
                Self::from_file_unchecked(descriptor.into())
            }

            /// Makes a pipe of a child process asynchronous.
            #[track_caller]
            pub(crate) fn of_child(pipe: impl Into<OwnedFd>) -> Result<Self> {
                Self::from_file_unchecked(pipe.into().into())
            }

            /// Deregisters the pipe and returns its descriptor, which stays non-blocking.
            ///
            /// # Errors
            ///
            /// Fails when other code has closed the descriptor.
            pub fn into_nonblocking_fd(self) -> Result<OwnedFd> {
                let descriptor = OwnedFd::from(self.0.into_inner()?);
                SockRef::from(&descriptor).set_nonblocking(true)?;
                Ok(descriptor)
            }

            /// Deregisters the pipe and returns its descriptor, which blocks from now on.
            ///
            /// # Errors
            ///
            /// Fails when other code has closed the descriptor.
            pub fn into_blocking_fd(self) -> Result<OwnedFd> {
                let descriptor = OwnedFd::from(self.0.into_inner()?);
                SockRef::from(&descriptor).set_nonblocking(false)?;
                Ok(descriptor)
            }
        }

        readiness!($type, pipe $direction);

        impl Deref for $type {
            type Target = Async<$inner>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        has_descriptor!($type);
    };
}

/// The sending end of a pipe; made by [`pipe()`] or [`OpenOptions`].
///
/// The stream ends when all senders are dropped. Closing a sender does not end it.
///
/// # Examples
///
/// See [`pipe()`].
#[derive(Debug)]
pub struct Sender(Async<PipeWriter>);

end!(Sender, PipeWriter, WRONLY, WRITABLE, "sending");

impl Sender {
    /// Writes as many bytes as fit without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when the pipe is full, and `BrokenPipe` when there is no receiver.
    pub fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        self.0.try_with(Direction::Write, |mut pipe| pipe.write(bytes))
    }

    /// Writes from several buffers as much as fits without waiting.
    ///
    /// # Errors
    ///
    /// As [`try_write`](Self::try_write).
    pub fn try_write_vectored(&self, parts: &[IoSlice<'_>]) -> Result<usize> {
        self.0.try_with(Direction::Write, |mut pipe| pipe.write_vectored(parts))
    }
}

writes_by! { [] Sender, |this| Pin::new(&mut &this.0) }

/// The receiving end of a pipe; made by [`pipe()`] or [`OpenOptions`].
///
/// # Examples
///
/// See [`pipe()`].
#[derive(Debug)]
pub struct Receiver(Async<PipeReader>);

end!(Receiver, PipeReader, RDONLY, READABLE, "receiving");

impl Receiver {
    /// Reads what is there without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when the pipe is empty.
    pub fn try_read(&self, buffer: &mut [u8]) -> Result<usize> {
        self.0.try_with(Direction::Read, |mut pipe| pipe.read(buffer))
    }

    /// Reads what is there into several buffers, without waiting.
    ///
    /// # Errors
    ///
    /// As [`try_read`](Self::try_read).
    pub fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        self.0.try_with(Direction::Read, |mut pipe| pipe.read_vectored(buffers))
    }

    /// Reads what is there to the end of a buffer, without waiting.
    ///
    /// It reads into memory of its own first, and at most 8 KiB.
    ///
    /// # Errors
    ///
    /// As [`try_read`](Self::try_read).
    pub fn try_read_buf<B: bytes::BufMut>(&self, buffer: &mut B) -> Result<usize> {
        append(buffer, READ_MAX, |bytes| Ok((self.try_read(bytes)?, ()))).map(|(length, ())| length)
    }
}

reads_by! { [] Receiver, |this| Pin::new(&mut &this.0) }
