//! What the tests share: a server in this process, a client over std, and redis's own tools.

#![allow(dead_code, reason = "each test file uses a part of it")]

use arc::net::TcpListener;
use arc::runtime::Runtime;
use growing::frame::{Input, Reply};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing takes this long, even on a slow machine: what does has gone wrong.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A server that runs. Its drop ends it.
pub struct Server {
    pub runtime: Runtime,
    pub address: SocketAddr,
}

impl Server {
    /// Starts what `serve` makes of a listener.
    pub fn start<F>(serve: impl FnOnce(TcpListener) -> F) -> Self
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(runtime.spawn(serve(listener)));
        Server { runtime, address }
    }

    pub fn connect(&self) -> Client {
        Client::new(self.address)
    }

    /// Waits until it has as many tasks as this.
    pub fn has_tasks(&self, count: usize) {
        until("the tasks of clients that have gone end", || self.runtime.tasks().len() == count);
    }
}

/// Waits until it is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < DEADLINE, "{what}: not after {DEADLINE:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A client whose every wait has an end.
pub struct Client {
    pub stream: TcpStream,
    input: Input,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        stream.set_write_timeout(Some(DEADLINE)).expect("a timeout");
        Client { stream, input: Input::default() }
    }

    pub fn send(&mut self, request: &str) {
        self.stream.write_all(&bytes_of(request)).expect("it reads");
    }

    /// The next reply, without its line break. None: the connection is over.
    pub fn reply(&mut self) -> Option<String> {
        loop {
            if let Some(reply) = self.input.reply() {
                return Some(String::from_utf8_lossy(&reply).trim_end().replace("\r\n", " "));
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(count) => self.input.add(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no reply: {error}"),
            }
        }
    }

    pub fn ask(&mut self, request: &str) -> String {
        self.send(request);
        self.reply().expect("a reply")
    }
}

/// The bytes of a request, whose words are given.
pub fn bytes_of(request: &str) -> Vec<u8> {
    let mut reply = Reply::default();
    reply.request(&request.split(' ').collect::<Vec<_>>());
    reply.bytes
}

/// A file that does not exist yet. Its drop removes it.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("arc-growing-{}-{number}.journal", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Whether redis's tools are there. On CI's Linux machines they have to be.
pub fn has_tools() -> bool {
    let is_there = command("redis-cli", &["--version"]).status().is_ok();
    let must_be = cfg!(target_os = "linux") && std::env::var_os("CI").is_some();
    assert!(is_there || !must_be, "redis-cli is not on the PATH: apt-get install redis-tools");
    if !is_there {
        eprintln!("SKIPPED: redis-cli is not on the PATH (Debian's package redis-tools has it)");
    }
    is_there
}

fn command(tool: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(tool);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Server {
    /// What redis-cli prints.
    pub fn redis_cli(&self, words: &str) -> String {
        let port = self.address.port().to_string();
        let arguments = ["-h", "127.0.0.1", "-p", &port, "--no-raw"];
        let arguments: Vec<&str> = arguments.into_iter().chain(words.split(' ')).collect();
        let output = command("redis-cli", &arguments).output().expect("redis-cli starts");
        assert!(output.status.success(), "{words}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Starts redis-benchmark.
    pub fn benchmark(&self, arguments: &str) -> Child {
        let port = self.address.port().to_string();
        let first = ["-h", "127.0.0.1", "-p", &port, "-q"];
        let arguments: Vec<&str> = first.into_iter().chain(arguments.split(' ')).collect();
        command("redis-benchmark", &arguments).spawn().expect("redis-benchmark starts")
    }

    /// A real client works with it. `tasks` is how many tasks it has without any client.
    pub fn serves_redis_tools(&self, tests: &str, tasks: usize) {
        if !has_tools() {
            return;
        }
        assert_eq!(self.redis_cli("PING"), "PONG");
        assert_eq!(self.redis_cli("ECHO hello"), "\"hello\"");
        let mut benchmark = self.benchmark(&format!("-n 5000 -P 8 -c 20 -t {tests}"));
        until("redis-benchmark ends", || benchmark.try_wait().is_ok_and(|it| it.is_some()));
        let output = benchmark.wait_with_output().expect("it ends");
        let printed = String::from_utf8_lossy(&output.stdout).replace('\r', "\n");
        assert!(output.status.success(), "{printed}");
        for test in tests.split(',') {
            let is_done = |line: &str| {
                line.to_lowercase().starts_with(test) && line.contains("requests per second, p50=")
            };
            assert!(printed.lines().any(is_done), "{test} in {printed}");
        }
        self.survives_killed_clients(tasks);
    }

    /// Clients are killed in the middle of their load, and others come. Nothing of them is left.
    fn survives_killed_clients(&self, tasks: usize) {
        for _ in 0..3 {
            let mut benchmark = self.benchmark("-n 100000000 -P 4 -c 20 -t ping");
            until("the load begins", || self.runtime.tasks().len() > tasks + 10);
            benchmark.kill().expect("it runs");
            benchmark.wait().expect("it ends");
            self.has_tasks(tasks);
            assert_eq!(self.connect().ask("PING"), "+PONG");
        }
    }
}
