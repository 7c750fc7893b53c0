//! One direction of a connection.

use super::conditions::{Conditions, RETRANSMISSION};
use arc::time::Instant;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

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
    pub(super) bytes: usize,
    /// When the last packet arrives: those behind it do not overtake it.
    last_arrival: Option<Instant>,
    pub(super) writer_closed: bool,
    pub(super) reader_gone: bool,
    pub(super) is_reset: bool,
    reader: Option<Waker>,
    pub(super) writer: Option<Waker>,
}

/// Bytes on their way. No bytes at all are the end of the stream.
#[derive(Debug)]
struct Packet {
    arrival: Instant,
    bytes: VecDeque<u8>,
}

impl Pipe {
    pub(super) fn new(conditions: &Conditions, from: &Arc<str>, to: &Arc<str>) -> Arc<Self> {
        let (conditions, from, to) = (conditions.clone(), from.clone(), to.clone());
        Arc::new(Self { conditions, from, to, state: Mutex::default() })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_of(&self, host: &str) -> bool {
        *self.from == *host || *self.to == *host
    }

    pub(super) fn wake_reader(&self) {
        let reader = self.lock().reader.take();
        reader.into_iter().for_each(Waker::wake);
    }

    pub(super) fn wake_writer(&self) {
        let writer = self.lock().writer.take();
        writer.into_iter().for_each(Waker::wake);
    }

    /// Reads and writes fail from now on.
    pub(super) fn reset(&self) {
        self.lock().is_reset = true;
        self.wake_reader();
        self.wake_writer();
    }

    /// Sends bytes, or the end of the stream.
    pub(super) fn send(&self, bytes: &[u8]) {
        let mut arrival = Instant::now() + self.conditions.delay();
        while self.conditions.is_lost() {
            arrival += RETRANSMISSION;
        }
        let mut state = self.lock();
        let arrival = state.last_arrival.map_or(arrival, |last| last.max(arrival));
        state.last_arrival = Some(arrival);
        state.bytes += bytes.len();
        state.packets.push_back(Packet { arrival, bytes: bytes.iter().copied().collect() });
        drop(state);
        self.wake_reader();
    }

    pub(super) fn close(&self) {
        let was_closed = std::mem::replace(&mut self.lock().writer_closed, true);
        if !was_closed {
            self.send(&[]);
        }
    }

    /// Takes what has arrived. Pending: the reader is woken when more is on its way.
    pub(super) fn poll_take(&self, buffer: &mut [u8], context: &Context<'_>) -> Poll<Taken> {
        let is_cut = self.conditions.is_cut(&self.from, &self.to);
        let waker = context.waker().clone();
        let mut state = self.lock();
        if state.is_reset {
            return Poll::Ready(Taken::Reset);
        }
        match state.packets.front_mut() {
            Some(packet) if !is_cut && packet.arrival > Instant::now() => {
                return Poll::Ready(Taken::NotBefore(packet.arrival));
            }
            Some(packet) if !is_cut => {
                let count = io::Read::read(&mut packet.bytes, buffer).unwrap_or(0);
                // The end of the stream stays, to be read again.
                if count > 0 && packet.bytes.is_empty() {
                    state.packets.pop_front();
                }
                state.bytes -= count;
                drop(state);
                self.wake_writer();
                return Poll::Ready(Taken::Bytes(count));
            }
            _ => {}
        }
        let before = state.reader.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

/// What a reader finds.
pub(super) enum Taken {
    Bytes(usize),
    NotBefore(Instant),
    Reset,
}
