//! Code that all sockets of this crate share, as macros, and checks of numeric options.

use std::io::{Error, ErrorKind, Result};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Defines what a socket around one `Async` has: conversion from and to std, `Deref`, its
/// descriptor, `Debug`. A socket may have another field, which is made by `$more`.
macro_rules! wraps {
    ($type:ident, $inner:ty) => {
        crate::net::options::wraps!($type, $inner, arc::io::Async::new);
    };
    ($type:ident, $inner:ty, $new:path $(, $more:expr)?) => {
        impl $type {
            /// Registers a socket of std with the current runtime, and makes it non-blocking.
            ///
            /// # Errors
            ///
            /// Fails when the kernel cannot watch one more descriptor, and when the runtime has
            /// ended.
            ///
            /// # Panics
            ///
            /// Panics outside a runtime.
            #[track_caller]
            pub fn from_std(socket: $inner) -> std::io::Result<Self> {
                $new(socket).map(Self::from)
            }

            /// Deregisters the socket and returns it as std's. It stays non-blocking.
            ///
            /// # Errors
            ///
            /// Fails when the kernel no longer watches the socket, because other code has
            /// closed its descriptor.
            pub fn into_std(self) -> std::io::Result<$inner> {
                let socket = self.0.into_inner()?;
                socket2::SockRef::from(&socket).set_nonblocking(true)?;
                Ok(socket)
            }
        }

        /// As `from_std`.
        impl TryFrom<$inner> for $type {
            type Error = std::io::Error;

            #[track_caller]
            fn try_from(socket: $inner) -> std::io::Result<Self> {
                Self::from_std(socket)
            }
        }

        impl From<arc::io::Async<$inner>> for $type {
            fn from(socket: arc::io::Async<$inner>) -> Self {
                Self(socket $(, $more)?)
            }
        }

        impl From<$type> for arc::io::Async<$inner> {
            fn from(socket: $type) -> Self {
                socket.0
            }
        }

        impl std::ops::Deref for $type {
            type Target = arc::io::Async<$inner>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.get_ref().fmt(formatter)
            }
        }

        crate::net::options::has_descriptor!($type);
    };
}

/// Gives what is around something with a descriptor that descriptor.
macro_rules! has_descriptor {
    ($type:ident) => {
        #[cfg(unix)]
        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.0.as_fd()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsSocket for $type {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                self.0.as_socket()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsFd::as_fd(self).as_raw_fd()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsRawSocket for $type {
            fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
                std::os::windows::io::AsSocket::as_socket(self).as_raw_socket()
            }
        }
    };
}

/// Converts a socket that is not registered yet into its descriptor, and back.
macro_rules! is_descriptor {
    ($type:ident) => {
        /// The socket must be of the kind that this type is for, and must be neither connected nor
        /// listening.
        #[cfg(unix)]
        impl From<std::os::fd::OwnedFd> for $type {
            fn from(socket: std::os::fd::OwnedFd) -> Self {
                Self(socket.into())
            }
        }

        #[cfg(unix)]
        impl From<$type> for std::os::fd::OwnedFd {
            fn from(socket: $type) -> Self {
                socket.0.into()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::IntoRawFd for $type {
            fn into_raw_fd(self) -> std::os::fd::RawFd {
                self.0.into_raw_fd()
            }
        }
    };
}

/// Defines methods that call a method of the inner socket.
macro_rules! options {
    ($type:ty, |$this:ident| $inner:expr; $(
        $(#[$meta:meta])*
        fn $name:ident = $to:ident($($value:ident: $kind:ty),*) -> $output:ty;
    )*) => {
        /// Options. Errors are those of the system calls; see the system's manual on sockets.
        impl $type {$(
            $(#[$meta])*
            pub fn $name(&self $(, $value: $kind)*) -> std::io::Result<$output> {
                let $this = self;
                $inner.$to($($value),*)
            }
        )*}
    };
}

/// Defines the options that are of packets and devices, whatever the protocol.
macro_rules! packet_options {
    ($type:ty, |$this:ident| $inner:expr) => {
        crate::net::options::options! { $type, |$this| $inner;
            /// Returns the type of service of the packets that the socket sends (`IP_TOS`).
            #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
            fn tos_v4 = tos_v4() -> u32;
            /// Sets the type of service of the packets that the socket sends.
            #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
            fn set_tos_v4 = set_tos_v4(tos: u32) -> ();
            /// Does the same as `tos_v4`.
            #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
            fn tos = tos_v4() -> u32;
            /// Does the same as `set_tos_v4`.
            #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
            fn set_tos = set_tos_v4(tos: u32) -> ();
            /// Returns the traffic class of the packets that the socket sends by IPv6
            /// (`IPV6_TCLASS`).
            #[cfg(any(
                target_os = "android",
                target_os = "dragonfly",
                target_os = "freebsd",
                target_os = "fuchsia",
                target_os = "linux",
                target_os = "macos",
                target_os = "netbsd",
                target_os = "openbsd",
                target_os = "cygwin",
            ))]
            fn tclass_v6 = tclass_v6() -> u32;
            /// Sets the traffic class of the packets that the socket sends by IPv6.
            #[cfg(any(
                target_os = "android",
                target_os = "dragonfly",
                target_os = "freebsd",
                target_os = "fuchsia",
                target_os = "linux",
                target_os = "macos",
                target_os = "netbsd",
                target_os = "openbsd",
                target_os = "cygwin",
            ))]
            fn set_tclass_v6 = set_tclass_v6(tclass: u32) -> ();
            /// Returns the name of the device that the socket is bound to (`SO_BINDTODEVICE`).
            #[cfg(any(target_os = "linux", target_os = "android"))]
            fn device = device() -> Option<Vec<u8>>;
            /// Binds the socket to the device of a name: it sends and receives by that device
            /// alone. With `None` it is bound to none.
            #[cfg(any(target_os = "linux", target_os = "android"))]
            fn bind_device = bind_device(interface: Option<&[u8]>) -> ();
        }
    };
}

pub(crate) use {has_descriptor, is_descriptor, options, packet_options, wraps};

/// The longest time to linger that every system accepts: 18 hours.
const LINGER_SECONDS_MAX: u64 = u16::MAX as u64;

/// Rounds a time to linger up to whole seconds, as the system accepts no others. A time below
/// one second must not become zero, which would discard the unsent data.
pub(crate) fn whole_seconds(duration: Duration) -> Duration {
    let seconds = duration.as_secs().saturating_add((duration.subsec_nanos() > 0).into());
    Duration::from_secs(seconds.min(LINGER_SECONDS_MAX))
}

/// Returns `hops` if it is in the range. The system takes a signed number, and gives negative
/// numbers another meaning.
pub(crate) fn hops(hops: u32, range: RangeInclusive<u32>) -> Result<u32> {
    if range.contains(&hops) {
        return Ok(hops);
    }
    let what = format!("a time to live must be in {range:?}, not {hops}");
    Err(Error::new(ErrorKind::InvalidInput, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_linger_is_rounded_up_and_has_an_end() {
        let seconds = |duration| whole_seconds(duration).as_secs();
        assert_eq!(seconds(Duration::ZERO), 0);
        assert_eq!(seconds(Duration::from_nanos(1)), 1);
        assert_eq!(seconds(Duration::from_millis(1500)), 2);
        assert_eq!(seconds(Duration::from_secs(65_535)), 65_535);
        assert_eq!(seconds(Duration::from_secs(1 << 32)), 65_535);
        // Rounding up would overflow.
        assert_eq!(seconds(Duration::MAX), 65_535);
        assert_eq!(whole_seconds(Duration::from_millis(500)).subsec_nanos(), 0);
    }
}
