//! What to wait for, and what a socket is ready for.

use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

/// What to wait for: that a socket can be read, that it can be written, or either.
///
/// # Examples
///
/// See [`ReadyExt`](super::ReadyExt).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(Ready);

impl Interest {
    /// Wait until the socket can be read.
    pub const READABLE: Self = Self(Ready::READABLE);
    /// Wait until the socket can be written.
    pub const WRITABLE: Self = Self(Ready::WRITABLE);
    /// Wait until the socket has an error, such as one in the queue of its errors.
    #[cfg(unix)]
    pub const ERROR: Self = Self(Ready::ERROR);
    /// Wait until the socket has urgent data, or the descriptor another exceptional condition, as
    /// one of sysfs has when its value changes.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Self = Self(Ready::PRIORITY);

    /// Returns whether reading is part of it.
    pub const fn is_readable(self) -> bool {
        self.0.has(Ready::READABLE)
    }

    /// Returns whether writing is part of it.
    pub const fn is_writable(self) -> bool {
        self.0.has(Ready::WRITABLE)
    }

    /// Returns whether errors are part of it.
    pub const fn is_error(self) -> bool {
        self.0.has(Ready::ERROR)
    }

    /// Returns whether urgent data are part of it.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const fn is_priority(self) -> bool {
        self.0.has(Ready::PRIORITY)
    }

    /// Returns both interests as one, like the operator `|`.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "tokio's name for it")]
    pub const fn add(self, other: Self) -> Self {
        Self(Ready(self.0.0 | other.0.0))
    }

    /// Returns the interest without the other one, or `None` if nothing is left.
    #[must_use]
    pub fn remove(self, other: Self) -> Option<Self> {
        let left = self.0 - other.0;
        (!left.is_empty()).then_some(Self(left))
    }

    /// Returns what the kernel does not report to the runtime: errors and urgent data.
    #[cfg(unix)]
    pub(super) fn others(self) -> Ready {
        self.0 & (Ready::ERROR | Ready::PRIORITY)
    }
}

impl BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.add(other)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// What a socket is ready for. An error or the end of the stream makes it ready for reading and
/// writing, too: the next attempt to read or to write tells.
///
/// # Examples
///
/// See [`ReadyExt`](super::ReadyExt).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ready(u8);

impl Ready {
    /// Ready for nothing.
    pub const EMPTY: Self = Self(0);
    /// Ready to be read.
    pub const READABLE: Self = Self(1);
    /// Ready to be written.
    pub const WRITABLE: Self = Self(1 << 1);
    /// The peer sends no more.
    pub const READ_CLOSED: Self = Self(1 << 2);
    /// Nothing can be sent any more.
    pub const WRITE_CLOSED: Self = Self(1 << 3);
    /// There is an error.
    pub const ERROR: Self = Self(1 << 4);
    /// There are urgent data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Self = Self(1 << 5);
    #[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
    pub(super) const PRIORITY: Self = Self(1 << 5);
    /// Ready for everything.
    pub const ALL: Self = Self((1 << 6) - 1);

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether the socket is ready for nothing.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Returns whether the socket can be read. One that is closed can be: a read tells that.
    pub fn is_readable(self) -> bool {
        self.has(Self::READABLE | Self::READ_CLOSED)
    }

    /// Returns whether the socket can be written. One that is closed can be: a write tells that.
    pub fn is_writable(self) -> bool {
        self.has(Self::WRITABLE | Self::WRITE_CLOSED)
    }

    /// Returns whether the peer sends no more. What it has sent may still be there to be read. On
    /// Windows, this is not known.
    pub fn is_read_closed(self) -> bool {
        self.has(Self::READ_CLOSED)
    }

    /// Returns whether nothing can be sent any more. On Windows, this is not known.
    pub fn is_write_closed(self) -> bool {
        self.has(Self::WRITE_CLOSED)
    }

    /// Returns whether there is an error. It is known only if it was waited for.
    pub fn is_error(self) -> bool {
        self.has(Self::ERROR)
    }

    /// Returns whether there are urgent data. It is known only if they were waited for.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn is_priority(self) -> bool {
        self.has(Self::PRIORITY)
    }
}

impl BitOr for Ready {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl BitAnd for Ready {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for Ready {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}
