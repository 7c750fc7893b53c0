//! The script of docs/TOKIO.md that writes `arc` for the crate tokio, and leaves all else.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Each line as it is on tokio and on arc.
const LINES: [(&str, &str); 23] = [
    ("use tokio::{io, net::TcpStream};", "use arc::{io, net::TcpStream};"),
    ("use ::tokio::sync::mpsc;", "use ::arc::sync::mpsc;"),
    ("use tokio as rt;", "use arc as rt;"),
    ("extern crate tokio;", "extern crate arc;"),
    ("#[tokio::main(flavor = \"current_thread\")]", "#[arc::main(flavor = \"current_thread\")]"),
    ("/// Calls [`tokio::spawn`].", "/// Calls [`arc::spawn`]."),
    ("type At = Option<tokio :: time::Instant>;", "type At = Option<arc :: time::Instant>;"),
    ("use {std::fs, tokio::io};", "use {std::fs, arc::io};"),
    ("use {std, tokio};", "use {std, arc};"),
    ("use {one, tokio as rt};", "use {one, arc as rt};"),
    // These are no names of the crate.
    ("use tokio_util::codec;", "use tokio_util::codec;"),
    ("use crate::tokio::Wrapper;", "use crate::tokio::Wrapper;"),
    ("use crate::{other, tokio::Wrapper};", "use crate::{other, tokio::Wrapper};"),
    ("use my::{\n    tokio::{One, Two},\n};", "use my::{\n    tokio::{One, Two},\n};"),
    ("use {my::{tokio, One}, two};", "use {my::{tokio, One}, two};"),
    ("fn run() { self::tokio::run() }", "fn run() { self::tokio::run() }"),
    ("#[cfg(feature = \"tokio\")]", "#[cfg(feature = \"tokio\")]"),
    ("const TARGET: &str = \"tokio::task\";", "const TARGET: &str = \"tokio::task\";"),
    ("use hyper_util::rt::TokioExecutor;", "use hyper_util::rt::TokioExecutor;"),
    ("use hyper_util::rt::{tokio::TokioIo};", "use hyper_util::rt::{tokio::TokioIo};"),
    ("use client::HttpConnector;", "use client::HttpConnector;"),
    ("use tokio_util::task::TaskTracker;", "use tokio_util::task::TaskTracker;"),
    ("use tokio_util::{either, time::DelayQueue};", "use tokio_util::{either, time::DelayQueue};"),
];

/// In `[features]` the dependency is renamed. Its own line is the user's, and a path is a path.
const MANIFEST: &str = r#"[dependencies]
tokio = { version = "1", optional = true }
tokio-util = "0.7"

[features]
net = ["dep:tokio", "tokio/net", "tokio?/time", "tokio-util/codec", "dep:tokio-util"]
seen = ["tokio/tracing"]
many = [
    "hyper-util/tokio",
    "tokio/rt", # or "tokio/rt-multi-thread"
]

[workspace]
members = ["tokio/inner"]
"#;

const MANIFEST_AFTER: &str = r#"[dependencies]
tokio = { version = "1", optional = true }
tokio-util = "0.7"

[features]
net = ["dep:arc", "arc/net", "arc?/time", "tokio-util/codec", "dep:tokio-util"]
seen = ["arc/tracing"]
many = [
    "hyper-util/tokio",
    "arc/rt", # or "arc/rt-multi-thread"
]

[workspace]
members = ["tokio/inner"]
"#;

#[test]
fn names_of_the_crate_are_replaced_and_others_are_told() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("moved");
    let _ = fs::remove_dir_all(&program);
    fs::create_dir_all(program.join("src/target")).expect("the folder can be made");
    let own = "pub(crate) mod tokio;\nfn run() { tokio::run() }\n";
    let before = LINES.map(|(before, _)| format!("{before}\n")).concat();
    fs::write(program.join("src/own.rs"), own).expect("it can be written");
    fs::write(program.join("src/main.rs"), &before).expect("it can be written");
    fs::write(program.join("src/target/built.rs"), &before).expect("it can be written");
    fs::write(program.join("Cargo.toml"), MANIFEST).expect("it can be written");
    let includes = "#![doc = include_str!(\"../README.md\")]\n";
    fs::write(program.join("src/lib.rs"), includes).expect("it can be written");
    fs::write(program.join("README.md"), "It runs on tokio:\ntokio::spawn(a)\n")
        .expect("so can it");

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/from-tokio.sh");
    let output = Command::new("sh").arg(script).current_dir(&program).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let read = |file| fs::read_to_string(program.join(file)).expect("it is there");
    let after = LINES.map(|(_, after)| format!("{after}\n")).concat();
    assert_eq!(read("src/main.rs"), after);
    assert_eq!(read("src/own.rs"), own);
    assert_eq!(read("src/target/built.rs"), before);

    assert_eq!(read("Cargo.toml"), MANIFEST_AFTER);

    let printed = String::from_utf8(output.stdout).expect("a text");
    for line in [
        "./src/own.rs:1:pub(crate) mod tokio;",
        "./src/../README.md:2:tokio::spawn(a)\n",
        "./Cargo.toml:2:tokio = {",
        "./Cargo.toml:7:seen = [\"arc/tracing\"]\n",
    ] {
        assert!(printed.contains(line), "{line} is not in\n{printed}");
    }
    let told: Vec<_> = printed.lines().filter(|line| line.starts_with("./src/main.rs:")).collect();
    let (own, calls) = told.split_at(8);
    assert!(own.iter().all(|line| !line.contains("arc")), "{printed}");
    let ends = ["rt::TokioExecutor;", "HttpConnector;", "TaskTracker;", "time::DelayQueue};"];
    assert_eq!(calls.len(), ends.len(), "{printed}");
    for (line, end) in calls.iter().zip(ends) {
        assert!(line.ends_with(end), "{line} does not end with {end}");
    }
}
