//! What the tests share: a server of either kind as a process, and a client over std.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing takes this long, even on a slow machine: what does has gone wrong.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Both programs.
pub const ARC: &str = env!("CARGO_BIN_EXE_redis-arc");
pub const TOKIO: &str = env!("CARGO_BIN_EXE_redis-tokio");

/// Makes two tests of each function that takes a program: one with either.
#[macro_export]
macro_rules! on_both {
    ($($name:ident)*) => {
        mod on_arc {$(
            #[test]
            fn $name() {
                super::$name(super::common::ARC);
            }
        )*}

        mod on_tokio {$(
            #[test]
            fn $name() {
                super::$name(super::common::TOKIO);
            }
        )*}
    };
}

/// A server that runs. Its drop kills it.
pub struct Server {
    child: Child,
    output: Receiver<String>,
    errors: Receiver<String>,
    pub address: SocketAddr,
}

/// The lines of a pipe, so that they can be waited for with a deadline.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

impl Server {
    pub fn start(program: &str) -> Self {
        Self::start_with(program, &[])
    }

    pub fn start_with(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(["--port", "0", "--workers", "2"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let output = lines(child.stdout.take().expect("piped"));
        let errors = lines(child.stderr.take().expect("piped"));
        let line = output.recv_timeout(DEADLINE).expect("a line with the address");
        let address = line.strip_prefix("listening on redis://");
        let address = address.and_then(|it| it.strip_suffix(" with 2 workers"));
        let address = address.and_then(|it| it.parse().ok());
        let address = address.unwrap_or_else(|| panic!("not what was promised: {line}"));
        Self { child, output, errors, address }
    }

    pub fn port(&self) -> String {
        self.address.port().to_string()
    }

    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        stream.set_write_timeout(Some(DEADLINE)).expect("a timeout");
        stream.set_nodelay(true).expect("an option");
        Client { stream: BufReader::new(stream) }
    }

    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("sh").success());
    }

    /// The next line of errors that is not about a slow machine.
    pub fn error(&self) -> String {
        loop {
            let line = self.errors.recv_timeout(DEADLINE).expect("a line of errors");
            if !line.starts_with("arc: ") {
                return line;
            }
        }
    }

    /// Waits until it has said that it ends, and has.
    pub fn ended(self) -> ExitStatus {
        self.ended_saying(&["stopping", "stopped"])
    }

    /// Waits until it has said this and has ended.
    pub fn ended_saying(mut self, said: &[&str]) -> ExitStatus {
        for line in said {
            assert_eq!(self.output.recv_timeout(DEADLINE).as_deref(), Ok(*line));
        }
        // The pipe is closed by the end of the process.
        assert!(self.output.recv_timeout(DEADLINE).is_err(), "more output");
        self.child.wait().expect("a child")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A reply; it is shown as `+OK`, `-ERR ...`, `:1`, `text`, `nil` or `[a b]`.
pub enum Reply {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Null,
    NullArray,
    Array(Vec<Reply>),
}

impl fmt::Display for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(text) => write!(formatter, "+{text}"),
            Self::Error(text) => write!(formatter, "-{text}"),
            Self::Integer(number) => write!(formatter, ":{number}"),
            Self::Bulk(bytes) => formatter.write_str(&String::from_utf8_lossy(bytes)),
            Self::Null => formatter.write_str("nil"),
            Self::NullArray => formatter.write_str("nil[]"),
            Self::Array(items) => {
                let items: Vec<_> = items.iter().map(Reply::to_string).collect();
                write!(formatter, "[{}]", items.join(" "))
            }
        }
    }
}

/// A request as an array of bulks.
pub fn encoded<A: AsRef<[u8]>>(arguments: &[A]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        let argument = argument.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// A connection to a server, with a deadline for whatever it waits for.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the server reads");
    }

    /// Sends a request, whose arguments have spaces between them.
    pub fn request(&mut self, line: &str) {
        let arguments: Vec<_> = line.split(' ').collect();
        self.send(&encoded(&arguments));
    }

    /// Sends a request, and gives the reply as text.
    pub fn call(&mut self, line: &str) -> String {
        self.request(line);
        self.reply().to_string()
    }

    /// Calls one after the other; the replies must be these.
    #[track_caller]
    pub fn check(&mut self, calls: &[(&str, &str)]) {
        for (line, expected) in calls {
            assert_eq!(self.call(line), *expected, "{line}");
        }
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line in time");
        let line = line.strip_suffix("\r\n").map(str::to_owned);
        line.expect("a whole line; the connection has ended")
    }

    pub fn reply(&mut self) -> Reply {
        let line = self.line();
        let (kind, text) = line.split_at(1);
        let number = || text.parse::<i64>().unwrap_or_else(|_| panic!("a number in {line:?}"));
        match kind {
            "+" => Reply::Simple(text.to_owned()),
            "-" => Reply::Error(text.to_owned()),
            ":" => Reply::Integer(number()),
            "$" if number() == -1 => Reply::Null,
            "*" if number() == -1 => Reply::NullArray,
            "$" => {
                let mut bytes = vec![0; number() as usize + 2];
                self.stream.read_exact(&mut bytes).expect("a bulk in time");
                assert_eq!(bytes.split_off(bytes.len() - 2), b"\r\n");
                Reply::Bulk(bytes)
            }
            "*" => Reply::Array((0..number()).map(|_| self.reply()).collect()),
            _ => panic!("not a reply: {line:?}"),
        }
    }

    pub fn text(&mut self) -> String {
        self.reply().to_string()
    }

    /// All there is, to the end. What is cut off counts as an end, too.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.stream.read_to_end(&mut bytes) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => bytes,
        }
    }

    /// The same connection, for another thread; one of both reads.
    pub fn another(&self) -> Self {
        let stream = self.stream.get_ref().try_clone().expect("a copy");
        Self { stream: BufReader::new(stream) }
    }

    pub fn is_closed(&mut self) -> bool {
        self.rest().is_empty()
    }

    pub fn finish_sending(&mut self) {
        self.stream.get_ref().shutdown(Shutdown::Write).expect("connected");
    }

    /// Waits until INFO has this line.
    #[track_caller]
    pub fn wait_for_info(&mut self, line: &str) {
        wait_until(line, || self.call("INFO").contains(&format!("{line}\r\n")));
    }
}

/// Waits for a condition that the server brings about.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}
