//! A load generator: one thread, one epoll loop, one request in flight on each
//! connection.
//!
//! It is closed-loop by default: a connection sends as soon as it has its answer,
//! so that a server that stalls is asked less. With a rate, requests are due at
//! fixed times and their latency counts from then, whether or not the connection
//! was free to send: what stalls is seen in full (no "coordinated omission"). In an
//! open loop they are due at random times, and any free connection sends them.

use crate::arrivals::Arrivals;
use crate::exchange::{Exchange, Kind};
use crate::work::sleep_precisely;
use hdrhistogram::Histogram;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long answers may take after the last request.
const GRACE: Duration = Duration::from_secs(3);

/// How long the blocking connection waits between two requests.
const BLOCK_EVERY: Duration = Duration::from_millis(500);

const EVENTS_MAX: usize = 256;

/// More than any answer of the servers here.
const INPUT_BYTES: usize = 4096;

/// When requests fall due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As soon as a connection has its answer.
    Closed,
    /// So many a second at fixed times, each connection in its turn.
    Fixed {
        /// Requests a second, over all connections.
        rate: f64,
    },
    /// So many a second at random times, on whichever connection is free.
    Open {
        /// Requests a second, over all connections.
        rate: f64,
        /// Where the random times begin.
        seed: u64,
    },
}

/// What the load is.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where the server listens.
    pub address: SocketAddr,
    /// What is spoken.
    pub exchange: Exchange,
    /// How many connections there are.
    pub connections: usize,
    /// For how long requests are sent.
    pub duration: Duration,
    /// How many requests are sent at most.
    pub requests: u64,
    /// When requests fall due.
    pub pace: Pace,
    /// Whether to look for events without ever sleeping.
    pub spin: bool,
    /// One request in so many is a slow one; 0: none. Those are not measured.
    pub slow_every: u64,
    /// Whether one connection more blocks a thread of the server now and then.
    pub block: bool,
}

/// What came of it.
pub struct Outcome {
    /// Answers to plain requests that came while requests were sent.
    pub answers: u64,
    /// The same for slow and blocking requests.
    pub other_answers: u64,
    /// Connections that broke, bad answers, and requests never answered.
    pub errors: u64,
    /// The first of them.
    pub first_error: Option<String>,
    /// For how long requests were sent.
    pub elapsed: Duration,
    /// Nanoseconds until plain requests were answered.
    pub latencies: Histogram<u64>,
}

/// Loads a server.
///
/// # Errors
///
/// It cannot be connected to, or epoll fails. Later errors are counted.
pub fn run(plan: &Plan) -> io::Result<Outcome> {
    // Requests that are due now are to be sent now, and not when it suits the kernel.
    sleep_precisely();
    let mut load = Load::new(plan)?;
    load.run()?;
    Ok(load.outcome)
}

struct Load<'plan> {
    plan: &'plan Plan,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// How many of them have a request in flight.
    busy: usize,
    /// The requests of an open loop.
    arrivals: Option<Arrivals>,
    start: Instant,
    sent: u64,
    outcome: Outcome,
}

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    /// What is in flight.
    kind: Option<Kind>,
    /// When the request in flight, or else the next one, was or is due.
    due: Instant,
    blocks: bool,
}

impl<'plan> Load<'plan> {
    fn new(plan: &'plan Plan) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections = Vec::new();
        for index in 0..plan.connections + usize::from(plan.block) {
            connections.push(Connection {
                stream: connect(&epoll, plan.address, index)?,
                input: Vec::with_capacity(INPUT_BYTES),
                kind: None,
                due: Instant::now(),
                blocks: index == plan.connections,
            });
        }
        let start = Instant::now();
        for (index, connection) in connections.iter_mut().enumerate() {
            connection.due = start;
            if let Pace::Fixed { rate } = plan.pace {
                // The connections take turns.
                connection.due += Duration::from_secs_f64(index as f64 / rate);
            }
        }
        let arrivals = match plan.pace {
            Pace::Open { rate, seed } => Some(Arrivals::new(rate, seed, start, plan.connections)),
            Pace::Closed | Pace::Fixed { .. } => None,
        };
        let outcome = Outcome {
            answers: 0,
            other_answers: 0,
            errors: 0,
            first_error: None,
            elapsed: Duration::ZERO,
            // To a thousandth, however large.
            latencies: Histogram::new(3).expect("three digits are allowed"),
        };
        Ok(Self { plan, epoll, connections, busy: 0, arrivals, start, sent: 0, outcome })
    }

    fn run(&mut self) -> io::Result<()> {
        let end = self.start + self.plan.duration;
        let mut events = Vec::with_capacity(EVENTS_MAX);
        // A closed loop sends again on each answer, so that only the first
        // requests and those with a time of their own have to be looked for.
        self.send_due(end);
        while Instant::now() < end && self.is_sending() {
            self.wait(&mut events, self.next_due().unwrap_or(end).min(end))?;
            let count = events.len();
            for event in events.drain(..) {
                self.receive(event.data.u64() as usize, true);
            }
            if self.plan.pace != Pace::Closed || self.plan.block || count == 0 {
                self.send_due(end);
            }
        }
        self.outcome.elapsed = self.start.elapsed();
        let answers = (self.outcome.answers, self.outcome.other_answers);
        let late = Instant::now() + GRACE;
        while self.busy > 0 && Instant::now() < late {
            self.wait(&mut events, late)?;
            for event in events.drain(..) {
                self.receive(event.data.u64() as usize, false);
            }
            // Those of an open loop that were due before the end and are still here.
            self.send_arrivals(end);
        }
        if self.plan.requests == u64::MAX {
            // Requests per second are of the time in which requests were sent.
            (self.outcome.answers, self.outcome.other_answers) = answers;
        }
        let unsent = self.arrivals.as_ref().map_or(0, Arrivals::waiting);
        let unanswered = self.busy + unsent;
        if unanswered > 0 {
            self.outcome.errors += unanswered as u64 - 1;
            self.failed(format!("{unanswered} requests without an answer"));
        }
        Ok(())
    }

    fn is_sending(&self) -> bool {
        self.sent < self.plan.requests
    }

    /// Waits for events, at most until a time.
    fn wait(&self, events: &mut Vec<epoll::Event>, until: Instant) -> io::Result<()> {
        // `epoll_wait` knows whole milliseconds only, `ppoll` nanoseconds.
        let left = until.saturating_duration_since(Instant::now());
        let mut descriptors = [PollFd::new(&self.epoll, PollFlags::IN)];
        let timeout =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let spare = rustix::buffer::spare_capacity(events);
        let result = if self.plan.spin {
            epoll::wait(&self.epoll, spare, Some(&Timespec::default()))
        } else if self.plan.pace != Pace::Closed {
            rustix::event::poll(&mut descriptors, Some(&timeout))
                .and_then(|_| epoll::wait(&self.epoll, spare, Some(&Timespec::default())))
        } else {
            epoll::wait(&self.epoll, spare, Some(&timeout))
        };
        match result {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// When the next request falls due, of those that wait for their time.
    fn next_due(&self) -> Option<Instant> {
        if let Some(arrivals) = &self.arrivals {
            return Some(arrivals.next());
        }
        if self.plan.pace == Pace::Closed && !self.plan.block {
            return None;
        }
        let idle = self.connections.iter().filter(|it| it.kind.is_none());
        idle.map(|connection| connection.due).min()
    }

    fn send_due(&mut self, end: Instant) {
        let now = Instant::now();
        if self.arrivals.is_some() {
            return self.send_arrivals(now.min(end));
        }
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if connection.kind.is_none() && connection.due <= now {
                self.send(index);
            }
        }
    }

    /// Sends what of an open loop has fallen due until then, as far as connections
    /// are free.
    fn send_arrivals(&mut self, until: Instant) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.advance(until);
        }
        while self.is_sending()
            && let Some((due, index)) = self.arrivals.as_mut().and_then(Arrivals::pair)
        {
            self.connections[index].due = due;
            self.send(index);
        }
    }

    fn send(&mut self, index: usize) {
        if !self.is_sending() {
            return;
        }
        let connection = &mut self.connections[index];
        self.sent += u64::from(!connection.blocks);
        let slow_every = self.plan.slow_every;
        let kind = match connection.blocks {
            true => Kind::Block,
            false if slow_every > 0 && self.sent.is_multiple_of(slow_every) => Kind::Slow,
            false => Kind::Plain,
        };
        if self.plan.pace == Pace::Closed {
            connection.due = Instant::now();
        }
        let request = self.plan.exchange.request(kind);
        match connection.stream.write(request) {
            Ok(count) if count == request.len() => {
                connection.kind = Some(kind);
                self.busy += 1;
            }
            Ok(_) => self.broken(index, "a request did not fit the socket's buffer".into()),
            Err(error) => self.broken(index, error.to_string()),
        }
    }

    fn receive(&mut self, index: usize, may_send: bool) {
        let connection = &mut self.connections[index];
        let mut part = [0; INPUT_BYTES];
        match connection.stream.read(&mut part) {
            Ok(0) => self.broken(index, "the server closed a connection".into()),
            Ok(count) => {
                connection.input.extend_from_slice(&part[..count]);
                match self.plan.exchange.is_complete(&connection.input) {
                    Ok(true) => self.answered(index, may_send),
                    Ok(false) => {}
                    Err(message) => self.broken(index, message),
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => self.broken(index, error.to_string()),
        }
    }

    fn answered(&mut self, index: usize, may_send: bool) {
        let connection = &mut self.connections[index];
        connection.input.clear();
        let Some(kind) = connection.kind.take() else {
            return self.broken(index, "an answer without a request".into());
        };
        self.busy -= 1;
        let now = Instant::now();
        if kind == Kind::Plain {
            let latency = now.saturating_duration_since(connection.due);
            let recorded = self.outcome.latencies.record(latency.as_nanos() as u64);
            recorded.expect("it grows as it has to");
            self.outcome.answers += 1;
        } else {
            self.outcome.other_answers += 1;
        }
        if connection.blocks {
            connection.due = now + BLOCK_EVERY;
            return;
        }
        match (self.plan.pace, &mut self.arrivals) {
            (Pace::Fixed { rate }, _) => {
                connection.due += Duration::from_secs_f64(self.plan.connections as f64 / rate);
            }
            (_, Some(arrivals)) => arrivals.freed(index),
            _ if may_send => self.send(index),
            _ => {}
        }
    }

    /// Counts an error, and puts a new connection in the place of the broken one.
    fn broken(&mut self, index: usize, message: String) {
        self.failed(message);
        let connection = &mut self.connections[index];
        connection.input.clear();
        self.busy -= usize::from(connection.kind.take().is_some());
        // Not at once: a server that refuses everything is not to be flooded.
        connection.due = Instant::now() + Duration::from_millis(10);
        match connect(&self.epoll, self.plan.address, index) {
            Ok(stream) => {
                connection.stream = stream;
                if let Some(arrivals) = &mut self.arrivals {
                    arrivals.freed(index);
                }
            }
            // It is left out from now on.
            Err(error) => {
                connection.due += self.plan.duration;
                let _ = epoll::delete(&self.epoll, &connection.stream);
                self.failed(error.to_string());
            }
        }
    }

    fn failed(&mut self, message: String) {
        self.outcome.errors += 1;
        self.outcome.first_error.get_or_insert(message);
    }
}

fn connect(epoll: &OwnedFd, address: SocketAddr, index: usize) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, GRACE)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let data = EventData::new_u64(index as u64);
    epoll::add(epoll, &stream, data, EventFlags::IN)?;
    Ok(stream)
}
