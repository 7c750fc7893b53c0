//! Programs with one dependency build and run, and programs for tokio become programs for arc when
//! their imports change.
//!
//! The programs in `both/` are written for arc. The same text with `tokio::` for `arc::`, and
//! without arc's prelude, is a program for tokio. Both are built, and talk to each other.

#[cfg(target_os = "linux")]
mod compiler;
#[cfg(unix)]
mod moved;
mod packages;
#[cfg(unix)]
mod web;

use packages::Package;
use std::io::Write;
use std::net::UdpSocket;
use std::time::Duration;

/// What the program of many parts prints.
const PARTS: [&str; 5] = [
    "udp: hello",
    "squares: 385",
    "lines: [\"first\", \"second\", \"third\"]",
    "select: done",
    "channels: 3",
];

/// The programs of `both/`.
const BOTH: [(&str, &str); 9] = [
    ("client", include_str!("both/client.rs")),
    ("fetch", include_str!("both/fetch.rs")),
    ("halves", include_str!("both/halves.rs")),
    ("lines", include_str!("both/lines.rs")),
    ("numbers", include_str!("both/numbers.rs")),
    ("pages", include_str!("both/pages.rs")),
    ("store", include_str!("both/store.rs")),
    ("streams", include_str!("both/streams.rs")),
    ("udp_echo", include_str!("both/udp_echo.rs")),
];

/// Returns a dependency on arc-async with these features.
fn arc(features: &str) -> String {
    let path = env!("CARGO_MANIFEST_DIR");
    format!("arc = {{ package = \"arc-async\", path = {path:?}, features = [{features}] }}\n")
}

/// Returns the source, which must use the one name alone.
fn checked(source: &str) -> String {
    assert!(!source.contains("arc_"), "the program uses one name");
    source.to_owned()
}

/// Returns the same program for tokio.
fn for_tokio(program: &str, source: &str) -> String {
    let source = source.replace("use arc::prelude::*;\n", "");
    let source = source.replace("arc::", "tokio::");
    assert!(!source.contains("arc"), "{program} has nothing of arc's left");
    source
}

#[test]
fn a_program_needs_one_dependency() {
    let programs = [
        ("parts", checked(include_str!("parts.rs"))),
        ("counting", checked(include_str!("counting.rs"))),
    ];
    let package = Package::build("one-dependency", &arc(""), &programs);
    assert_eq!(package.run("parts", &[]), PARTS);
    assert_eq!(package.run("counting", &[]), ["number: 7", "read: 4, then: 0"]);
}

#[test]
fn programs_run_on_arc_and_on_tokio_by_changed_imports_alone() {
    let bytes = "bytes = \"1.10\"\n";
    let tokio = "tokio = { version = \"1.45\", features = [\"io-std\", \"io-util\", \"macros\", \
                 \"net\", \"rt-multi-thread\", \"signal\", \"sync\", \"time\"] }\n";
    let on_arc = BOTH.map(|(name, source)| (name, checked(source)));
    let on_tokio = BOTH.map(|(name, source)| (name, for_tokio(name, source)));
    let on_arc = Package::build("on-arc", &(arc("") + bytes), &on_arc);
    let on_tokio = Package::build("on-tokio", &(tokio.to_owned() + bytes), &on_tokio);

    for (server, client) in [(&on_arc, &on_arc), (&on_arc, &on_tokio), (&on_tokio, &on_arc)] {
        pages_are_fetched(server, client);
        the_store_keeps_and_publishes(server, client);
    }
    for package in [&on_arc, &on_tokio] {
        datagrams_come_back(package);
        lines_are_numbered(package);
        tokios_imports_are_enough(package);
    }
}

fn pages_are_fetched(server: &Package, client: &Package) {
    let pages = server.start("pages", &[]);
    let printed = client.run("fetch", &[&pages.address()]);
    // The paths of ten pages have two bytes, and those of forty have three.
    assert_eq!(printed, ["50 pages, 140 bytes, 1 not in time"]);
}

fn the_store_keeps_and_publishes(server: &Package, client: &Package) {
    let store = server.start("store", &[]);
    let printed = client.run("client", &[&store.address()]);
    assert_eq!(
        printed,
        [
            "key 19: 361",
            "the short one has expired",
            "subscribers: 1",
            "news: one, two",
            "mistake: ERROR unknown command \"GUT key\"",
        ]
    );
    #[cfg(unix)]
    {
        store.interrupt();
        assert_eq!(store.end(), ["stopped"]);
    }
}

fn datagrams_come_back(package: &Package) {
    let echo = package.start("udp_echo", &[]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.connect(echo.address()).expect("an address");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    let mut buffer = [0; 16];
    for text in ["one", "another"] {
        socket.send(text.as_bytes()).expect("it is sent");
        let length = socket.recv(&mut buffer).expect("it comes back");
        assert_eq!(&buffer[..length], text.as_bytes());
    }
    socket.send(b"STOP").expect("it is sent");
    assert!(echo.end().is_empty());
}

/// These programs have no prelude.
fn tokios_imports_are_enough(package: &Package) {
    assert_eq!(package.run("numbers", &[]), ["number: 42", "then: 0"]);
    assert_eq!(package.run("halves", &[]), ["ping!"]);
    let mut streams = package.start("streams", &[]);
    let mut input = streams.input.take().expect("it is open");
    input.write_all(b"one\ntwo").expect("it reads");
    drop(input);
    let expected = ["one", "two", "4 read, 3 copied", "[97]", "[98]"];
    assert_eq!(streams.end(), expected);
}

fn lines_are_numbered(package: &Package) {
    let mut lines = package.start("lines", &[]);
    let mut input = lines.input.take().expect("it is open");
    input.write_all(b"first\nsec").expect("it reads");
    assert_eq!(lines.line(), "1 first");
    input.write_all(b"ond\r\nlast").expect("it reads");
    assert_eq!(lines.line(), "2 second");
    drop(input);
    assert_eq!(lines.end(), ["3 last"]);
}
