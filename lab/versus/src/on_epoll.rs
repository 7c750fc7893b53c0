//! The servers without a runtime: one epoll loop per worker, each with a listener
//! of its own (SO_REUSEPORT), so that nothing is shared. The least that a server
//! of its protocol can cost, and what it gives up: nothing balances the load.

use crate::options::{Options, announce};
use crate::protocol::{Echo, Protocol};
use crate::tiny::Tiny;
use rustix::event::epoll::{self, EventData, EventFlags};
use socket2::{Domain, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::thread;

/// The kernel caps it where it has less.
const BACKLOG: i32 = 1024;

/// How many events one wait brings at most.
const EVENTS_MAX: usize = 256;

/// What the listener is registered as; connections have their index.
const LISTENER: u64 = u64::MAX;

/// httparse.
///
/// # Errors
///
/// As [`echo`].
pub fn tiny() -> io::Result<()> {
    run::<Tiny>()
}

/// Sends back what it gets.
///
/// # Errors
///
/// The listeners', or epoll's.
pub fn echo() -> io::Result<()> {
    run::<Echo>()
}

fn run<P: Protocol>() -> io::Result<()> {
    let options = Options::parse();
    let address = options.address.to_socket_addrs()?.next();
    let address = address.ok_or(ErrorKind::AddrNotAvailable)?;
    let first = listen(address)?;
    // If the port was 0 it is known now, and the others take it too.
    let address = first.local_addr()?;
    let others = (1..options.workers).map(|_| listen(address));
    let others = others.collect::<io::Result<Vec<_>>>()?;
    announce(address);
    for listener in others {
        thread::spawn(move || Worker::<P>::new(listener)?.run());
    }
    Worker::<P>::new(first)?.run()
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

struct Worker<P> {
    epoll: OwnedFd,
    listener: TcpListener,
    connections: Vec<Option<Connection<P>>>,
    free: Vec<usize>,
}

impl<P: Protocol> Worker<P> {
    fn new(listener: TcpListener) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, data, EventFlags::IN)?;
        Ok(Self { epoll, listener, connections: Vec::new(), free: Vec::new() })
    }

    fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            let spare = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, spare, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    index => self.advance(index as usize),
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            let _ = stream.set_nodelay(true);
            let index = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let data = EventData::new_u64(index as u64);
            epoll::add(&self.epoll, &stream, data, EventFlags::IN)?;
            self.connections[index] =
                Some(Connection { stream, protocol: P::new(), unsent: Vec::new() });
        }
    }

    /// Reads and answers once, or writes what is left. Level-triggered events
    /// bring it back here if there is more.
    fn advance(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let had_unsent = !connection.unsent.is_empty();
        match connection.advance() {
            Ok(true) => {
                let has_unsent = !connection.unsent.is_empty();
                if has_unsent != had_unsent {
                    // A client that does not read is not read from.
                    let flags = match has_unsent {
                        true => EventFlags::OUT,
                        false => EventFlags::IN,
                    };
                    let data = EventData::new_u64(index as u64);
                    // It cannot fail for a descriptor that is registered.
                    let _ = epoll::modify(&self.epoll, &connection.stream, data, flags);
                }
            }
            // Closing the socket takes it out of epoll, too.
            Ok(false) | Err(_) => {
                self.connections[index] = None;
                self.free.push(index);
            }
        }
    }
}

struct Connection<P> {
    stream: TcpStream,
    protocol: P,
    /// What the socket's buffer had no room for.
    unsent: Vec<u8>,
}

impl<P: Protocol> Connection<P> {
    /// Whether the connection goes on.
    fn advance(&mut self) -> io::Result<bool> {
        if !self.unsent.is_empty() {
            let written = write(&mut self.stream, &self.unsent)?;
            self.unsent.drain(..written);
        } else {
            let count = match self.stream.read(self.protocol.space()) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(error) if is_temporary(&error) => return Ok(true),
                Err(error) => return Err(error),
            };
            let answer = self.protocol.answer(count);
            if !answer.is_empty() {
                let written = write(&mut self.stream, answer)?;
                self.unsent.extend_from_slice(&answer[written..]);
            }
        }
        Ok(self.protocol.is_open() || !self.unsent.is_empty())
    }
}

/// How much the socket took.
fn write(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match stream.write(bytes) {
        Err(error) if is_temporary(&error) => Ok(0),
        result => result,
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
