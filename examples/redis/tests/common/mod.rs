//! What the tests share: a server of either kind as a process, and a client over std.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing takes this long, even on a slow machine: what does has gone wrong.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Makes two tests of each function that takes a program: one with either.
#[macro_export]
macro_rules! on_both {
    ($($name:ident)*) => {
        mod on_arc {$(
            #[test]
            fn $name() {
                super::$name(env!("CARGO_BIN_EXE_redis-arc"));
            }
        )*}

        mod on_tokio {$(
            #[test]
            fn $name() {
                super::$name(env!("CARGO_BIN_EXE_redis-tokio"));
            }
        )*}
    };
}

/// A server that runs. Its drop kills it.
pub struct Server {
    child: Child,
    output: Receiver<String>,
    pub port: String,
}

impl Server {
    pub fn start(program: &str) -> Self {
        Self::start_with(program, &[])
    }

    pub fn start_with(program: &str, arguments: &[&str]) -> Self {
        Self::start_in(program, arguments, None)
    }

    /// With a variable of the environment.
    pub fn start_in(program: &str, arguments: &[&str], variable: Option<[&str; 2]>) -> Self {
        let mut command = Command::new(program);
        command.envs(variable.map(|[name, value]| (name, value)));
        command.args(["--port", "0", "--workers", "2"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");

        // A thread reads the lines, so that they can be waited for with a deadline.
        let (sender, output) = channel();
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| drop(sender.send(line))));
        let line = output.recv_timeout(DEADLINE).expect("a line with the address");
        let port = line.strip_prefix("listening on redis://127.0.0.1:");
        let port = port.and_then(|it| it.strip_suffix(" with 2 workers"));
        let port = port.unwrap_or_else(|| panic!("not what was promised: {line}")).to_owned();
        Self { child, output, port }
    }

    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(format!("127.0.0.1:{}", self.port)).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        stream.set_write_timeout(Some(DEADLINE)).expect("a timeout");
        stream.set_nodelay(true).expect("an option");
        Client { stream: BufReader::new(stream) }
    }

    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("sh").success());
    }

    /// Waits until it has said this and has ended. Gives how, and the errors that it told.
    pub fn ended(mut self, said: &[&str]) -> (ExitStatus, String) {
        for line in said {
            assert_eq!(self.output.recv_timeout(DEADLINE).as_deref(), Ok(*line));
        }
        // The pipe is closed by the end of the process.
        assert_eq!(self.output.recv_timeout(DEADLINE), Err(RecvTimeoutError::Disconnected));
        let mut errors = String::new();
        let _ = self.child.stderr.take().expect("piped").read_to_string(&mut errors);
        (self.child.wait().expect("a child"), errors)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request as an array of bulks. Its arguments have spaces between them.
pub fn encoded(request: &str) -> String {
    let words: Vec<_> = request.split(' ').collect();
    let mut text = format!("*{}\r\n", words.len());
    for word in words {
        text += &format!("${}\r\n{word}\r\n", word.len());
    }
    text
}

/// A connection to a server, with a deadline for whatever it waits for.
pub struct Client {
    pub stream: BufReader<TcpStream>,
}

impl Client {
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the server reads");
    }

    /// Sends a request, and gives the reply.
    pub fn call(&mut self, request: &str) -> String {
        self.send(encoded(request).as_bytes());
        self.reply()
    }

    /// Calls one after the other; the replies must be these.
    #[track_caller]
    pub fn check(&mut self, calls: &[(&str, &str)]) {
        for (request, expected) in calls {
            assert_eq!(self.call(request), *expected, "{request}");
        }
    }

    /// A reply: `+OK`, `-ERR ...`, `:1`, `text`, `nil` or `[a b]`.
    pub fn reply(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line in time");
        let line = line.strip_suffix("\r\n").expect("a whole line; the connection has ended");
        let (kind, number) = line.split_at(1);
        match (kind, number.parse::<i64>()) {
            ("$" | "*", Ok(-1)) => "nil".to_owned(),
            ("$", Ok(length)) => {
                let mut bytes = vec![0; length as usize + 2];
                self.stream.read_exact(&mut bytes).expect("a bulk in time");
                bytes.truncate(length as usize);
                String::from_utf8(bytes).expect("UTF-8")
            }
            ("*", Ok(count)) => {
                let items: Vec<_> = (0..count).map(|_| self.reply()).collect();
                format!("[{}]", items.join(" "))
            }
            _ => line.to_owned(),
        }
    }

    /// All there is, to the end. What is cut off counts as an end, too.
    pub fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        match self.stream.read_to_end(&mut bytes) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => String::from_utf8(bytes).expect("UTF-8"),
        }
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
