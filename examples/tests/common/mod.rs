//! An example as a process, and whoever speaks to it.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Nothing takes this long, even on a slow machine: what does has gone wrong.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Cargo puts the examples beside the folder of the tests.
pub fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.parent().and_then(|deps| deps.parent());
    let path = folder.expect("target/profile/deps").join("examples").join(name);
    assert!(path.exists(), "run `cargo build -p arc-examples --examples` first: {path:?}");
    Command::new(path)
}

/// An example that runs. Its drop kills it.
pub struct Example {
    pub child: Child,
    output: Receiver<String>,
    errors: Receiver<String>,
    pub address: String,
}

/// The lines of a pipe, so that they can be waited for with a deadline.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    let lines = BufReader::new(pipe).lines().map_while(Result::ok);
    // Nobody hears it when the test is over.
    thread::spawn(move || lines.for_each(|line| drop(sender.send(line))));
    receiver
}

impl Example {
    /// A server with the options of `examples/common`.
    pub fn start(name: &str) -> Self {
        Self::run(example(name).args(["--addr", "127.0.0.1:0", "--workers", "2", "--verbose"]))
    }

    /// Any server: its first line has the address.
    pub fn run(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example starts");
        let output = lines(child.stdout.take().expect("piped"));
        let errors = lines(child.stderr.take().expect("piped"));
        let mut server = Self { child, output, errors, address: String::new() };
        let line = server.line();
        let words = line.to_lowercase();
        let url = words.strip_prefix("listening on ").expect("not the line that was promised");
        let url = url.split(' ').next().unwrap_or_default();
        server.address = url.rsplit('/').next().unwrap_or_default().to_owned();
        server
    }

    /// The next line that is not about what to type.
    pub fn line(&self) -> String {
        loop {
            let line = self.output.recv_timeout(DEADLINE).expect("a line in time");
            if !line.starts_with("try: ") {
                return line;
            }
        }
    }

    /// The next line of errors that begins so.
    pub fn error(&self, start: &str) -> String {
        loop {
            let line = self.errors.recv_timeout(DEADLINE).expect("a line of errors");
            if line.starts_with(start) {
                return line;
            }
        }
    }

    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).expect("the example listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        stream.set_write_timeout(Some(DEADLINE)).expect("a timeout");
        Client { stream: BufReader::new(stream) }
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let killed = Command::new("kill").args([name, &id]).status();
        assert!(killed.expect("kill is there").success());
    }

    /// Ctrl-c; returns when the example has taken notice.
    pub fn interrupt(&self) {
        self.signal("-INT");
        assert_eq!(self.line(), "stopping");
    }

    /// Waits for the end of the process. Gives its exit status.
    pub fn status(&mut self) -> Option<i32> {
        // The pipe is closed by the end of the process.
        assert_eq!(self.output.recv_timeout(DEADLINE), Err(RecvTimeoutError::Disconnected));
        self.child.wait().expect("a child").code()
    }

    /// It must end by itself, and without an error: nothing was cut off.
    pub fn has_ended(mut self) {
        assert_eq!(self.line(), "stopped");
        assert_eq!(self.status(), Some(0));
    }

    pub fn end(self) {
        self.interrupt();
        self.has_ended();
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection to an example, with a deadline for whatever it waits for.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).expect("the example reads");
    }

    /// Sends on a thread of its own, in pieces: who answers waits until somebody reads.
    pub fn send_meanwhile(&self, text: String) -> thread::JoinHandle<()> {
        let mut writer = self.stream.get_ref().try_clone().expect("a copy");
        thread::spawn(move || {
            for piece in text.as_bytes().chunks(997) {
                writer.write_all(piece).expect("the example reads");
            }
        })
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line in time");
        line
    }

    /// Sends this, and expects the line.
    #[track_caller]
    pub fn ask(&mut self, text: &str, answer: &str) {
        self.send(text);
        assert_eq!(self.line(), answer);
    }

    pub fn exactly(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).expect("so many bytes in time");
        String::from_utf8(bytes).expect("UTF-8")
    }

    /// All there is, to the end. What is cut off counts as an end, too.
    pub fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        match self.stream.read_to_end(&mut bytes) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => String::from_utf8(bytes).expect("UTF-8"),
        }
    }

    /// One HTTP response: its head in lower case, its body.
    pub fn response(&mut self) -> (String, String) {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let line = self.line().to_ascii_lowercase();
            assert!(!line.is_empty(), "the connection ended within a head: {head:?}");
            if line == "\r\n" {
                return (head, self.exactly(length));
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().expect("a length");
            }
            head += &line;
        }
    }

    #[track_caller]
    pub fn expect(&mut self, status: u16, body: &str) -> String {
        let (head, found) = self.response();
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
        assert_eq!(found, body);
        head
    }
}
