//! A chat room over TCP: one line is one message, to everybody else.
//!
//! ```text
//! $ cargo run --release --example chat
//! listening on tcp://127.0.0.1:8080 with 2 workers
//! try: nc 127.0.0.1 8080
//! ```
//!
//! In two other terminals, type `nc 127.0.0.1 8080`. In one you see
//!
//! ```text
//! * what is your name?
//! ann
//! * welcome, ann
//! * bob joined
//! bob: hello
//! ```
//!
//! A client that says nothing for five minutes has to leave, and so has one that does not read what
//! the others say: the last 256 lines wait for it, and a write waits for five seconds. Ctrl-c ends
//! the server, and tells the clients:
//!
//! ```text
//! * the server is shutting down
//! ```

mod common;

use arc::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use arc::net::TcpStream;
use arc::select;
use arc::sync::broadcast::{Receiver, Sender, channel};
use arc::time::{Instant, sleep_until, timeout};
pub use common::{Failure, Options, Server};
use common::{Stop, say};
use std::collections::BTreeSet;
use std::future::pending;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a client may say nothing, and how long it may take to read a line.
const IDLE_MAX: Duration = Duration::from_secs(300);
const WRITE_MAX: Duration = Duration::from_secs(5);

/// How many lines are kept for those who have not read them yet.
const LINES_MAX: usize = 256;

/// The longest line, and the longest name.
const LINE_BYTES: usize = 4096;
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
    let room = Arc::new(Room { names: Mutex::default(), lines: channel(LINES_MAX).0 });
    while let Some(stream) = server.accept().await {
        server.spawn(|stop| client(stream, stop, room.clone()));
    }
    server.finish().await
}

const NO_PANIC: &str = "nobody panics while the names are locked";

/// Who is there, and what is said.
struct Room {
    names: Mutex<BTreeSet<String>>,
    lines: Sender<Line>,
}

/// By whom a line was said, who does not hear it again, and the line.
type Line = (Arc<str>, Arc<str>);

impl Room {
    /// None: there is somebody of this name.
    fn enter(self: &Arc<Self>, name: &str) -> Option<Seat> {
        if !self.names.lock().expect(NO_PANIC).insert(name.to_owned()) {
            return None;
        }
        let seat = Seat { room: self.clone(), name: name.into(), lines: self.lines.subscribe() };
        seat.say(format!("* {name} joined\n"));
        Some(seat)
    }
}

/// A place in the room. Its drop gives it up, whatever ends the client's task.
struct Seat {
    room: Arc<Room>,
    name: Arc<str>,
    lines: Receiver<Line>,
}

impl Seat {
    fn say(&self, text: String) {
        // It fails if nobody is there.
        let _ = self.room.lines.send((self.name.clone(), text.into()));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.room.names.lock().expect(NO_PANIC).remove(&*self.name);
        self.say(format!("* {} left\n", self.name));
    }
}

async fn client(stream: TcpStream, mut stop: Stop, room: Arc<Room>) -> io::Result<()> {
    let (mut read, mut write) = (BufReader::new(&stream), &stream);
    let introduced = timeout(IDLE_MAX, introduce(&mut read, &mut write, &room));
    let Some(seat) = stop.or(introduced).await.transpose()?.transpose()?.flatten() else {
        return Ok(());
    };
    let farewell = chat(&mut read, &mut write, &mut stop, seat).await?;
    timeout(WRITE_MAX, write.write_all(farewell.as_bytes())).await?
}

/// Asks for a name until there is a good one. None: the client left.
async fn introduce(
    read: &mut BufReader<&TcpStream>,
    write: &mut &TcpStream,
    room: &Arc<Room>,
) -> io::Result<Option<Seat>> {
    write.write_all(b"* what is your name?\n").await?;
    let mut bytes = Vec::new();
    while let Some(name) = line(read, &mut bytes).await? {
        let is_good = (1..=NAME_BYTES).contains(&name.len())
            && name.chars().all(|character| character.is_ascii_alphanumeric());
        if is_good && let Some(seat) = room.enter(&name) {
            return Ok(Some(seat));
        }
        write
            .write_all(b"* a name has 1 to 20 letters and digits, and nobody else has it\n")
            .await?;
    }
    Ok(None)
}

/// Passes on what the client says, and what the others say, until it leaves. Gives what it is told
/// then.
async fn chat(
    read: &mut BufReader<&TcpStream>,
    write: &mut &TcpStream,
    stop: &mut Stop,
    mut seat: Seat,
) -> io::Result<&'static str> {
    write.write_all(format!("* welcome, {}\n", seat.name).as_bytes()).await?;
    let mut bytes = Vec::new();
    let mut idle = Instant::now() + IDLE_MAX;
    loop {
        // What is awaited here can be dropped without losing anything. A write could not: it has
        // the loop for itself. In this order: a client is heard when it has heard the others.
        let heard = select! {
            biased;
            _ = stop.or(pending::<()>()) => return Ok("* the server is shutting down\n"),
            () = sleep_until(idle) => {
                return Ok("* you have been quiet for too long: good-bye\n");
            }
            heard = seat.lines.recv() => heard,
            said = line(read, &mut bytes) => match said? {
                None => return Ok(""),
                Some(text) => {
                    idle = Instant::now() + IDLE_MAX;
                    if !text.is_empty() {
                        seat.say(format!("{}: {text}\n", seat.name));
                    }
                    continue;
                }
            },
        };
        match heard {
            Err(_) => return Ok("* you did not keep up: good-bye\n"),
            Ok((speaker, _)) if speaker == seat.name => {}
            Ok((_, text)) => timeout(WRITE_MAX, write.write_all(text.as_bytes())).await??,
        }
    }
}

/// The next line, without what a terminal would take as a command. None: the end. If it is dropped,
/// `bytes` has what has come of the line.
async fn line(read: &mut BufReader<&TcpStream>, bytes: &mut Vec<u8>) -> io::Result<Option<String>> {
    let room = LINE_BYTES - bytes.len();
    read.take(room as u64).read_until(b'\n', bytes).await?;
    if !bytes.ends_with(b"\n") {
        return match bytes.len() {
            LINE_BYTES => Err(io::Error::other("the line is too long")),
            _ => Ok(None),
        };
    }
    let bytes = mem::take(bytes);
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.chars().filter(|character| !character.is_control()).collect()))
}
