//! The example `graceful`, as a user meets it.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(20);

struct Server {
    child: Child,
    output: Receiver<String>,
    address: String,
}

/// Cargo puts the examples beside the folder of the tests.
fn graceful() -> Command {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap();
    Command::new(folder.join("examples/graceful"))
}

impl Server {
    fn start() -> Self {
        let mut command = graceful();
        let command = command.arg("127.0.0.1:0").stdout(Stdio::piped());
        let child = command.spawn();
        let mut child = child.expect("cargo build -p arc-examples --examples was run before");
        let pipe = BufReader::new(child.stdout.take().unwrap());
        let (sender, output) = channel();
        thread::spawn(move || pipe.lines().try_for_each(|line| sender.send(line.unwrap())));
        let mut server = Self { child, output, address: String::new() };
        let line = server.line();
        let address = line.strip_prefix("listening on ").unwrap();
        server.address = address.to_owned();
        server
    }

    fn line(&self) -> String {
        self.output.recv_timeout(DEADLINE).unwrap()
    }

    fn client(&self) -> BufReader<TcpStream> {
        let client = TcpStream::connect(&self.address).unwrap();
        client.set_read_timeout(Some(DEADLINE)).unwrap();
        BufReader::new(client)
    }

    fn kill(&self, signal: &str) {
        let id = self.child.id().to_string();
        let killed = Command::new("kill").args([signal, &id]).status();
        assert!(killed.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After a successful test the child has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(client: &mut BufReader<TcpStream>, text: &str) -> String {
    client.get_mut().write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_line(&mut answer).unwrap();
    answer
}

#[test]
fn clients_finish_their_lines_and_no_others_are_let_in() {
    for signal in ["-INT", "-TERM"] {
        let mut server = Server::start();
        let (mut idle, mut busy) = (server.client(), server.client());
        assert_eq!(ask(&mut idle, "one\n"), "one\n");
        // The server has read a part of the second line.
        assert_eq!(ask(&mut busy, "two\nthr"), "two\n");
        server.kill(signal);
        assert_eq!(server.line(), "stopping, with 2 client(s)");
        let mut rest = String::new();
        idle.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "it was between two lines");
        assert!(TcpStream::connect(&server.address).is_err());
        assert_eq!(ask(&mut busy, "ee\n"), "three\n");
        busy.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        assert_eq!(server.line(), "stopped");
        // The pipe is closed by the end of the process.
        assert_eq!(server.output.recv_timeout(DEADLINE), Err(RecvTimeoutError::Disconnected));
        assert!(server.child.wait().unwrap().success());
    }
}

#[test]
fn help_is_no_address_and_options_are_refused() {
    for (argument, code, start) in [("--help", 0, "Usage: "), ("--port", 2, "Error: unknown")] {
        let output = graceful().arg(argument).output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(text.starts_with(start), "{text}");
    }
}
