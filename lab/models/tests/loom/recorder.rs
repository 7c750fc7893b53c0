//! The ring in which a thread keeps what it tells the timeline.

use crate::event::{Event, Record};
use crate::race;
use crate::ring::Ring;

/// The record of this number.
fn record(number: u64) -> Record {
    let event = Event::Step { task: 10 + number, number: 20 + number };
    Record { at: 30 + number, event }
}

fn push(ring: &Ring, number: u64) {
    let Record { at, event } = record(number);
    ring.push(at, event.to_words());
}

/// ring.rs: a thread reads the two slots of a ring while another one overwrites both. What it gets
/// is whole, and in order.
#[test]
fn reader_gets_whole_records() {
    race(
        || {
            let ring = Ring::new(1);
            (0..2).for_each(|number| push(&ring, number));
            ring
        },
        |ring| (2..4).for_each(|number| push(ring, number)),
        Ring::read,
        |_, (), (records, left_out)| {
            for (read, number) in records.iter().zip(left_out..) {
                assert_eq!(*read, record(number));
            }
        },
    );
}
