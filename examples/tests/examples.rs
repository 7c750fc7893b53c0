//! The examples as a user meets them: each is started as a process, spoken to, and
//! ended by ctrl-c. What they print is what their headers promise.

#![cfg(unix)]

#[path = "../../tests/this_program/mod.rs"]
mod this_program;

use socket2::{Domain, Socket, Type};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Nothing takes this long, even on a slow machine: what does has gone wrong.
const DEADLINE: Duration = Duration::from_secs(20);

/// Where cargo puts the examples: beside the folder of the tests.
fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.parent().and_then(|deps| deps.parent());
    let path = folder.expect("target/profile/deps").join("examples").join(name);
    assert!(
        path.exists(),
        "{} is missing: run `cargo build -p arc-examples --examples` first",
        path.display()
    );
    path
}

/// An example that runs. Its drop kills it.
struct Example {
    child: Child,
    output: Receiver<String>,
    errors: Receiver<String>,
    address: SocketAddr,
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

impl Example {
    fn start(name: &str) -> Self {
        Self::run(Command::new(binary(name)))
    }

    /// With a limit of open files, as `ulimit -n` sets it.
    fn start_limited(name: &str, files: usize) -> Self {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("ulimit -n {files}; exec \"$0\" \"$@\""));
        shell.arg(binary(name));
        Self::run(shell)
    }

    fn run(command: Command) -> Self {
        Self::run_with(command, &["--addr", "127.0.0.1:0", "--workers=2", "--verbose"])
    }

    fn run_with(mut command: Command, arguments: &[&str]) -> Self {
        command.args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example starts");
        let output = lines(child.stdout.take().expect("piped"));
        let errors = lines(child.stderr.take().expect("piped"));
        let line = output.recv_timeout(DEADLINE).expect("a line with the address");
        let words: Vec<_> = line.split(' ').collect();
        let ["listening", "on", url, "with", "1" | "2", "worker" | "workers"] = words[..] else {
            panic!("not the line that was promised: {line}");
        };
        let (_, address) = url.split_once("://").expect("a URL");
        let address = address.parse().expect("an address");
        let hint = output.recv_timeout(DEADLINE).expect("a hint");
        assert!(hint.starts_with("try: "), "{hint}");
        Self { child, output, errors, address }
    }

    fn connect(&self) -> Client {
        Client::new(TcpStream::connect(self.address).expect("the example listens"))
    }

    /// For this client the kernel keeps little of what it does not read.
    fn connect_narrow(&self) -> Client {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a size");
        socket.connect(&self.address.into()).expect("the example listens");
        Client::new(socket.into())
    }

    /// Ctrl-c.
    fn press_ctrl_c(&self) {
        let kill = format!("kill -INT {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("sh").success());
    }

    /// Ctrl-c; returns when the example has taken notice.
    fn interrupt(&self) {
        self.press_ctrl_c();
        assert_eq!(self.output.recv_timeout(DEADLINE).as_deref(), Ok("stopping"));
    }

    /// It must end by itself, and without an error: nothing was cut off.
    fn has_ended(mut self) {
        assert_eq!(self.output.recv_timeout(DEADLINE).as_deref(), Ok("stopped"));
        assert_eq!(self.status(), Some(0));
    }

    /// Waits for the end of the process.
    fn status(&mut self) -> Option<i32> {
        // The pipe is closed by the end of the process.
        assert!(self.output.recv_timeout(DEADLINE).is_err(), "more output");
        self.child.wait().expect("a child").code()
    }

    /// The next line of errors that is not about a connection, or about a slow machine.
    fn error(&self) -> String {
        loop {
            let line = self.errors.recv_timeout(DEADLINE).expect("a line of errors");
            if !line.starts_with("connection: ") && !line.starts_with("arc: ") {
                return line;
            }
        }
    }

    fn end(self) {
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
struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        stream.set_write_timeout(Some(DEADLINE)).expect("a timeout");
        Self { reader: BufReader::new(stream) }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).expect("the example reads");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("a line in time");
        line
    }

    /// All there is, to the end. What is cut off counts as an end, too.
    fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => String::from_utf8(bytes).expect("UTF-8"),
        }
    }

    /// Whether the example has closed the connection.
    fn is_closed(&mut self) -> bool {
        self.rest().is_empty()
    }

    fn finish_sending(&mut self) {
        self.reader.get_ref().shutdown(Shutdown::Write).expect("connected");
    }

    /// One HTTP response: its head in lower case, its body.
    fn response(&mut self) -> (String, String) {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let line = self.line().to_ascii_lowercase();
            assert!(!line.is_empty(), "the connection ended within a head: {head:?}");
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().expect("a length");
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).expect("a body in time");
        (head, String::from_utf8(body).expect("UTF-8"))
    }

    fn expect(&mut self, status: u16, body: &str) -> String {
        let (head, found) = self.response();
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
        assert_eq!(found, body);
        head
    }
}

/// The examples with the options of `examples/common`.
const SERVERS: [&str; 5] = ["echo", "http", "http_echo", "tinyhttp", "chat"];

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const HELLO: &str = "Hello, World!";
const JSON: &str = "{\"message\":\"Hello, World!\"}";
const NOT_FOUND: &str = "there are /plaintext and /json\n";

/// Runs an example that is to end by itself.
fn output(name: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(binary(name));
    let command = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the example starts");
    let Output { status, stdout, stderr } = this_program::output(child, DEADLINE);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

/// What the header of an example says after `$ `, line by line.
fn promised(source: &str) -> String {
    let mut lines = source.lines().skip_while(|line| !line.starts_with("//! $ "));
    lines.next().expect("a command");
    let shown = lines.take_while(|line| *line != "//! ```");
    shown.fold(String::new(), |mut text, line| {
        writeln!(text, "{}", line.trim_start_matches("//! ")).expect("a string");
        text
    })
}

#[test]
fn hello_prints_what_its_header_says() {
    let (code, output, errors) = output("hello", &[]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(output, promised(include_str!("../hello.rs")));
}

#[test]
fn inspect_prints_what_its_header_says() {
    let (code, output, errors) = output("inspect", &[]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(output, promised(include_str!("../inspect.rs")));
}

#[test]
fn timeline_prints_what_its_header_says() {
    let (code, output, errors) = output("timeline", &[]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(output, promised(include_str!("../timeline.rs")));
}

#[test]
fn mistakes_on_the_command_line_are_one_line_and_code_2() {
    for (arguments, mistake) in [
        (&["--what"][..], "unknown option \"--what\""),
        (&["what"], "unknown option \"what\""),
        (&["--verbose=yes"], "unknown option \"--verbose=yes\""),
        (&["--workers"], "--workers needs a value"),
        (&["--workers", "0"], "--workers takes a number from 1 to 64, not \"0\""),
        (&["--workers=-1"], "--workers takes a number from 1 to 64, not \"-1\""),
        (&["--workers", "many"], "--workers takes a number from 1 to 64, not \"many\""),
        (&["--addr", "localhost"], "--addr takes HOST:PORT, not \"localhost\""),
        (&["--addr=:80"], "--addr takes HOST:PORT, not \":80\""),
        (&["--addr", "localhost:65536"], "--addr takes HOST:PORT, not \"localhost:65536\""),
        (&["-t", "0"], "-t takes a number from 1 to 64, not \"0\""),
        (&["--threads"], "--threads needs a value"),
        (&["-b", ":80"], "-b takes HOST:PORT, not \":80\""),
        (&["-p", "65536"], "-p takes a port, not \"65536\""),
        (&["--grace=-1"], "--grace takes a number of seconds from 0 to 4294967295, not \"-1\""),
    ] {
        for name in SERVERS {
            let (code, output, errors) = output(name, arguments);
            assert_eq!((code, output.as_str()), (Some(2), ""), "{name} {arguments:?}");
            assert_eq!(errors, format!("Error: {mistake}; --help lists the options\n"));
        }
    }
}

#[test]
fn help_is_given() {
    for name in SERVERS {
        let (code, output, errors) = output(name, &["--help"]);
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        for option in ["--workers N", "--addr HOST:PORT", "-p PORT", "--grace", "--verbose"] {
            assert!(output.contains(option), "{output}");
        }
    }
}

#[test]
fn a_port_in_use_is_one_line_and_code_1() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    for name in SERVERS {
        let (code, output, errors) = output(name, &["--addr", &address]);
        assert_eq!((code, output.as_str()), (Some(1), ""));
        let start = format!("Error: cannot listen on {address}: ");
        assert!(errors.starts_with(&start) && errors.contains("in use"), "{errors}");
        assert!(errors.ends_with("; --addr chooses another address\n"), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn echo_sends_back_what_it_gets() {
    let echo = Example::start("echo");
    let (mut one, mut other) = (echo.connect(), echo.connect());
    one.send(b"one\n");
    other.send(b"other\n");
    assert_eq!((one.line(), other.line()), ("one\n".to_owned(), "other\n".to_owned()));
    let long = "0123456789abcdef".repeat(1 << 16);
    let (mut writer, sent) = (one.reader.get_ref().try_clone().expect("a copy"), long.clone());
    let writing = thread::spawn(move || {
        writer.write_all(sent.as_bytes()).expect("echo reads");
        writer.shutdown(Shutdown::Write).expect("connected");
    });
    assert!(one.rest() == long, "what came back is not what was sent");
    writing.join().expect("it writes");
    echo.end();
    assert!(other.is_closed());
}

#[test]
fn a_server_prints_its_tasks_on_quit() {
    let echo = Example::start("echo");
    let mut client = echo.connect();
    client.send(b"one\n");
    assert_eq!(client.line(), "one\n");

    for _ in 0..2 {
        let kill = format!("kill -QUIT {}", echo.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("sh").success());
        let mut report = Vec::new();
        while report.last().is_none_or(|line: &String| !line.starts_with("  (not known: ")) {
            report.push(echo.errors.recv_timeout(DEADLINE).expect("a line of the report"));
        }
        assert!(report.contains(&"arc: 1 unfinished task, 2 workers".to_owned()), "{report:?}");
        let task = report.iter().find(|line| line.starts_with("  task ")).expect("its line");
        assert!(task.contains("spawned at examples/common/server.rs:"), "{task}");
        // The first report looks twice, and so knows whether the task has moved.
        assert!(task.contains(", so for at least "), "{task}");
    }
    drop(client);
    echo.end();
}

#[test]
fn echo_has_the_options_of_may_and_coio() {
    for arguments in [
        ["-t", "2", "-p", "0"],
        ["--threads", "2", "-b", "127.0.0.1:0"],
        ["-p=0", "-t", "2", "--verbose"],
    ] {
        let echo = Example::run_with(Command::new(binary("echo")), &arguments);
        assert!(echo.address.ip().is_loopback() && echo.address.port() != 0);
        assert_ne!(echo.address.port(), 8080, "any free port was asked for");
        let mut client = echo.connect();
        client.send(b"hello\n");
        assert_eq!(client.line(), "hello\n");
        echo.end();
    }
}

/// The number between two texts.
fn number(text: &str, before: &str, after: &str) -> u64 {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before:?} in {text}"));
    let (number, _) = rest.split_once(after).unwrap_or_else(|| panic!("{after:?} in {rest}"));
    number.parse().unwrap_or_else(|error| panic!("{number:?}: {error}"))
}

#[test]
fn echo_client_loads_echo_and_prints_what_came_of_it() {
    let echo = Example::start("echo");
    let address = echo.address.to_string();
    let (code, text, errors) =
        output("echo_client", &["-t", "2", "-c", "10", "-l", "1000", "-d", "2", "-a", &address]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let (progress, rest) = text.split_once("==================").expect("figures");
    assert!(progress.starts_with("\r1 Secs, Speed: "), "{progress:?}");
    let start = format!(
        "Benchmarking: {address}==================\n10 clients, running 1000 bytes, 2 sec.\n\n"
    );
    assert!(rest.starts_with(&start), "{rest}");
    let (sent, received) =
        (number(rest, "\nRequests: ", "\n"), number(rest, "\nResponses: ", "\n"));
    assert!(received > 0 && (received..=received + 10).contains(&sent), "{rest}");
    assert_eq!(number(rest, "Speed: ", " request/sec,  "), sent / 2);
    assert_eq!(number(rest, " request/sec,  ", " response/sec, "), received / 2);
    assert_eq!(number(rest, " response/sec, ", " kb/sec\n"), sent * 1000 / 2 / 1024);
    // All of its connections were taken, and are gone: the server ends at once.
    echo.end();
}

#[test]
fn echo_client_says_what_is_wrong() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    drop(taken);
    let (code, text, errors) = output("echo_client", &["-c", "2", "-d", "1", "-a", &address]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(text.contains("\nResponses: 0\n"), "{text}");
    let start = format!("Error: 2 of the connections to {address}: ");
    assert!(errors.starts_with(&start) && errors.contains("refused"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    for (arguments, mistake) in [
        (&[][..], "-a is missing: the address of an echo server"),
        (&["-a"], "-a needs a value"),
        (&["-d", "0"], "-d takes a number from 1 to 31536000, not \"0\""),
        (&["-t", "65"], "-t takes a number from 1 to 64, not \"65\""),
        (&["-x"], "unknown option \"-x\""),
    ] {
        let (code, text, errors) = output("echo_client", arguments);
        assert_eq!((code, text.as_str()), (Some(2), ""));
        assert_eq!(errors, format!("Error: {mistake}; --help lists the options\n"));
    }
    let (code, text, _) = output("echo_client", &["-v"]);
    assert_eq!(code, Some(0));
    assert_eq!(text, format!("echo_client: {}\n", env!("CARGO_PKG_VERSION")));
    assert!(output("echo_client", &["--help"]).1.contains("Usage:"));
}

#[test]
fn hyper_hello_says_what_is_wrong() {
    for (arguments, mistake) in [
        (&["--port"][..], "unknown option \"--port\""),
        (&["localhost"], "the address is HOST:PORT, not \"localhost\""),
        (&["[::1]:0", "[::1]:1"], "there can be one address"),
    ] {
        let (code, text, errors) = output("hyper_hello", arguments);
        assert_eq!((code, text.as_str()), (Some(2), ""));
        assert_eq!(errors, format!("Error: {mistake}; --help lists the options\n"));
    }
    let (code, text, errors) = output("hyper_hello", &["--help"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(text.contains("(default: 127.0.0.1:3000)"), "{text}");
}

#[test]
fn http_echo_sends_back_what_is_posted() {
    let http_echo = Example::start("http_echo");
    let mut client = http_echo.connect();
    for path in ["/", "/echo"] {
        client.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
        client.expect(200, "Try POST /echo");
    }
    let body = "0123456789abcdef".repeat(1 << 14);
    let head = format!("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}", body.len());
    let (mut writer, request) =
        (client.reader.get_ref().try_clone().expect("a copy"), format!("{head}\r\n\r\n{body}"));
    let writing = thread::spawn(move || writer.write_all(request.as_bytes()).expect("it reads"));
    client.expect(200, &body);
    writing.join().expect("it writes");
    for (method, path) in [("GET", "/other"), ("POST", "/"), ("PUT", "/echo")] {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        client.send(request.as_bytes());
        client.expect(404, "");
    }
    // A part of a body comes back before the rest is there.
    client.send(
        b"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n",
    );
    while client.line() != "\r\n" {}
    assert_eq!((client.line(), client.line()), ("3\r\n".to_owned(), "one\r\n".to_owned()));
    http_echo.interrupt();
    client.send(b"3\r\ntwo\r\n0\r\n\r\n");
    assert_eq!(client.rest(), "3\r\ntwo\r\n0\r\n\r\n");
    http_echo.has_ended();
}

#[test]
fn hyper_hello_answers_as_hypers_own() {
    let mut command = Command::new(binary("hyper_hello"));
    command.arg("127.0.0.1:0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the example starts");
    let output = lines(child.stdout.take().expect("piped"));
    let errors = lines(child.stderr.take().expect("piped"));
    let line = output.recv_timeout(DEADLINE);
    let address = line.as_ref().ok().and_then(|line| line.strip_prefix("Listening on http://"));
    let address = address.and_then(|address| address.parse().ok());
    let address = address.unwrap_or_else(|| panic!("not the line that was promised: {line:?}"));
    // Its drop ends the process.
    let hello = Example { child, output, errors, address };
    let mut client = hello.connect();
    for _ in 0..3 {
        client.send(GET);
        client.expect(200, "Hello World!");
    }
    let mut garbage = hello.connect();
    garbage.send(b"\x16\x03\x01 this is not HTTP\r\n\r\n");
    assert!(garbage.rest().starts_with("HTTP/1.1 400 "));
    let error = hello.output.recv_timeout(DEADLINE).expect("a complaint");
    assert!(error.starts_with("Error serving connection: "), "{error}");
}

#[test]
fn http_keeps_connections_alive() {
    let http = Example::start("http");
    let mut client = http.connect();
    for _ in 0..100 {
        client.send(GET);
        let head = client.expect(200, HELLO);
        assert!(head.contains("content-type: text/plain\r\n"), "{head}");
        assert!(head.contains("\ndate: "), "{head}");
    }
    client.send(&GET.repeat(50));
    for _ in 0..50 {
        client.expect(200, HELLO);
    }
    http.end();
    assert!(client.is_closed());
}

#[test]
fn http_survives_bad_clients() {
    let http = Example::start("http");
    let mut garbage = http.connect();
    garbage.send(b"\x16\x03\x01 this is not HTTP\r\n\r\n");
    assert!(garbage.rest().starts_with("HTTP/1.1 400 "));
    let mut partial = http.connect();
    partial.send(b"GET / HTTP/1.1\r\nHo");
    // Dropped with an answer unread, a socket resets its connection.
    for _ in 0..20 {
        let mut reset = http.connect();
        reset.send(&GET.repeat(100));
        reset.line();
    }
    drop(partial);
    let mut client = http.connect();
    client.send(GET);
    client.expect(200, HELLO);
    assert!(http.errors.recv_timeout(DEADLINE).expect("--verbose").starts_with("connection: "));
    http.end();
}

#[test]
fn http_answers_what_has_begun_before_it_ends() {
    let http = Example::start("http");
    let (mut idle, mut begun) = (http.connect(), http.connect());
    idle.send(GET);
    idle.expect(200, HELLO);
    begun.send(&GET[..20]);
    // The server knows this connection: it was accepted before the answered one.
    let mut later = http.connect();
    later.send(GET);
    later.expect(200, HELLO);
    http.interrupt();
    assert!(idle.is_closed());

    // Its task may run on another worker than that of the idle one. By the time that the server
    // waits for it alone it has been told, too.
    let waiting = "waiting for 1 connection to finish, for 10s at most; ctrl-c ends at once";
    assert_eq!(http.error(), waiting);
    begun.send(&GET[20..]);
    let head = begun.expect(200, HELLO);
    assert!(head.contains("connection: close\r\n"), "{head}");
    assert!(begun.is_closed());
    http.has_ended();
}

/// An HTTP server in the midst of a request, and whoever has sent it.
fn with_half_a_request(name: &str, grace: &str) -> (Example, Client) {
    let arguments = ["--addr", "127.0.0.1:0", "--workers=2", "--grace", grace];
    let server = Example::run_with(Command::new(binary(name)), &arguments);
    let (mut begun, mut answered) = (server.connect(), server.connect());
    begun.send(&GET[..20]);
    answered.send(GET);
    answered.response();
    (server, begun)
}

#[test]
fn a_request_that_never_ends_is_cut_off_and_told() {
    for name in ["http", "tinyhttp"] {
        let (mut server, mut begun) = with_half_a_request(name, "1");
        server.interrupt();
        let waiting = "waiting for 1 connection to finish, for 1s at most; ctrl-c ends at once";
        assert_eq!(server.error(), waiting);
        assert_eq!(server.error(), "Error: cut off 1 connection, not finished within 1s");
        assert!(begun.is_closed());
        assert_eq!(server.status(), Some(1));
    }
}

/// The servers waited for half a second once.
#[test]
fn a_request_that_takes_long_is_answered_before_servers_end() {
    for name in ["http", "tinyhttp"] {
        let (server, mut begun) = with_half_a_request(name, "1000");
        server.interrupt();
        // It is said when it has taken half a second.
        assert!(server.error().starts_with("waiting for 1 connection to finish"));
        begun.send(&GET[20..]);
        begun.response();
        assert!(begun.is_closed());
        server.has_ended();
    }
}

#[test]
fn a_second_ctrl_c_ends_a_server_at_once() {
    let (mut server, mut begun) = with_half_a_request("http", "1000");
    server.interrupt();
    server.press_ctrl_c();
    assert_eq!(server.status(), Some(1));
    assert!(begun.is_closed());
}

/// RFC 9112, section 3.2.
#[test]
fn http_servers_refuse_requests_without_one_right_host() {
    let right =
        ["localhost", "", "a.example:80", "a:", "[::1]:80", "[v7.a:b]", "%41~b,c", "1.2.3.4"];
    let wrong = ["a b", "a/b", "a@b", "a:b", "a:80:80", "[::1", "[::1]a", "[a]", "%4", "\u{e4}"];
    let host = |hosts: &[&str]| hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
    let mut cases: Vec<(String, &str, bool)> = vec![
        (String::new(), "1.1", false),
        (String::new(), "1.0", true),
        (host(&["a", "a"]), "1.1", false),
        (host(&["a", "b"]), "1.0", false),
    ];
    cases.extend(right.map(|it| (host(&[it]), "1.1", true)));
    cases.extend(wrong.map(|it| (host(&[it]), "1.1", false)));
    cases.push((host(&["a b"]), "1.0", false));

    for (name, path) in [("http", "/"), ("http_echo", "/"), ("tinyhttp", "/json")] {
        let server = Example::start(name);
        for (hosts, version, is_right) in &cases {
            let mut client = server.connect();
            client.send(format!("GET {path} HTTP/{version}\r\n{hosts}\r\n").as_bytes());
            let (head, _) = client.response();
            let status = head.split(' ').nth(1);
            let expected = if *is_right { "200" } else { "400" };
            assert_eq!(status, Some(expected), "{name}, HTTP/{version}, {hosts:?}");
            if !is_right {
                assert!(head.contains("connection: close\r\n"), "{head}");
                assert!(client.is_closed());
            }
        }
        server.end();
    }
}

#[test]
fn http_without_free_descriptors_says_so_and_goes_on() {
    let http = Example::start_limited("http", 64);
    let mut clients: Vec<_> = (0..100).map(|_| http.connect()).collect();
    let complaint = http.errors.recv_timeout(DEADLINE).expect("a complaint");
    assert!(complaint.starts_with("cannot accept connections for now: "), "{complaint}");
    assert!(complaint.to_lowercase().contains("too many open files"), "{complaint}");
    // Those that were accepted are served.
    clients[0].send(GET);
    clients[0].expect(200, HELLO);
    // Those that were not, as soon as others leave.
    let mut waiting = clients.split_off(60);
    drop(clients);
    for client in &mut waiting {
        client.send(GET);
        client.expect(200, HELLO);
    }
    http.end();
}

#[test]
fn tinyhttp_answers_as_its_header_says() {
    let tinyhttp = Example::start("tinyhttp");
    let mut client = tinyhttp.connect();
    client.send(b"GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.expect(200, HELLO).contains("content-type: text/plain\r\n"));
    client.send(b"GET /json?query HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.expect(200, JSON).contains("content-type: application/json\r\n"));
    for (target, status, body) in [
        ("/", 404, NOT_FOUND),
        ("http://a/json", 200, JSON),
        ("HTTP://a:80/plaintext?http://a/json", 200, HELLO),
        ("http://a?/json", 404, NOT_FOUND),
        ("http://a", 404, NOT_FOUND),
        ("/json?http://a/plaintext", 200, JSON),
    ] {
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        client.expect(status, body);
    }
    client.send(b"HEAD /json HTTP/1.1\r\nHost: a\r\n\r\nGET /json HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push_str(&client.line());
    }
    assert!(head.contains("Content-Length: 27\r\n"), "{head}");
    client.expect(200, JSON);
    tinyhttp.end();
    assert!(client.is_closed());
}

#[test]
fn tinyhttp_answers_pipelined_requests_in_order() {
    let tinyhttp = Example::start("tinyhttp");
    let mut client = tinyhttp.connect();
    let pages = [("/plaintext", 200, HELLO), ("/json", 200, JSON), ("/", 404, NOT_FOUND)];
    let requests = (0..1000).fold(String::new(), |mut text, index| {
        let path = pages[index % 3].0;
        // Some with a body, which is no request.
        let length = if index % 5 == 0 { 40 } else { 0 };
        let body =
            &"GET /json HTTP/1.1\r\nHost: a\r\n\r\nGET /json HTTP/1.1\r\nHost: a\r\n\r\n"[..length];
        write!(text, "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}")
            .expect("a string");
        text
    });
    // Torn apart at odd places.
    let mut writer = client.reader.get_ref().try_clone().expect("a copy");
    let writing = thread::spawn(move || {
        for piece in requests.as_bytes().chunks(997) {
            writer.write_all(piece).expect("tinyhttp reads");
        }
    });
    for index in 0..1000 {
        let (_, status, body) = pages[index % 3];
        client.expect(status, body);
    }
    writing.join().expect("it writes");
    tinyhttp.end();
}

#[test]
fn tinyhttp_closes_when_it_is_told_to() {
    let tinyhttp = Example::start("tinyhttp");
    for (request, keeps) in [
        ("GET /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false),
        ("GET /json HTTP/1.1\r\nHost: a\r\nconnection: x , CLOSE\r\n\r\n", false),
        ("GET /json HTTP/1.0\r\n\r\n", false),
        ("GET /json HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ("GET /json HTTP/1.0\r\nConnection: close, keep-alive\r\n\r\n", false),
        ("GET /json HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", false),
        ("GET /json HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", true),
    ] {
        let mut client = tinyhttp.connect();
        client.send(request.as_bytes());
        let head = client.expect(200, JSON);
        assert_eq!(head.contains("connection: close\r\n"), !keeps, "{request} {head}");
        if keeps {
            client.send(b"GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n");
            client.expect(200, HELLO);
        } else {
            assert!(client.is_closed());
        }
    }
    tinyhttp.end();
}

#[test]
fn tinyhttp_asks_for_bodies_that_wait_for_it() {
    let tinyhttp = Example::start("tinyhttp");
    let mut client = tinyhttp.connect();
    let rest = "Connection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    client.send(format!("POST /json HTTP/1.1\r\nHost: a\r\n{rest}").as_bytes());
    client.expect(100, "");
    client.expect(200, JSON);
    // HTTP/1.0 would take it for the answer.
    client.send(format!("abcPOST /json HTTP/1.0\r\n{rest}").as_bytes());
    client.expect(200, JSON);
    client.send(b"abc");
    tinyhttp.end();
}

#[test]
fn tinyhttp_refuses_what_it_does_not_understand() {
    let tinyhttp = Example::start("tinyhttp");
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: x\r\n".repeat(100));
    for (request, status) in [
        ("this is not HTTP\r\n\r\n", 400),
        ("GET / HTTP/3.0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        (&*long, 431),
        (&*many, 431),
    ] {
        let mut client = tinyhttp.connect();
        // What came before is answered.
        client.send(b"GET /json HTTP/1.1\r\nHost: a\r\n\r\n");
        client.send(request.as_bytes());
        client.expect(200, JSON);
        let (head, _) = client.response();
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{request} {head}");
        assert!(head.contains("connection: close\r\n"), "{head}");
        client.finish_sending();
        assert!(client.is_closed());
    }
    tinyhttp.end();
}

#[test]
fn tinyhttp_answers_what_has_begun_before_it_ends() {
    let tinyhttp = Example::start("tinyhttp");
    let (mut idle, mut begun) = (tinyhttp.connect(), tinyhttp.connect());
    begun.send(b"GET /json HTTP/1.1\r\nHost: a\r\n\r\nGET /plaintext HT");
    begun.expect(200, JSON);
    idle.send(b"GET /json HTTP/1.1\r\nHost: a\r\n\r\n");
    idle.expect(200, JSON);
    tinyhttp.interrupt();
    assert!(idle.is_closed());
    begun.send(b"TP/1.1\r\nHost: a\r\n\r\n");
    begun.expect(200, HELLO);
    assert!(begun.is_closed());
    tinyhttp.has_ended();
}

/// A client that has given its name.
fn join(chat: &Example, name: &str, others: usize) -> Client {
    join_by(chat.connect(), name, others)
}

fn join_by(mut client: Client, name: &str, others: usize) -> Client {
    assert_eq!(client.line(), "* what is your name?\n");
    client.send(format!("{name}\n").as_bytes());
    assert_eq!(client.line(), format!("* welcome, {name}; there are {others} others\n"));
    client
}

#[test]
fn chat_passes_on_what_clients_say() {
    let chat = Example::start("chat");
    let mut ann = join(&chat, "ann", 0);
    let mut bob = join(&chat, "bob", 1);
    assert_eq!(ann.line(), "* bob joined\n");
    ann.send(b"hello, bob\n\nare you there?\r\n");
    assert_eq!(bob.line(), "ann: hello, bob\n");
    assert_eq!(bob.line(), "ann: are you there?\n");
    bob.send("\x1b[2Jgr\u{fc}ezi\n".as_bytes());
    assert_eq!(ann.line(), "bob: [2Jgr\u{fc}ezi\n");

    let mut late = chat.connect();
    late.line();
    late.send(b"ann\nan n\n\nbob\n");
    assert_eq!(late.line(), "* this name is taken, choose another\n");
    assert_eq!(late.line(), "* a name has 1 to 20 letters and digits\n");
    assert_eq!(late.line(), "* a name has 1 to 20 letters and digits\n");
    assert_eq!(late.line(), "* this name is taken, choose another\n");

    drop(bob);
    assert_eq!(ann.line(), "* bob left\n");
    late.send(b"bob\n");
    assert_eq!(late.line(), "* welcome, bob; there are 1 others\n");
    assert_eq!(ann.line(), "* bob joined\n");
    chat.interrupt();
    assert_eq!(ann.rest(), "* the server is shutting down\n");
    assert_eq!(late.rest(), "* the server is shutting down\n");
    chat.has_ended();
}

#[test]
fn chat_expels_who_does_not_read_or_sends_too_much() {
    let chat = Example::start("chat");
    let mut ann = join(&chat, "ann", 0);
    let slow = join(&chat, "slow", 1);
    assert_eq!(ann.line(), "* slow joined\n");
    // ann has to be told in the end, however much the kernel holds for the other.
    let mut writer = ann.reader.get_ref().try_clone().expect("a copy");
    let (told, is_told) = channel();
    let writing = thread::spawn(move || {
        let line = format!("{}\n", "x".repeat(4000));
        while is_told.try_recv().is_err() {
            writer.write_all(line.as_bytes()).expect("chat reads");
        }
    });
    assert_eq!(ann.line(), "* slow did not keep up and had to leave\n");
    told.send(()).expect("it waits");
    writing.join().expect("it writes");
    drop(slow);

    let mut loud = join(&chat, "loud", 1);
    assert_eq!(ann.line(), "* loud joined\n");
    loud.send(&[b'x'; 5000]);
    assert_eq!(ann.line(), "* loud left\n");
    // To its end, after what was left of the flood.
    loud.rest();
    chat.end();
}

/// They are more than a queue has room for, and all are slow at once.
#[test]
#[cfg_attr(target_os = "macos", ignore = "a process may open 256 files, and this needs more")]
fn chat_expels_a_crowd_and_keeps_who_reads() {
    const CROWD: usize = 280;
    let arguments = ["--addr", "127.0.0.1:0", "--workers=1"];
    let chat = Example::run_with(Command::new(binary("chat")), &arguments);
    let mut reader = join(&chat, "reader", 0);
    let crowd: Vec<_> = (0..CROWD)
        .map(|index| {
            let name = format!("slow{index}");
            let client = join_by(chat.connect_narrow(), &name, index + 1);
            assert_eq!(reader.line(), format!("* {name} joined\n"));
            client
        })
        .collect();
    let mut speaker = join(&chat, "speaker", CROWD + 1);
    assert_eq!(reader.line(), "* speaker joined\n");
    let text = "x".repeat(4000);
    let mut left = 0;
    // One line after the other: the reader keeps up, however slow the machine is.
    while left < CROWD {
        speaker.send(format!("{text}\n").as_bytes());
        loop {
            let line = reader.line();
            if let Some(names) = line.strip_suffix(" did not keep up and had to leave\n") {
                left += names.split(", ").count();
            } else {
                assert_eq!(line, format!("speaker: {text}\n"));
                break;
            }
        }
    }
    drop(crowd);
    speaker.send(b"who is there?\n");
    assert_eq!(reader.line(), "speaker: who is there?\n");
    chat.end();
}

/// An example that writes what stands out into a file, and the file.
#[cfg(feature = "trace")]
fn start_traced(name: &str) -> (Example, PathBuf) {
    let path = std::env::temp_dir().join(format!("arc-{name}-{}.txt", std::process::id()));
    let mut command = Command::new(binary(name));
    command.env("ARC_TRACE", &path);
    (Example::run(command), path)
}

/// Of what stands out only delays may be there, which are a busy machine's fault.
#[cfg(feature = "trace")]
#[track_caller]
fn nothing_waits_in_vain(path: PathBuf) {
    let text = std::fs::read_to_string(&path).expect("the example has written its timeline");
    std::fs::remove_file(path).expect("it is there");
    let findings = text.split("\n\n").nth(1).expect("a list of findings");
    assert!(findings.starts_with("What stands out\n"), "{text}");
    let delays = ["late: ", "late timer: ", "long poll: ", "worker ", "wake-ups that did nothing"];
    for finding in findings.lines().skip(1).filter(|line| *line != "  nothing") {
        let (_, finding) = finding.split_once(" ms: ").expect("a time");
        assert!(delays.iter().any(|kind| finding.starts_with(kind)), "{finding}\n{text}");
    }
}

#[cfg(feature = "trace")]
#[test]
fn timeline_of_http_under_load_finds_no_mistake() {
    let (http, path) = start_traced("http");
    thread::scope(|scope| {
        for _ in 0..8 {
            let mut client = http.connect();
            scope.spawn(move || {
                for _ in 0..200 {
                    client.send(GET);
                    client.expect(200, HELLO);
                }
            });
        }
    });
    http.end();
    nothing_waits_in_vain(path);
}

#[cfg(feature = "trace")]
#[test]
fn timeline_of_a_chat_finds_no_mistake() {
    let (chat, path) = start_traced("chat");
    let mut clients: Vec<Client> =
        (0..8).map(|number| join(&chat, &format!("client{number}"), number)).collect();
    // Each has seen those join who came after it.
    for (number, client) in clients.iter_mut().enumerate() {
        (number + 1..8).for_each(|_| drop(client.line()));
    }
    for message in 0..50 {
        clients[message % 8].send(format!("message {message}\n").as_bytes());
        for other in (0..8).filter(|other| *other != message % 8) {
            assert!(clients[other].line().ends_with(&format!(": message {message}\n")));
        }
    }
    chat.end();
    nothing_waits_in_vain(path);
}
