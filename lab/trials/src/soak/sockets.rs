//! What tasks do with sockets at random: echoes whose every byte is compared, ends that
//! vanish or reset, ports where nobody listens, listeners that are dropped.

use super::task::{Act, Brood};
use super::world::Me;
use crate::account::{ACCOUNT, fault};
use crate::bytes;
use arc::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use arc::time::{sleep, timeout};
use arc_util::net::{
    SocketAddr, TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream,
};
use futures_lite::future::{or, pending, zip};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::time::Duration;

/// An exchange, all ends of which are in tasks of one family.
pub fn any(mut me: Me) -> Act {
    match me.rng.u8(..10) {
        0..=3 => Box::pin(tcp(me)),
        4 => Box::pin(unix(me)),
        5 => Box::pin(unix_pair(me)),
        6 => Box::pin(udp(me)),
        7 => Box::pin(unix_datagrams(me)),
        8 => Box::pin(refused(me)),
        _ => Box::pin(given_up(me)),
    }
}

/// Where one kind of exchange happens, apart from all others: a port that is free again
/// may be taken by any other.
fn place(me: &mut Me, kind: u8) -> SocketAddr {
    (Ipv4Addr::new(127, 7, kind, me.rng.u8(1..250)), 0).into()
}

/// The two directions of a stream.
struct Halves {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
}

/// Both kinds of streams have a method of this name.
trait IntoSplit {
    fn into_halves(self) -> Halves;
}

macro_rules! into_split {
    ($($stream:ty),*) => {$(
        impl IntoSplit for $stream {
            fn into_halves(self) -> Halves {
                let (reader, writer) = self.into_split();
                Halves { reader: Box::new(reader), writer: Box::new(writer) }
            }
        }
    )*};
}

into_split!(TcpStream, UnixStream);

fn halves<S>(me: &mut Me, stream: S) -> Halves
where
    S: AsyncRead + AsyncWrite + IntoSplit + Send + Sync + Unpin + 'static,
{
    if me.rng.bool() {
        stream.into_halves()
    } else {
        let (reader, writer) = futures_lite::io::split(stream);
        Halves { reader: Box::new(reader), writer: Box::new(writer) }
    }
}

/// What a client intends, and tells the server first of all.
#[derive(Clone, Copy)]
struct Plan {
    seed: u64,
    length: u64,
    /// One of the two leaves when so many bytes were moved.
    leaves: Option<(End, u64)>,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Client,
    Server,
}

const HEADER_BYTES: usize = 32;

impl Plan {
    fn any(me: &mut Me) -> Self {
        let most = [10, 1_000, 30_000, 400_000][me.rng.usize(..4)];
        let (seed, length) = (me.rng.u64(..), me.rng.u64(..most));
        let after = me.rng.u64(..length + 1);
        let leaves = match me.rng.u8(..6) {
            0 => Some((End::Client, after)),
            1 => Some((End::Server, after)),
            _ => None,
        };
        Plan { seed, length, leaves }
    }

    fn header(&self) -> [u8; HEADER_BYTES] {
        let (end, after) = match self.leaves {
            None => (0, 0),
            Some((End::Client, after)) => (1, after),
            Some((End::Server, after)) => (2, after),
        };
        let mut header = [0; HEADER_BYTES];
        for (place, word) in header.chunks_mut(8).zip([self.seed, self.length, end, after]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        header
    }

    fn read(header: &[u8; HEADER_BYTES]) -> Self {
        let word = |index: usize| {
            let word = header[8 * index..8 * index + 8].try_into();
            u64::from_le_bytes(word.expect("it has eight bytes"))
        };
        let after = word(3);
        let leaves = match word(2) {
            0 => None,
            1 => Some((End::Client, after)),
            _ => Some((End::Server, after)),
        };
        Plan { seed: word(0), length: word(1), leaves }
    }

    /// How many bytes this end moves before it leaves.
    fn until(&self, end: End) -> u64 {
        match self.leaves {
            Some((leaver, after)) if leaver == end => after,
            _ => self.length,
        }
    }

    fn leaves(&self, end: End) -> bool {
        self.leaves.is_some_and(|(leaver, _)| leaver == end)
    }

    /// Where one has left, the other's errors and what it misses are no faults.
    fn judge(&self, me: &Me, what: &str, moved: io::Result<u64>) -> io::Result<()> {
        let is_lenient = self.leaves.is_some() || me.ticket.may_fail();
        match moved {
            Ok(bytes) if bytes > self.length || (bytes < self.length && !is_lenient) => {
                let length = self.length;
                fault(format_args!("{what} got {bytes} bytes of {length}, in {}", me.world.census));
                Ok(())
            }
            Err(error) if !is_lenient => Err(error),
            _ => Ok(()),
        }
    }
}

/// Receives at most so many bytes, or to the end of the stream, and compares them.
async fn receive(
    mut reader: impl AsyncRead + Unpin,
    seed: u64,
    most: u64,
    chunk: usize,
) -> io::Result<u64> {
    let mut buffer = vec![0; chunk];
    let mut received = 0;
    while received < most {
        let count = reader.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        if let Some(position) = bytes::differs(seed, received, &buffer[..count]) {
            fault(format_args!("byte {position} received is not the one that was sent"));
        }
        received += count as u64;
        ACCOUNT.bytes.add(count as u64);
    }
    Ok(received)
}

async fn client(me: &mut Me, streams: Halves, plan: Plan) -> io::Result<()> {
    ACCOUNT.connections.add(1);
    let Halves { mut reader, mut writer } = streams;
    let (most, leaves) = (plan.until(End::Client), plan.leaves(End::Client));
    let pieces: Vec<usize> = (0..4).map(|_| me.rng.usize(1..20_000)).collect();
    let send = async {
        writer.write_all(&plan.header()).await?;
        let mut sent = 0;
        for piece in pieces.iter().cycle() {
            let mut buffer = vec![0; (most - sent).min(*piece as u64) as usize];
            bytes::fill(plan.seed, sent, &mut buffer);
            writer.write_all(&buffer).await?;
            sent += buffer.len() as u64;
            if sent == most {
                break;
            }
        }
        if leaves { Ok(writer) } else { writer.close().await.map(|()| writer) }
    };
    // One more than there is: the end is to be read, too.
    let wanted = if leaves { most / 2 } else { u64::MAX };
    let chunk = me.rng.usize(1..40_000);
    let receive = receive(&mut reader, plan.seed, wanted, chunk);
    let outcome = if leaves {
        ACCOUNT.resets.add(1);
        // It goes when it has got its part. If it went on to send, and read no more, both
        // ends might wait for the other to read.
        let sent = async {
            let _writer = send.await?;
            pending().await
        };
        or(receive, sent).await
    } else {
        let (sent, received) = zip(send, receive).await;
        sent.and(received)
    };
    plan.judge(me, "a client", outcome)
}

async fn serve(me: &mut Me, streams: Halves) -> io::Result<()> {
    let Halves { mut reader, mut writer } = streams;
    let mut header = [0; HEADER_BYTES];
    // Who left at once has told nothing.
    if reader.read_exact(&mut header).await.is_err() {
        return Ok(());
    }
    let plan = Plan::read(&header);
    let (most, leaves) = (plan.until(End::Server), plan.leaves(End::Server));
    let mut buffer = vec![0; me.rng.usize(1..40_000)];
    let echo = async {
        let mut moved = 0;
        loop {
            let count = reader.read(&mut buffer).await?;
            if let Some(position) = bytes::differs(plan.seed, moved, &buffer[..count]) {
                fault(format_args!("byte {position} at a server is not the one that was sent"));
            }
            ACCOUNT.bytes.add(count as u64);
            moved += count as u64;
            writer.write_all(&buffer[..count]).await?;
            if count == 0 || (leaves && moved >= most) {
                break;
            }
        }
        if !leaves {
            writer.close().await?;
        }
        Ok(moved)
    };
    let outcome = echo.await;
    plan.judge(me, "a server", outcome)
}

/// Whoever leaves a TCP connection may do so by a reset.
fn may_reset(me: &mut Me, stream: &TcpStream, plan: &Plan) -> io::Result<()> {
    if plan.leaves(End::Client) && me.rng.bool() {
        SockRef::from(stream).set_linger(Some(Duration::ZERO))?;
    }
    Ok(())
}

async fn tcp(mut me: Me) -> io::Result<()> {
    let listener = TcpListener::bind(place(&mut me, 0)).await?;
    let address = listener.local_addr()?;
    let clients = me.rng.usize(1..5);
    let mut brood = Brood::default();
    brood.push(me.spawn(move |mut me| async move {
        let mut sessions = Brood::default();
        for _ in 0..clients {
            let (stream, _) = listener.accept().await?;
            sessions.push(me.spawn(|mut me| async move {
                let streams = halves(&mut me, stream);
                serve(&mut me, streams).await
            }));
        }
        sessions.join().await;
        Ok(())
    }));
    for _ in 0..clients {
        brood.push(me.spawn(move |mut me| async move {
            let plan = Plan::any(&mut me);
            let stream = TcpStream::connect(address).await?;
            may_reset(&mut me, &stream, &plan)?;
            let streams = halves(&mut me, stream);
            client(&mut me, streams, plan).await
        }));
    }
    brood.join().await;
    Ok(())
}

async fn unix(me: Me) -> io::Result<()> {
    let name = format!("arc-soak-{}-{}", std::process::id(), me.ticket.serial);
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
    let listener = UnixListener::bind_addr(&address)?;
    let stream = UnixStream::connect_addr(&address).await?;
    serve_beside(me, stream, async move { Ok(listener.accept().await?.0) }).await
}

async fn unix_pair(me: Me) -> io::Result<()> {
    let (left, right) = UnixStream::pair()?;
    serve_beside(me, left, async { Ok(right) }).await
}

/// A client, whose server is a task.
async fn serve_beside(
    mut me: Me,
    stream: UnixStream,
    server: impl Future<Output = io::Result<UnixStream>> + Send + 'static,
) -> io::Result<()> {
    let mut brood = Brood::default();
    brood.push(me.spawn(move |mut me| async move {
        let streams = halves(&mut me, server.await?);
        serve(&mut me, streams).await
    }));
    let plan = Plan::any(&mut me);
    let streams = halves(&mut me, stream);
    client(&mut me, streams, plan).await?;
    brood.join().await;
    Ok(())
}

/// Sends datagrams one by one, each of which comes back.
macro_rules! exchange {
    ($me:ident, $left:ident, $right:ident) => {{
        let (seed, count) = ($me.rng.u64(..), $me.rng.u64(1..20));
        let mut brood = Brood::default();
        brood.push($me.spawn(move |_| async move {
            let mut buffer = vec![0; 65_536];
            for _ in 0..count {
                let length = $right.recv(&mut buffer).await?;
                $right.send(&buffer[..length]).await?;
            }
            Ok(())
        }));
        let mut buffer = vec![0; 65_536];
        for _ in 0..count {
            let most = [1, 100, 9_000][$me.rng.usize(..3)];
            let mut datagram = vec![0; $me.rng.usize(..most)];
            bytes::fill(seed, 0, &mut datagram);
            $left.send(&datagram).await?;
            let length = $left.recv(&mut buffer).await?;
            ACCOUNT.datagrams.add(1);
            ACCOUNT.bytes.add(length as u64);
            if buffer[..length] != datagram {
                fault("a datagram is not the one that was sent");
            }
        }
        brood.join().await;
        Ok(())
    }};
}

async fn udp(mut me: Me) -> io::Result<()> {
    let left = UdpSocket::bind(place(&mut me, 3)).await?;
    let right = UdpSocket::bind(place(&mut me, 3)).await?;
    left.connect(right.local_addr()?).await?;
    right.connect(left.local_addr()?).await?;
    exchange!(me, left, right)
}

async fn unix_datagrams(mut me: Me) -> io::Result<()> {
    let (left, right) = UnixDatagram::pair()?;
    exchange!(me, left, right)
}

/// Connects to ports that are taken, but where nobody listens.
async fn refused(mut me: Me) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&place(&mut me, 2).into())?;
    let address = socket.local_addr()?.as_socket().ok_or(ErrorKind::AddrNotAvailable)?;
    for _ in 0..me.rng.u32(1..4) {
        match TcpStream::connect(address).await {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                ACCOUNT.refused.add(1);
            }
            Err(error) => return Err(error),
            Ok(_) => fault("a connection to where nobody listens"),
        }
    }
    Ok(())
}

/// Gives connecting up at any moment, and accepting, too.
async fn given_up(mut me: Me) -> io::Result<()> {
    let listener = TcpListener::bind(place(&mut me, 4)).await?;
    let address = listener.local_addr()?;
    let (mut made, mut accepted) = (0, 0);
    for _ in 0..me.rng.u32(1..10) {
        if let Ok(stream) = timeout(me.micros(60), TcpStream::connect(address)).await {
            made += 1;
            // To be told of again below: the other end must be an open one.
            let from = stream?.local_addr()?;
            let mut is_there = false;
            while !is_there {
                let accepting = timeout(me.micros(60), listener.accept()).await;
                is_there = matches!(accepting, Ok(Ok((_, it))) if it == from);
            }
            accepted += 1;
        }
    }
    if made != accepted {
        fault("a connection was lost by an accept that was given up");
    }
    Ok(())
}

/// A server that is dropped in the midst of accepting. Its clients get an error or an end.
pub fn server(me: Me) -> Act {
    Box::pin(dropped_server(me))
}

async fn dropped_server(mut me: Me) -> io::Result<()> {
    let listener = TcpListener::bind(place(&mut me, 1)).await?;
    let address = listener.local_addr()?;
    let mut brood = Brood::default();
    brood.push(me.spawn(move |mut me| async move {
        loop {
            let (stream, _) = listener.accept().await?;
            let streams = halves(&mut me, stream);
            if me.rng.bool() {
                serve(&mut me, streams).await?;
            }
        }
    }));
    for _ in 0..me.rng.u32(1..5) {
        brood.push(me.spawn(move |mut me| async move {
            // In any case it is as if the server had left.
            let plan = Plan { leaves: Some((End::Server, u64::MAX)), ..Plan::any(&mut me) };
            let Ok(stream) = TcpStream::connect(address).await else { return Ok(()) };
            let streams = halves(&mut me, stream);
            client(&mut me, streams, plan).await
        }));
    }
    sleep(me.micros(3_000)).await;
    brood.get(0).abort();
    brood.join().await;
    Ok(())
}
