//! What the timeline and the dump get to know of a channel.

use crate::sync::told::{Shared, Told, What};

/// What is told of a channel.
#[derive(Clone, Debug)]
pub(super) struct Tolds {
    /// A value for the receiver.
    pub(super) value: Shared,
    /// Room for a sender.
    pub(super) room: Shared,
    /// That the receiver is closed.
    pub(super) closed: Shared,
}

impl Tolds {
    #[track_caller]
    pub(super) fn new(buffer: usize) -> Self {
        let value = Told::shared(What::Value, buffer);
        let room = Told::shared(What::Room, buffer);
        Self { value, room, closed: Told::shared(What::Closed, 0) }
    }
}
