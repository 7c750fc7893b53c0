//! The examples as a user meets them: each is started as a process, spoken to, and ended by ctrl-c.
//! What they print is what their headers promise.

#![cfg(unix)]

mod common;
#[path = "../../tests/this_program/mod.rs"]
mod this_program;

use common::{DEADLINE, Example, example};
use std::process::Stdio;

/// The examples with the options of `examples/common`.
const SERVERS: [&str; 5] = ["echo", "http", "http_echo", "tinyhttp", "chat"];

/// Runs an example that is to end by itself: its exit status, what it prints, and its errors.
fn output(name: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = example(name);
    let command = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = this_program::output(command.spawn().expect("the example starts"), DEADLINE);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn examples_that_end_by_themselves_print_what_their_headers_say() {
    for (name, source) in [
        ("hello", include_str!("../hello.rs")),
        ("inspect", include_str!("../inspect.rs")),
        ("observe", include_str!("../observe.rs")),
        ("timeline", include_str!("../timeline.rs")),
    ] {
        let shown = source.lines().skip_while(|line| !line.starts_with("//! $ ")).skip(1);
        let shown = shown.take_while(|line| *line != "//! ```");
        let promised: String = shown.map(|line| format!("{}\n", &line[4..])).collect();
        let (status, text, errors) = output(name, &[]);
        let is_same = without_times(&text) == without_times(&promised);
        assert!(is_same, "{name} prints\n{text}and not\n{promised}");
        assert_eq!((status, &*errors), (Some(0), ""), "{name}");
    }
}

/// How long something takes depends on the machine: `12 ms` becomes `ms`.
fn without_times(text: &str) -> String {
    let is_time = |part: &&str| part.chars().all(|letter| letter.is_ascii_digit());
    let parts = Vec::from_iter(text.split(' '));
    let kept = parts.iter().enumerate().filter(|(place, part)| {
        !(is_time(part) && parts.get(place + 1).is_some_and(|next| next.starts_with("ms")))
    });
    Vec::from_iter(kept.map(|(_, part)| *part)).join(" ")
}

#[test]
fn the_command_line_says_what_is_wrong() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = taken.local_addr().expect("an address").to_string();
    for name in SERVERS {
        for (arguments, code, mistake) in [
            (["--what", "1"], 2, "not understood: --what 1 (--help".to_owned()),
            (["--workers", "0"], 2, "not understood: --workers 0 (--help".to_owned()),
            (["-p", "65536"], 2, "not understood: -p 65536 (--help".to_owned()),
            (["--grace", "-1"], 2, "not understood: --grace -1 (--help".to_owned()),
            (["--addr", "localhost"], 1, "cannot listen on localhost: ".to_owned()),
            (["--addr", &taken], 1, format!("cannot listen on {taken}: ")),
        ] {
            let (status, text, errors) = output(name, &arguments);
            assert_eq!((status, &*text), (Some(code), ""), "{name} {errors}");
            assert!(errors.starts_with(&format!("Error: {mistake}")), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
        let (status, text, _) = output(name, &["--help"]);
        assert!(status == Some(0) && text.contains("--addr HOST:PORT"), "{text}");
    }
    for name in ["hyper_hello", "graceful"] {
        let (status, text, _) = output(name, &["--help"]);
        assert!(status == Some(0) && text.starts_with("Usage: [HOST:PORT]"), "{text}");
        assert_eq!(output(name, &["--port"]).0, Some(2));
        let (status, _, errors) = output(name, &[&taken]);
        assert!(status == Some(1) && errors.starts_with("cannot listen on "), "{errors}");
    }
}

#[test]
fn echo_sends_back_what_it_gets() {
    // It has the options of may and coio, too.
    for arguments in [["-t", "2", "-p", "0"], ["--threads", "2", "-b", "127.0.0.1:0"]] {
        let echo = Example::run(example("echo").args(arguments));
        let (mut one, mut other) = (echo.connect(), echo.connect());
        one.ask("one\n", "one\n");
        other.ask("other\n", "other\n");
        let long = "0123456789abcdef".repeat(1 << 16);
        let writing = one.send_meanwhile(long.clone());
        assert!(one.exactly(long.len()) == long, "what came back is not what was sent");
        writing.join().expect("it writes");
        echo.end();
        assert_eq!(one.rest() + &other.rest(), "");
    }
}

#[test]
fn a_server_prints_its_tasks_on_quit() {
    let echo = Example::start("echo");
    let mut client = echo.connect();
    client.ask("one\n", "one\n");
    for _ in 0..2 {
        echo.signal("-QUIT");
        // One waits for signals.
        assert_eq!(echo.error("arc: "), "arc: 2 unfinished tasks, 2 workers");
        for _ in 0..2 {
            let task = echo.error("  task ");
            assert!(task.contains("spawned at examples/common/server.rs:"), "{task}");
            // The first report looks twice, and so knows whether the task has moved.
            assert!(task.contains(", so for at least "), "{task}");
        }
    }
    drop(client);
    echo.end();
}

#[test]
fn echo_client_loads_echo_and_prints_what_came_of_it() {
    let echo = Example::start("echo");
    let address = echo.address.clone();
    let arguments = ["-t", "2", "-c", "10", "-l", "1000", "-d", "2", "-a", &address];
    let (code, text, errors) = output("echo_client", &arguments);
    assert_eq!((code, &*errors), (Some(0), ""));
    let number = |before: &str| {
        let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before:?} in {text}"));
        let digits = rest.split(|it: char| !it.is_ascii_digit()).next();
        digits.and_then(|it| it.parse::<u64>().ok()).unwrap_or_else(|| panic!("{rest}"))
    };
    let (sent, received) = (number("\nRequests: "), number("\nResponses: "));
    assert!(received > 0 && (received..=received + 10).contains(&sent), "{text}");
    let expected = format!(
        "==================Benchmarking: {address}==================\n\
         10 clients, running 1000 bytes, 2 sec.\n\n\
         Speed: {} request/sec,  {} response/sec, {} kb/sec\n\
         Requests: {sent}\nResponses: {received}\n",
        sent / 2,
        received / 2,
        sent * 1000 / 2 / 1024
    );
    assert_eq!(text, expected);
    // All of its connections were taken, and are gone: the server ends at once.
    echo.end();

    let (code, _, errors) = output("echo_client", &["-c", "2", "-d", "1", "-a", &address]);
    assert_eq!((code, errors.lines().count()), (Some(1), 1), "{errors}");
    let start = format!("Error: 2 of the connections to {address}: ");
    assert!(errors.starts_with(&start) && errors.contains("refused"), "{errors}");
    for arguments in [&[][..], &["-a"], &["-d", "0", "-a", &address], &["-x"]] {
        let (code, _, errors) = output("echo_client", arguments);
        assert!(code == Some(2) && errors.contains("Usage:"), "{errors}");
    }
}

#[test]
fn graceful_finishes_lines_and_lets_no_others_in() {
    for signal in ["-INT", "-TERM"] {
        let server = Example::run(example("graceful").arg("127.0.0.1:0"));
        let (mut idle, mut busy) = (server.connect(), server.connect());
        idle.ask("one\n", "one\n");
        // The server has read a part of the second line.
        busy.ask("two\nthr", "two\n");
        server.signal(signal);
        assert_eq!(server.line(), "stopping, with 2 client(s)");
        assert_eq!(idle.rest(), "", "it was between two lines");
        assert!(std::net::TcpStream::connect(&server.address).is_err());
        busy.ask("ee\n", "three\n");
        assert_eq!(busy.rest(), "");
        server.has_ended();
    }
}

#[test]
fn chat_passes_on_what_clients_say() {
    let chat = Example::start("chat");
    let join = |name: &str| {
        let mut client = chat.connect();
        assert_eq!(client.line(), "* what is your name?\n");
        client.ask(&format!("{name}\n"), &format!("* welcome, {name}\n"));
        client
    };
    let mut ann = join("ann");
    let mut bob = join("bob");
    assert_eq!(ann.line(), "* bob joined\n");
    ann.send("hello, bob\n\nare you ");
    assert_eq!(bob.line(), "ann: hello, bob\n");
    bob.send("\x1b[2Jgr\u{fc}ezi\n");
    assert_eq!(ann.line(), "bob: [2Jgr\u{fc}ezi\n");
    // What had come of a line is not lost when something else happens.
    ann.send("there?\r\n");
    assert_eq!(bob.line(), "ann: are you there?\n");

    let mut late = chat.connect();
    late.line();
    for name in ["ann", "an n", "", "123456789012345678901"] {
        let complaint = "* a name has 1 to 20 letters and digits, and nobody else has it\n";
        late.ask(&format!("{name}\n"), complaint);
    }
    drop(bob);
    assert_eq!(ann.line(), "* bob left\n");
    late.ask("bob\n", "* welcome, bob\n");
    assert_eq!(ann.line(), "* bob joined\n");
    late.send("x".repeat(5000));
    assert_eq!(ann.line(), "* bob left\n");
    late.rest();

    // More is said than the sockets keep for it, and than the last 256 lines.
    let mut slow = join("slow");
    assert_eq!(ann.line(), "* slow joined\n");
    let line = format!("{}\n", "x".repeat(4000));
    ann.send_meanwhile(line.repeat(5000)).join().expect("it writes");
    assert!(slow.rest().ends_with("* you did not keep up: good-bye\n"));
    assert_eq!(ann.line(), "* slow left\n");
    chat.interrupt();
    assert_eq!(ann.rest(), "* the server is shutting down\n");
    chat.has_ended();
}
