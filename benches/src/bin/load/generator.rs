//! One thread, one epoll loop, one request in flight on each connection.
//!
//! In a closed loop a connection sends as soon as it has its answer, so that a server that stalls
//! is asked less. In an open loop requests are due at random times, any free connection sends
//! them, and their latency counts from then: what stalls is seen in full (no "coordinated
//! omission"). A connection that breaks ends the measurement.

use crate::arrivals::Arrivals;
use arc_benches::figures::Outcome;
use arc_benches::serve::HELLO;
use arc_benches::work::sleep_precisely;
use clap::Parser;
use hdrhistogram::Histogram;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long answers may take after the last request.
const GRACE: Duration = Duration::from_secs(3);

const EVENTS_MAX: usize = 256;

/// More than any answer of the servers here.
const INPUT_BYTES: usize = 4096;

const HTTP: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

const OK: &[u8] = b"HTTP/1.1 200 OK\r\n";

const ECHO: &[u8] = &[b'm'; 64];

/// Loads a server, and prints a line of JSON
#[derive(Parser)]
pub struct Plan {
    /// Where the server listens, IP:PORT
    #[arg(long = "addr")]
    address: SocketAddr,
    /// Send messages of 64 bytes that come back, instead of HTTP requests
    #[arg(long)]
    echo: bool,
    /// How many connections there are
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// For how long requests are sent
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// How many are sent at most
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    requests: u64,
    /// How many a second fall due, at random times (Poisson) and on any connection that is free;
    /// without, as fast as answers come
    #[arg(long, value_name = "RATE")]
    open: Option<f64>,
    /// Where the random times begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Look for answers without ever sleeping, on a core of its own
    #[arg(long)]
    spin: bool,
}

/// Loads a server.
pub fn run(plan: &Plan) -> io::Result<Outcome> {
    // Requests that are due now are to be sent now, and not when it suits the kernel.
    sleep_precisely();
    let mut load = Load::new(plan)?;
    load.run()?;
    let micros = |percent| load.latencies.value_at_percentile(percent) as f64 / 1e3;
    Ok(Outcome {
        answers: load.answers,
        errors: load.unanswered(),
        seconds: load.elapsed.as_secs_f64(),
        mean: load.latencies.mean() / 1e3,
        p50: micros(50.0),
        p99: micros(99.0),
        p999: micros(99.9),
    })
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
    /// Those that came while requests were sent.
    answers: u64,
    /// For how long requests were sent; nothing while they are.
    elapsed: Duration,
    /// In nanoseconds.
    latencies: Histogram<u64>,
}

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    /// When the request in flight was due.
    due: Instant,
}

impl<'plan> Load<'plan> {
    fn new(plan: &'plan Plan) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections = Vec::new();
        for index in 0..plan.connections {
            let stream = TcpStream::connect_timeout(&plan.address, GRACE)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll::add(&epoll, &stream, EventData::new_u64(index as u64), EventFlags::IN)?;
            let input = Vec::with_capacity(INPUT_BYTES);
            connections.push(Connection { stream, input, due: Instant::now() });
        }
        let start = Instant::now();
        let new = |rate| Arrivals::new(rate, plan.seed, start, plan.connections);
        Ok(Self {
            plan,
            epoll,
            connections,
            busy: 0,
            arrivals: plan.open.map(new),
            start,
            sent: 0,
            answers: 0,
            elapsed: Duration::ZERO,
            // To a thousandth, however large.
            latencies: Histogram::new(3).expect("three digits are allowed"),
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let end = self.start + Duration::from_secs_f64(self.plan.seconds);
        if self.arrivals.is_none() {
            for index in 0..self.connections.len() {
                self.send(index, self.start)?;
            }
        }
        let mut events = Vec::with_capacity(EVENTS_MAX);
        while Instant::now() < end && self.is_sending() {
            self.send_arrivals(Instant::now().min(end))?;
            let next = self.arrivals.as_ref().map_or(end, |it| it.next);
            self.receive_all(&mut events, next.min(end))?;
        }
        self.elapsed = self.start.elapsed();

        let late = Instant::now() + GRACE;
        while self.unanswered() > 0 && Instant::now() < late {
            // Those of an open loop that were due before the end and are still here.
            self.send_arrivals(end)?;
            self.receive_all(&mut events, late)?;
        }
        Ok(())
    }

    fn is_sending(&self) -> bool {
        self.sent < self.plan.requests
    }

    fn unanswered(&self) -> u64 {
        let unsent = self.arrivals.as_ref().map_or(0, |it| it.waiting.len());
        (self.busy + unsent) as u64
    }

    /// Waits for answers, at most until a time, and takes all that there are.
    fn receive_all(&mut self, events: &mut Vec<epoll::Event>, until: Instant) -> io::Result<()> {
        self.wait(events, until)?;
        for event in events.drain(..) {
            self.receive(event.data.u64() as usize)?;
        }
        Ok(())
    }

    fn wait(&self, events: &mut Vec<epoll::Event>, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        let timeout =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let at_once = Timespec::default();
        let spare = rustix::buffer::spare_capacity(events);
        let result = if self.plan.spin {
            epoll::wait(&self.epoll, spare, Some(&at_once))
        } else if self.arrivals.is_some() {
            // `epoll_wait` knows whole milliseconds only, `ppoll` nanoseconds.
            let mut descriptors = [PollFd::new(&self.epoll, PollFlags::IN)];
            rustix::event::poll(&mut descriptors, Some(&timeout))
                .and_then(|_| epoll::wait(&self.epoll, spare, Some(&at_once)))
        } else {
            epoll::wait(&self.epoll, spare, Some(&timeout))
        };
        match result {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends what of an open loop has fallen due until then, as far as connections are free.
    fn send_arrivals(&mut self, until: Instant) -> io::Result<()> {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.advance(until);
        }
        while self.is_sending()
            && let Some((due, index)) = self.arrivals.as_mut().and_then(Arrivals::pair)
        {
            self.send(index, due)?;
        }
        Ok(())
    }

    fn send(&mut self, index: usize, due: Instant) -> io::Result<()> {
        if !self.is_sending() {
            return Ok(());
        }
        let connection = &mut self.connections[index];
        connection.due = due;
        self.sent += 1;
        self.busy += 1;
        // It fits the socket's buffer, as there is nothing else in it.
        connection.stream.write_all(if self.plan.echo { ECHO } else { HTTP })
    }

    fn receive(&mut self, index: usize) -> io::Result<()> {
        let connection = &mut self.connections[index];
        let mut part = [0; INPUT_BYTES];
        let count = connection.stream.read(&mut part)?;
        connection.input.extend_from_slice(&part[..count]);
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !is_answer(&connection.input, self.plan.echo) {
            return Ok(());
        }

        connection.input.clear();
        self.busy -= 1;
        let now = Instant::now();
        let latency = now.saturating_duration_since(connection.due).as_nanos() as u64;
        self.latencies.record(latency).expect("it grows as it has to");
        // Requests per second are of the time in which requests were sent.
        let is_over = !self.elapsed.is_zero();
        if !is_over || self.plan.requests < u64::MAX {
            self.answers += 1;
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.freed(index);
        } else if !is_over {
            return self.send(index, now);
        }
        Ok(())
    }
}

/// Nothing is behind an answer, as one request is in flight at a time. What is no answer never
/// ends, and is an error in the end.
fn is_answer(input: &[u8], echo: bool) -> bool {
    if echo { input == ECHO } else { input.starts_with(OK) && input.ends_with(HELLO) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_answer_is_seen() {
        let answer = [OK, b"content-length: 13\r\n\r\n", HELLO].concat();
        for end in 0..answer.len() {
            assert!(!is_answer(&answer[..end], false));
        }
        assert!(is_answer(&answer, false) && !is_answer(&answer[1..], false));
        assert!(is_answer(ECHO, true) && !is_answer(&ECHO[1..], true));
    }
}
