//! What a type may be used for without its saying so. To compile a call is the test.

use std::panic::{RefUnwindSafe, UnwindSafe};

pub fn send_and_sync<T: Send + Sync>() {}

pub fn everything<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}

/// Ambiguous, and so an error, for a type that is `Send`.
pub trait NotSend<Marker> {
    fn check() {}
}

impl<T: ?Sized> NotSend<()> for T {}

impl<T: ?Sized + Send> NotSend<u8> for T {}
