//! One direction of a connection.

use super::conditions::{Conditions, RETRANSMISSION};
use crate::lock::lock;
use crate::story::tell;
use arc::time::{Duration, Instant};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Waker};

/// How many bytes may be on their way in one direction.
const WINDOW_BYTES: usize = 64 << 10;

/// How long a host goes on sending what does not arrive. Linux gives up after 13 to 30 minutes.
const GIVE_UP_AFTER: Duration = Duration::from_secs(15 * 60);

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Pipe {
    conditions: Conditions,
    from: Arc<str>,
    /// The name of the host where the bytes arrive.
    pub(super) to: Arc<str>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    packets: VecDeque<Packet>,
    bytes: usize,
    /// When the last packet arrives: those behind it do not overtake it.
    last_arrival: Option<Instant>,
    /// When the partition began that keeps packets from arriving.
    cut_since: Option<Instant>,
    /// The writer's host has given up sending.
    is_given_up: bool,
    pub(super) writer_closed: bool,
    pub(super) reader_gone: bool,
    pub(super) is_reset: bool,
    reader: Option<Waker>,
    pub(super) writer: Option<Waker>,
}

/// Bytes on their way. No bytes at all are the end of the stream.
#[derive(Debug)]
struct Packet {
    sent: Instant,
    arrival: Instant,
    bytes: VecDeque<u8>,
}

impl State {
    /// How many bytes the writer may send now.
    pub(super) fn room(&self) -> usize {
        WINDOW_BYTES.saturating_sub(self.bytes)
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut_since.is_some()
    }

    /// What arrives later than this is not there.
    fn arrived_until(&self) -> Instant {
        self.cut_since.unwrap_or_else(Instant::now)
    }

    /// When the writer's host gives up sending, if nothing arrives until then.
    fn deadline(&self) -> Option<Instant> {
        // It has ended already.
        if self.is_given_up || self.is_reset {
            return None;
        }

        // Packets stand in the order of their arrival.
        let arrived_until = self.arrived_until();
        let has_arrived = |packet: &Packet| packet.arrival <= arrived_until;
        let arrived = self.packets.partition_point(has_arrived);
        let mut under_way = self.packets.range(arrived..);
        let stuck = under_way.find(|packet| self.is_cut() || packet.is_never_there());
        if let Some(packet) = stuck {
            return Some(packet.sent + GIVE_UP_AFTER);
        }

        // A writer that waits for room asks the reader's host again and again.
        let cut_since = self.cut_since?;
        let full_since = self.packets.back()?.sent;
        let asks = self.writer.is_some() && self.room() == 0;
        asks.then(|| cut_since.max(full_since) + GIVE_UP_AFTER)
    }

    /// Gives up if it is time. What has not arrived never does.
    fn expire(&mut self) -> bool {
        let now = Instant::now();
        let is_overdue = self.deadline().is_some_and(|deadline| deadline <= now);
        if is_overdue {
            // The reader may still take what came before that.
            let arrived_until = self.arrived_until();
            self.packets.retain(|packet| packet.arrival <= arrived_until);
            self.is_given_up = true;
        }
        is_overdue
    }
}

impl Packet {
    /// It is lost so often that its sender gives up before.
    fn is_never_there(&self) -> bool {
        self.arrival > self.sent + GIVE_UP_AFTER
    }
}

impl Pipe {
    pub(super) fn new(conditions: &Conditions, from: &Arc<str>, to: &Arc<str>) -> Arc<Self> {
        let (conditions, from, to) = (conditions.clone(), from.clone(), to.clone());
        Arc::new(Self { conditions, from, to, state: Mutex::default() })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn is_of(&self, host: &str) -> bool {
        *self.from == *host || *self.to == *host
    }

    pub(super) fn is_from_to(&self, from: &str, to: &str) -> bool {
        (&*self.from, &*self.to) == (from, to)
    }

    pub(super) fn wake_reader(&self) {
        let reader = self.lock().reader.take();
        reader.into_iter().for_each(Waker::wake);
    }

    pub(super) fn wake_writer(&self) {
        let writer = self.lock().writer.take();
        writer.into_iter().for_each(Waker::wake);
    }

    pub(super) fn wake_both(&self) {
        self.wake_reader();
        self.wake_writer();
    }

    /// Reads and writes fail from now on.
    pub(super) fn reset(&self) {
        self.lock().is_reset = true;
        self.wake_both();
    }

    /// Nothing arrives until this is healed. Those who wait have a deadline now.
    pub(super) fn cut(&self) {
        self.lock().cut_since.get_or_insert_with(Instant::now);
        self.wake_both();
    }

    /// What did not arrive during the partition arrives now, unless it is too late.
    pub(super) fn heal(&self) {
        self.expire();
        let mut state = self.lock();
        state.cut_since = None;
        drop(state);
        self.wake_both();
    }

    /// When the writer's host gives up sending, if nothing arrives until then.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.lock().deadline()
    }

    /// Gives up sending if it is time. Returns whether it did.
    pub(super) fn expire(&self) -> bool {
        let is_overdue = self.lock().expire();
        if is_overdue {
            let Self { from, to, .. } = self;
            tell(|| format!("network: {from} -> {to}: given up, as nothing arrives"));
        }
        is_overdue
    }

    pub(super) fn is_cut(&self) -> bool {
        self.lock().is_cut()
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.lock().is_given_up
    }

    /// Whether something goes to the reader's host. If that has given the connection up, it
    /// answers with a reset.
    pub(super) fn is_refused(&self) -> bool {
        let state = self.lock();
        !state.is_cut() && !state.packets.is_empty()
    }

    /// Sends bytes, or the end of the stream.
    pub(super) fn send(&self, bytes: &[u8]) {
        let sent = Instant::now();
        let mut arrival = sent + self.conditions.delay();
        let mut losses = 0;
        // Each loss costs as much as its sender needs to notice it.
        while arrival <= sent + GIVE_UP_AFTER && self.conditions.is_lost() {
            arrival += RETRANSMISSION;
            losses += 1;
        }

        // A stream keeps its order: what is fast waits for what was sent before.
        let mut state = self.lock();
        let arrival = state.last_arrival.map_or(arrival, |last| last.max(arrival));
        if !state.is_reset {
            let is_cut = state.is_cut();
            tell(|| self.sending(bytes.len(), arrival - sent, losses, is_cut));
        }

        state.last_arrival = Some(arrival);
        state.bytes += bytes.len();
        let bytes = bytes.iter().copied().collect();
        state.packets.push_back(Packet { sent, arrival, bytes });

        // A reader that waits for an earlier packet need not know of this one.
        let is_first = state.packets.len() == 1;
        drop(state);
        if is_first {
            self.wake_reader();
        }
    }

    /// What the log says of a packet.
    fn sending(&self, bytes: usize, delay: Duration, losses: u32, is_cut: bool) -> String {
        let Self { from, to, .. } = self;
        let what = match bytes {
            0 => "the end of the stream".to_owned(),
            _ => format!("{bytes} B"),
        };

        // A partition hides what the network does otherwise.
        let fate = match losses {
            _ if is_cut => "held up by the partition".to_owned(),
            0 => format!("{delay:.3?} on the way"),
            _ => format!("{delay:.3?} on the way, lost {losses}x"),
        };
        format!("network: {from} -> {to}: {what}, {fate}")
    }

    pub(super) fn close(&self) {
        let was_closed = std::mem::replace(&mut self.lock().writer_closed, true);
        if !was_closed {
            self.send(&[]);
        }
    }

    /// Takes what has arrived. If that is nothing, the reader is woken when this changes, but for
    /// the arrival of a packet that is on its way.
    pub(super) fn take(&self, buffer: &mut [u8], context: &Context<'_>) -> Taken {
        // A clone is foreign code, and may not run under the lock.
        let waker = context.waker().clone();
        let mut state = self.lock();
        if state.is_reset {
            return Taken::Reset;
        }

        let arrived_until = state.arrived_until();
        let is_cut = state.is_cut();
        let mut next = None;
        if let Some(packet) = state.packets.front_mut() {
            if packet.arrival <= arrived_until {
                let count = io::Read::read(&mut packet.bytes, buffer).unwrap_or(0);
                // The end of the stream stays, to be read again.
                if count > 0 && packet.bytes.is_empty() {
                    state.packets.pop_front();
                }
                state.bytes -= count;
                drop(state);

                // There is room now.
                self.wake_writer();
                return Taken::Bytes(count);
            }
            // Nobody knows when a partition is over: `heal` wakes the reader.
            next = (!is_cut).then_some(packet.arrival);
        }

        let before = state.reader.replace(waker);
        drop(state);
        drop(before);
        Taken::Nothing { next }
    }
}

/// What a reader finds.
pub(super) enum Taken {
    Bytes(usize),
    /// The next packet arrives then, if one is on its way.
    Nothing {
        next: Option<Instant>,
    },
    Reset,
}
