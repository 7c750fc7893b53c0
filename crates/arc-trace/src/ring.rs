//! What a thread told last: a ring of records that one thread writes and any thread reads.
//!
//! The recorder must cost little, so the writer takes no lock and waits for nobody. It numbers its
//! records, and puts them into slots one after the other. When all slots are taken, the oldest
//! records are overwritten. So a reader may find the writer in the middle of a slot:
//!
//! ```text
//!   writer:  written = n ──► fence ──► words of the record n ──► written = n + 1
//!   reader:  ──► words of a slot ──► fence ──► written: which slots were overwritten meanwhile?
//! ```
//!
//! * *The reader finds a record that is not whole.* Every record below `written` is, since that
//!   was stored after its words.
//! * *The reader finds words of a later record, in the slot that it reads.* Then it finds, after
//!   the second fence, that `written` is at least the number of that later record, and drops what
//!   it has read.
//!
//! loom tries this in every order: `lab/models/tests/loom/recorder.rs`.

use crate::event::{Event, Record};
use crate::sync::{AtomicU64, OnceLock, Ordering, fence};

/// How many records a segment holds. A thread that tells little has one segment, of 6 KiB.
const SEGMENT: usize = if cfg!(arc_model) { 2 } else { 256 };

type Segment = Box<[[AtomicU64; 3]]>;

pub(crate) struct Ring {
    /// Made when they are needed. Their number is a power of two.
    segments: Box<[OnceLock<Segment>]>,
    /// How many records were written.
    written: AtomicU64,
    /// How many records are kept at least.
    pub(crate) limit: usize,
}

impl Ring {
    /// A ring that keeps at least the last `limit` records.
    pub(crate) fn new(limit: usize) -> Self {
        // One more than needed: while the writer is at the limit, one slot is being overwritten.
        let segments = (limit / SEGMENT + 1).next_power_of_two();
        let segments = (0..segments).map(|_| OnceLock::new()).collect();
        Self { segments, written: AtomicU64::new(0), limit }
    }

    fn slots(&self) -> u64 {
        (self.segments.len() * SEGMENT) as u64
    }

    /// Whether the next record is the first one of a segment.
    #[inline]
    pub(crate) fn is_at_segment(&self) -> bool {
        self.written.load(Ordering::Relaxed).is_multiple_of(SEGMENT as u64)
    }

    /// The segment of a record, and where it is in that.
    #[inline]
    fn place(&self, number: u64) -> (&OnceLock<Segment>, usize) {
        let slot = number as usize & (self.segments.len() * SEGMENT - 1);
        (&self.segments[slot / SEGMENT], slot % SEGMENT)
    }

    /// Writes a record, whose event is two words. Only one thread may do so.
    #[inline]
    pub(crate) fn push(&self, at: u64, [kind, id]: [u64; 2]) {
        // Only this thread changes it.
        let number = self.written.load(Ordering::Relaxed);
        let (segment, index) = self.place(number);
        let slot = &segment.get_or_init(new_segment)[index];

        // Pairs with the fence in `read`: who reads one of the words below finds there that
        // `written` is at least `number`.
        fence(Ordering::Release);
        slot[0].store(at, Ordering::Relaxed);
        slot[1].store(kind, Ordering::Relaxed);
        slot[2].store(id, Ordering::Relaxed);
        // Release pairs with the Acquire in `read`, which finds the words by it.
        self.written.store(number + 1, Ordering::Release);
    }

    /// The records that are left, the oldest first, and how many were written before them.
    pub(crate) fn read(&self) -> (Vec<Record>, u64) {
        // Acquire pairs with the Release in `push`: the words below this number are there.
        let end = self.written.load(Ordering::Acquire);
        let begin = end.saturating_sub(self.slots());
        let words: Vec<[u64; 3]> = (begin..end).map(|number| self.words(number)).collect();

        // Pairs with the fence in `push`. The record of this number is perhaps being written, in
        // the slot of one that has been read.
        fence(Ordering::Acquire);
        let next = self.written.load(Ordering::Relaxed);
        let whole = (next + 1).saturating_sub(self.slots()).clamp(begin, end);
        let words = &words[(whole - begin) as usize..];
        (words.iter().map(record).collect(), whole)
    }

    fn words(&self, number: u64) -> [u64; 3] {
        let (segment, index) = self.place(number);
        let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
        segment.get().map_or([0; 3], |slots| slots[index].each_ref().map(word))
    }
}

fn new_segment() -> Segment {
    (0..SEGMENT).map(|_| Default::default()).collect()
}

fn record(&[at, kind, id]: &[u64; 3]) -> Record {
    Record { at, event: Event::from_words([kind, id]) }
}

#[cfg(all(test, not(arc_model)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    fn push(ring: &Ring, number: u64) {
        let event = Event::Step { task: 3 * number, number: 5 * number };
        ring.push(number, event.to_words());
    }

    /// The records are whole, and none is missing between two of them.
    fn check((records, left_out): (Vec<Record>, u64)) -> u64 {
        let mut next = left_out;
        for record in &records {
            let event = Event::Step { task: 3 * next, number: 5 * next };
            assert_eq!(*record, Record { at: next, event });
            next += 1;
        }
        next
    }

    #[test]
    fn oldest_records_are_left_out() {
        let ring = Ring::new(SEGMENT);
        let slots = ring.slots();
        assert!(slots > SEGMENT as u64);

        // Two times around, and a reader after each record.
        for number in 0..3 * slots {
            assert_eq!(check(ring.read()), number);
            push(&ring, number);
        }

        // One slot is taken for the one that the writer may be in.
        assert_eq!(ring.read().1, 2 * slots + 1);
    }

    /// Ends the writer, also when an assertion fails.
    struct OnDrop<'a>(&'a AtomicBool);

    impl Drop for OnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// What the reader gets is whole and in order, whatever the writer overwrites meanwhile.
    #[test]
    fn reader_gets_whole_records_while_the_writer_goes_on() {
        let ring = Ring::new(1);
        let is_done = AtomicBool::new(false);
        let written = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut number = 0;
                while !is_done.load(Ordering::Relaxed) {
                    push(&ring, number);
                    number += 1;
                }
                number
            });

            let done = OnDrop(&is_done);
            // Until the writer was at work in so many of the reads, also on one core.
            let mut overlaps = 0;
            while overlaps < 300 {
                let before = ring.written.load(Ordering::Relaxed);
                check(ring.read());
                let after = ring.written.load(Ordering::Relaxed);
                overlaps += u32::from(after > before);
            }

            drop(done);
            writer.join().expect("the writer does not panic")
        });
        assert_eq!(check(ring.read()), written);
    }

    #[test]
    fn events_come_out_as_they_went_in() {
        let events = [
            // As large as these numbers get: ids have 64 bits, and places in memory have 47.
            Event::Spawned { task: u64::MAX, runtime: 1 << 40 },
            Event::BlocksOn { task: 7 },
            Event::Step { task: 7, number: 1 << 50 },
            Event::Polled { task: 7, operations: u32::MAX },
            Event::Ended { task: 7 },
            Event::Drops { task: 7 },
            Event::Panicked { task: 7 },
            Event::RunsWorker { runtime: 1 << 60, worker: 63 },
            Event::Sleeps,
            Event::Awake,
            Event::Wakes { runtime: 3, worker: u32::MAX },
            Event::AsksKernel { waits: false },
            Event::AsksKernel { waits: true },
            Event::KernelTold,
            Event::Ready { source: -1, read: true, write: false },
            Event::Ready { source: i64::MAX, read: false, write: true },
            Event::WaitsForIo { source: -1, write: true, waiter: (1 << 47) - 1 },
            Event::WaitsForTime { deadline: u64::MAX, waiter: (1 << 47) - 1 },
            Event::WaitsForTask { task: 7 },
            Event::WaitsFor {
                resource: (1 << 40) - 1,
                line: 64,
                waiter: (1 << 47) - 1,
                permits: (1 << 24) - 1,
            },
            Event::NoLongerWaits { waiter: (1 << 47) - 1 },
            Event::NoLongerWaitsForTask { task: u64::MAX },
            Event::Got { resource: 1 << 39 },
            Event::GivesUp { waits: 3 },
            Event::Holds { resource: 7, line: 64, may_move: true },
            Event::Holds { resource: 7, line: 0, may_move: false },
            Event::Releases { resource: 7, task: 1 << 50 },
            Event::Sends { resource: 1 << 63 },
            Event::Receives { resource: 1 << 63, count: 1 << 55 },
            Event::OutOfBudget,
            Event::Scheduled { thread: 3 },
            Event::RuntimeCloses { runtime: 1 << 60 },
        ];

        for event in events {
            assert_eq!(Event::from_words(event.to_words()), event);
        }
    }
}
