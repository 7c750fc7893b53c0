//! What all sockets of this crate have, by macros; and the numbers that they refuse.

use std::io::{Error, ErrorKind, Result};
use std::ops::RangeInclusive;
use std::time::Duration;

/// What a socket with one `Async` inside has: the way to std and back, its `Deref`, its
/// descriptor, its `Debug`.
macro_rules! wraps {
    ($type:ident, $inner:ty) => {
        impl $type {
            /// Makes one of std's. It is made non-blocking.
            ///
            /// # Errors
            ///
            /// When the kernel has no room for another descriptor, or the runtime has
            /// ended.
            ///
            /// # Panics
            ///
            /// Outside a runtime.
            #[track_caller]
            pub fn from_std(socket: $inner) -> std::io::Result<Self> {
                arc::io::Async::new(socket).map(Self)
            }

            /// Gives std's, no longer registered. It stays non-blocking.
            ///
            /// # Errors
            ///
            /// When the kernel does not know it any more: somebody closed its
            /// descriptor behind our back.
            pub fn into_std(self) -> std::io::Result<$inner> {
                self.0.into_inner()
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
    };
}

/// Methods that only hand on to what is inside.
macro_rules! options {
    ($type:ty, |$this:ident| $inner:expr; $(
        $(#[$meta:meta])*
        fn $name:ident = $to:ident($($value:ident: $kind:ty),*) -> $output:ty;
    )*) => {
        /// Options. Errors are the system's; see the manual of its sockets.
        impl $type {$(
            $(#[$meta])*
            pub fn $name(&self $(, $value: $kind)*) -> std::io::Result<$output> {
                let $this = self;
                $inner.$to($($value),*)
            }
        )*}
    };
}

pub(crate) use {options, wraps};

/// 18 hours: the most that every system can be told.
const LINGER_SECONDS_MAX: u64 = u16::MAX as u64;

/// A time to linger, in whole seconds: the system is told no others. Less than a second
/// must not become zero, which throws away what was not sent.
pub(crate) fn whole_seconds(duration: Duration) -> Duration {
    let seconds = duration.as_secs().saturating_add((duration.subsec_nanos() > 0).into());
    Duration::from_secs(seconds.min(LINGER_SECONDS_MAX))
}

/// The hops if there can be as many. The system takes them as a signed number, of which
/// the negative ones mean something else.
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
        // One more second than there are.
        assert_eq!(seconds(Duration::MAX), 65_535);
        assert_eq!(whole_seconds(Duration::from_millis(500)).subsec_nanos(), 0);
    }
}
