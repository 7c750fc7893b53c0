//! The examples as a user meets them: what they print is what their headers promise.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Nothing takes this long, even on a slow machine: what does has gone wrong.
const DEADLINE: Duration = Duration::from_secs(30);

/// Where cargo puts the examples: beside the folder of the tests.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.parent().and_then(|deps| deps.parent());
    let path = folder.expect("target/profile/deps").join("examples").join(name);
    let path = path.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(path.exists(), "run `cargo build -p arc-web-examples --examples` first: {path:?}");
    let mut command = Command::new(path);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Kills its process when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended if the test went well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a function gives, which is waited for, but not for ever.
fn soon<T: Send + 'static>(function: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    // Nobody hears it when the deadline is over.
    thread::spawn(move || drop(sender.send(function())));
    receiver.recv_timeout(DEADLINE).expect("it does not take so long")
}

/// What stands in an example's header after the line with its command.
fn promised(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name);
    let source = std::fs::read_to_string(path.with_extension("rs")).expect("it is there");
    let lines = source.lines().skip_while(|line| !line.starts_with("//! $ cargo run")).skip(1);
    let lines = lines.take_while(|line| *line != "//! ```");
    lines.map(|line| line.trim_start_matches("//! ").to_owned() + "\n").collect()
}

fn keeps_its_promise(name: &str) {
    let mut child = Running(example(name).spawn().expect("it starts"));
    let output = child.0.stdout.take().expect("piped");
    let printed = soon(move || std::io::read_to_string(output).expect("it is text"));
    // It has closed its output, so that it is about to end.
    let status = child.0.wait().expect("it can be waited for");
    assert_eq!(printed.replace('\r', ""), promised(name));
    assert!(status.success(), "{status}");
}

macro_rules! keep_their_promises {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            keeps_its_promise(stringify!($name));
        }
    )*};
}

keep_their_promises!(
    both_kinds grpc http2 https in_tokio tokio_crates tokio_streams tower_stack tracing websocket
);

#[test]
fn axum_server_says_what_it_cannot_listen_on() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = example("axum_server").arg(&address).stderr(Stdio::piped()).output();
    let output = output.expect("it starts");
    let errors = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(errors.starts_with(&format!("cannot listen on {address}: ")), "{errors}");
    assert_eq!((output.status.code(), errors.lines().count()), (Some(1), 1), "{errors}");
}

#[test]
fn axum_server_takes_help_and_refuses_options() {
    for (argument, code) in [("--help", 0), ("--port", 2)] {
        let output = example("axum_server").arg(argument).stderr(Stdio::piped()).output();
        let output = output.expect("it starts");
        assert_eq!(output.status.code(), Some(code));
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(text.starts_with("Usage: "), "{text}");
    }
}

/// It has a limit of open files, as `ulimit -n` sets it, and more clients than that.
#[cfg(unix)]
#[test]
fn axum_server_without_free_descriptors_goes_on() {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;

    let server = example("axum_server");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 32; exec \"$0\" 127.0.0.1:0"]).arg(server.get_program());
    let mut child = Running(shell.stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut output = BufReader::new(child.0.stdout.take().expect("piped"));
    let line = soon(move || {
        let mut line = String::new();
        output.read_line(&mut line).map(|_| line)
    });
    let line = line.expect("a line");
    let address = line.trim_end().strip_prefix("listening on http://").expect("its address");
    let connect = || TcpStream::connect(address).expect("it listens");
    let mut clients: Vec<_> = (0..50).map(|_| connect()).collect();
    // Those that came first are served at once, and the others when these leave.
    let late = clients.split_off(20);
    for mut client in clients.into_iter().take(10).chain(late) {
        client.set_read_timeout(Some(DEADLINE)).expect("a socket");
        let request = b"GET /hello/arc HTTP/1.0\r\n\r\n";
        client.write_all(request).expect("it reads");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        assert!(answer.ends_with("Hello, arc!\n"), "{answer}");
    }
}

#[cfg(unix)]
#[test]
fn axum_server_answers_and_ends_by_ctrl_c() {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;

    let mut child = Running(example("axum_server").arg("127.0.0.1:0").spawn().expect("it starts"));
    let mut output = BufReader::new(child.0.stdout.take().expect("piped"));
    let (line, mut output) = soon(move || {
        let mut line = String::new();
        output.read_line(&mut line).map(|_| (line, output))
    })
    .expect("a line");
    let address = line.trim_end().strip_prefix("listening on http://").expect("its address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a socket");
    let request = b"POST /sum HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\
                    content-type: application/json\r\n\r\n[1, 2, 3]";
    stream.write_all(request).expect("it reads");
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200 OK");

    // The connection stays open, without a request.
    let killed = Command::new("kill").args(["-INT", &child.0.id().to_string()]).status();
    assert!(killed.expect("kill is there").success());
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("it is closed");
    assert!(rest.ends_with("\r\n\r\n6"), "{rest}");
    let rest = soon(move || {
        let mut rest = String::new();
        output.read_to_string(&mut rest).map(|_| rest)
    });
    assert_eq!(rest.expect("text"), "stopping\nstopped\n");
    assert!(child.0.wait().expect("it can be waited for").success());
}
