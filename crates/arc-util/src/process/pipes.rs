//! The pipes between a process and its parent.

#[cfg(unix)]
use super::unix::{Input, Output};
#[cfg(windows)]
use super::windows::{Input, Output};
use crate::forward::{reads_by, writes_by};
use std::io::{Error, Result};
#[cfg(windows)]
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::pin::Pin;
use std::process::Stdio;

/// The pipe that a process reads as its standard input.
///
/// The process reads the end of its input when this is dropped. Shutting it down does nothing, as on
/// tokio.
///
/// On Windows pipes are read and written by jobs, as a [`File`](crate::fs::File) is. There an error
/// of a write is returned by the next one, or by `flush`.
///
/// # Errors
///
/// A write fails with `BrokenPipe` when the process has ended, or has closed its input.
///
/// # Examples
///
/// See [the module](super#examples).
#[derive(Debug)]
pub struct ChildStdin(Input);

/// The pipe to which a process writes its standard output.
///
/// Reading it gives the end when all have ended, or have closed it, that have the other end: the
/// process, and what it has started itself.
///
/// # Examples
///
/// See [`Child`](super::Child).
#[derive(Debug)]
pub struct ChildStdout(Output);

/// The pipe to which a process writes its standard error. As [`ChildStdout`] in all else.
#[derive(Debug)]
pub struct ChildStderr(Output);

/// Defines what all pipes have.
macro_rules! pipe {
    ($($type:ident, $inner:ident;)*) => {$(
        impl $type {
            /// Makes a pipe of std's asynchronous.
            ///
            /// # Errors
            ///
            /// Fails when the system has no room for another descriptor, and when the runtime has
            /// ended.
            ///
            /// # Panics
            ///
            /// Panics outside a runtime.
            #[track_caller]
            pub fn from_std(pipe: std::process::$type) -> Result<Self> {
                $inner::of_child(pipe).map(Self)
            }

            /// Returns the descriptor, which blocks from now on.
            ///
            /// # Errors
            ///
            /// Fails when other code has closed the descriptor.
            #[cfg(unix)]
            pub fn into_owned_fd(self) -> Result<std::os::fd::OwnedFd> {
                self.0.into_blocking_fd()
            }

            /// Returns the handle.
            ///
            /// # Errors
            ///
            /// Fails when the system has no room for another handle.
            #[cfg(windows)]
            pub fn into_owned_handle(self) -> Result<std::os::windows::io::OwnedHandle> {
                self.0.as_handle().try_clone_to_owned()
            }
        }

        /// For the standard stream of another process, as in `a | b`.
        impl TryFrom<$type> for Stdio {
            type Error = Error;

            fn try_from(pipe: $type) -> Result<Self> {
                #[cfg(unix)]
                let end = pipe.into_owned_fd()?;
                #[cfg(windows)]
                let end = pipe.into_owned_handle()?;
                Ok(end.into())
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.0.as_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsFd::as_fd(self).as_raw_fd()
            }
        }

        #[cfg(windows)]
        impl AsHandle for $type {
            fn as_handle(&self) -> std::os::windows::io::BorrowedHandle<'_> {
                self.0.as_handle()
            }
        }

        #[cfg(windows)]
        impl AsRawHandle for $type {
            fn as_raw_handle(&self) -> std::os::windows::io::RawHandle {
                self.0.as_raw_handle()
            }
        }
    )*};
}

pipe! {
    ChildStdin, Input;
    ChildStdout, Output;
    ChildStderr, Output;
}

writes_by! { [] ChildStdin, |this| Pin::new(&mut this.get_mut().0) }

reads_by! { [] ChildStdout, |this| Pin::new(&mut this.get_mut().0) }
reads_by! { [] ChildStderr, |this| Pin::new(&mut this.get_mut().0) }
