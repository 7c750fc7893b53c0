//! What all sockets of this crate have, by macros.

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
