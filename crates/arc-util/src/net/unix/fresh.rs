//! What has just been made, and nobody else has an end of yet.

use arc::io::{AsSource, Async, Direction};
use std::io::{ErrorKind, Result};

/// Says of a new descriptor that nothing can be read yet.
///
/// What was just registered counts as ready otherwise, and the first read only finds that it is
/// not.
pub(super) fn has_nothing_yet<T: AsSource>(end: &Async<T>) {
    let nothing: Result<()> = Err(ErrorKind::WouldBlock.into());
    let _ = end.try_with(Direction::Read, |_| nothing);
}
