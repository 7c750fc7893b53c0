//! A chat room over TCP: one line is one message, to everybody else.
//!
//! ```text
//! $ cargo run --release --example chat
//! listening on tcp://127.0.0.1:8080 with 2 workers
//! try: nc 127.0.0.1 8080
//! ```
//!
//! In two other terminals, type `nc 127.0.0.1 8080`. One sees
//!
//! ```text
//! * what is your name?
//! ann
//! * welcome, ann; there are 0 others
//! * bob joined
//! bob: hello
//! ```
//!
//! and the other
//!
//! ```text
//! * what is your name?
//! bob
//! * welcome, bob; there are 1 others
//! hello
//! ```
//!
//! A client that says nothing for five minutes has to leave, and so has one that
//! does not read what the others say: each has a queue of 256 messages. Ctrl-c
//! ends the server, and tells the clients:
//!
//! ```text
//! * the server is shutting down
//! ```

mod common;

use arc::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use arc::net::TcpStream;
use arc::time::timeout;
use async_channel::{Receiver, Sender};
pub use common::{Failure, Options, Server};
use common::{Stop, say};
use futures_util::future::{AbortHandle, Abortable, Either, select};
use socket2::SockRef;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a client may say nothing.
const IDLE_MAX: Duration = Duration::from_secs(300);

/// For how long a client that leaves is sent what is still in its queue.
const FAREWELL: Duration = Duration::from_millis(500);

/// How many messages may wait for a client.
const QUEUE_MESSAGES: usize = 256;

/// So much of what a client does not read is the kernel's to keep.
const SEND_BYTES: usize = 64 << 10;

/// The longest message, and the longest name.
const LINE_BYTES: u64 = 4096;
const NAME_BYTES: usize = 20;

#[arc::main(workers = Options::parse().workers)]
async fn main() -> Result<(), Failure> {
    let server = Server::bind(&Options::parse(), "tcp").await?;
    let address = server.address();
    say(format_args!("try: nc {} {}", address.ip(), address.port()));
    serve(server).await
}

/// Serves until ctrl-c. (`lab/seeds/` simulates this.)
pub async fn serve(mut server: Server) -> Result<(), Failure> {
    let room = Arc::new(Room::default());
    while let Some(stream) = server.accept().await {
        server.spawn(|stop| client(stream, stop, room.clone()));
    }
    server.finish().await
}

/// Why a client leaves.
#[derive(Clone, Copy)]
enum Reason {
    Own,
    Idle,
    Shutdown,
}

impl Reason {
    /// What the client is told.
    fn farewell(self) -> Option<&'static str> {
        match self {
            Self::Own => None,
            Self::Idle => Some("* you have been quiet for too long: good-bye\n"),
            Self::Shutdown => Some("* the server is shutting down\n"),
        }
    }

    /// What the others are told.
    fn news(self) -> Option<&'static str> {
        match self {
            Self::Own => Some("left"),
            Self::Idle => Some("was quiet for too long and had to leave"),
            Self::Shutdown => None,
        }
    }
}

/// Who is there. Nothing blocks or waits while its lock is held.
#[derive(Default)]
struct Room {
    members: Mutex<BTreeMap<String, Member>>,
}

struct Member {
    queue: Sender<Arc<str>>,
    /// Ends the client's task where it stands: it may be stuck in a write.
    expel: AbortHandle,
}

impl Room {
    fn members(&self) -> MutexGuard<'_, BTreeMap<String, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None: there is somebody of this name.
    fn enter(self: &Arc<Self>, name: &str, expel: AbortHandle) -> Option<Seat> {
        let (queue, messages) = async_channel::bounded(QUEUE_MESSAGES);
        let mut members = self.members();
        if members.contains_key(name) {
            return None;
        }
        let welcome = format!("* welcome, {name}; there are {} others\n", members.len());
        // A new queue has room.
        let _ = queue.try_send(welcome.into());
        members.insert(name.to_owned(), Member { queue, expel });
        drop(members);
        self.tell(name, &format!("* {name} joined\n"));
        Some(Seat { room: self.clone(), name: name.to_owned(), messages })
    }

    /// Puts a message into every queue but the speaker's. Whose queue is full then has to
    /// leave, and the others are told.
    fn tell(&self, speaker: &str, message: &str) {
        let message: Arc<str> = message.into();
        let mut slow = Vec::new();
        let mut members = self.members();
        members.retain(|name, Member { queue, expel }| {
            let fits = name == speaker || queue.try_send(message.clone()).is_ok();
            let keeps_up = fits && !queue.is_full();
            if !keeps_up {
                expel.abort();
                slow.push(name.clone());
            }
            keeps_up
        });
        if slow.is_empty() {
            return;
        }
        // One line, however many they are; and those who are left have room for it, so
        // that nobody has to leave because others had to.
        let news = format!("* {} did not keep up and had to leave\n", slow.join(", "));
        let news: Arc<str> = news.into();
        for member in members.values() {
            let _ = member.queue.try_send(news.clone());
        }
    }

    /// Closes the queue: what is in it, and the farewell, still go out.
    fn leave(&self, seat: &Seat, reason: Reason) {
        let mut members = self.members();
        // Whose queue is closed has left before: the name may be somebody else's.
        let is_there = !seat.messages.is_closed();
        let Some(member) = is_there.then(|| members.remove(&seat.name)).flatten() else {
            return;
        };
        drop(members);
        if let Some(farewell) = reason.farewell() {
            // With a full queue it goes without.
            let _ = member.queue.try_send(farewell.into());
        }
        if let Some(news) = reason.news() {
            self.tell(&seat.name, &format!("* {} {news}\n", seat.name));
        }
    }
}

/// A place in the room; its drop gives it up, whatever ends the client's task.
struct Seat {
    room: Arc<Room>,
    name: String,
    messages: Receiver<Arc<str>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.room.leave(self, Reason::Own);
    }
}

async fn client(stream: TcpStream, stop: Stop, room: Arc<Room>) -> io::Result<()> {
    // The kernel would keep megabytes for each who does not read.
    SockRef::from(&stream).set_send_buffer_size(SEND_BYTES)?;
    let (expel, registration) = AbortHandle::new_pair();
    match Abortable::new(chat(stream, stop, room, expel), registration).await {
        Ok(result) => result,
        Err(_) => Err(io::Error::other("it did not read what the others said")),
    }
}

async fn chat(
    stream: TcpStream,
    mut stop: Stop,
    room: Arc<Room>,
    expel: AbortHandle,
) -> io::Result<()> {
    let (read, mut write) = (&stream, &stream);
    let mut read = BufReader::new(read);
    let introduced = stop.or(introduce(&mut read, &mut write, &room, expel)).await;
    let Some(seat) = introduced.transpose()?.flatten() else {
        return Ok(());
    };
    let mut sending = pin!(send(&mut write, &seat.messages));
    let receiving = pin!(receive(&mut read, &seat));
    let reason = match stop.or(select(receiving, &mut sending)).await {
        None => Reason::Shutdown,
        Some(Either::Left((reason, _))) => reason?,
        Some(Either::Right((result, _))) => return result,
    };
    room.leave(&seat, reason);
    timeout(FAREWELL, sending).await?
}

/// Asks for a name until there is a good one. None: the client left.
async fn introduce(
    read: &mut BufReader<&TcpStream>,
    write: &mut &TcpStream,
    room: &Arc<Room>,
    expel: AbortHandle,
) -> io::Result<Option<Seat>> {
    write.write_all(b"* what is your name?\n").await?;
    while let Some(name) = timeout(IDLE_MAX, line(read)).await?? {
        let is_good = (1..=NAME_BYTES).contains(&name.len())
            && name.chars().all(|character| character.is_ascii_alphanumeric());
        let seat = is_good.then(|| room.enter(&name, expel.clone()));
        let complaint = match seat {
            Some(Some(seat)) => return Ok(Some(seat)),
            Some(None) => "* this name is taken, choose another\n",
            None => "* a name has 1 to 20 letters and digits\n",
        };
        write.write_all(complaint.as_bytes()).await?;
    }
    Ok(None)
}

/// Passes on what the client says, until it leaves.
async fn receive(read: &mut BufReader<&TcpStream>, seat: &Seat) -> io::Result<Reason> {
    loop {
        let text = match timeout(IDLE_MAX, line(read)).await {
            Err(_) => return Ok(Reason::Idle),
            Ok(line) => line?,
        };
        match text.as_deref() {
            None => return Ok(Reason::Own),
            Some("") => {}
            Some(text) => seat.room.tell(&seat.name, &format!("{}: {text}\n", seat.name)),
        }
        // One line a turn, however fast they come: it is the turn of the others,
        // and of what this client is to be sent.
        arc::task::yield_now().await;
    }
}

/// Sends what the others say, until the queue is closed and empty.
async fn send(write: &mut &TcpStream, messages: &Receiver<Arc<str>>) -> io::Result<()> {
    while let Ok(message) = messages.recv().await {
        write.write_all(message.as_bytes()).await?;
    }
    Ok(())
}

/// The next line, without what a terminal would take as a command. None: the end.
async fn line(read: &mut BufReader<&TcpStream>) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    read.take(LINE_BYTES).read_until(b'\n', &mut bytes).await?;
    if !bytes.ends_with(b"\n") {
        return match bytes.len() as u64 {
            LINE_BYTES => Err(io::Error::new(ErrorKind::InvalidData, "the line is too long")),
            _ => Ok(None),
        };
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.chars().filter(|character| !character.is_control()).collect()))
}
