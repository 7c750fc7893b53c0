//! Loads an echo server: every connection sends a packet, waits until it is back, and
//! sends the next. The same as may's `echo_client`, in options and in what it prints.
//!
//! ```text
//! $ cargo run --release --example echo -- -t 2
//! $ cargo run --release --example echo_client -- -t 2 -c 100 -l 100 -d 10 -a 127.0.0.1:8080
//! ==================Benchmarking: 127.0.0.1:8080==================
//! 100 clients, running 100 bytes, 10 sec.
//!
//! Speed: 100000 request/sec,  99990 response/sec, 9765 kb/sec
//! Requests: 1000000
//! Responses: 999900
//! ```
//!
//! with other numbers; before that, one line that is written anew every second:
//!
//! ```text
//! 3 Secs, Speed: 100000 packets/sec,  9765 kb/sec
//! ```
//!
//! It exits with 1 if a connection has failed, and says why.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{SocketAddr, TcpStream, lookup_host};
use arc::time::interval;
use arc::time::{Instant, timeout_at};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::io::{self, Write};
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const HELP: &str = "\
Tcp echo client.

Usage:
  echo_client [-t <threads>] [-c <connections>] [-d <time>] [-l <length>] -a <address>
  echo_client (-h | --help)
  echo_client (-v | --version)

Options:
  -h --help         Show this screen.
  -v --version      Show version.
  -t <threads>      number of threads to use [default: 1].
  -l <length>       packet length in bytes [default: 100].
  -c <connections>  concurrent connections  [default: 100].
  -d <time>         time to run in seconds [default: 10].
  -a <address>      target address (e.g. 127.0.0.1:8080).";

/// The longest packet: one of these for each connection has to fit into the memory.
const LENGTH_MAX: u64 = 1 << 30;
/// More than any machine has descriptors for.
const CONNECTIONS_MAX: u64 = 1 << 20;
/// A year.
const SECONDS_MAX: u64 = 365 * 86_400;

#[arc::main(workers = Options::parse().threads as usize)]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = Options::parse();
    let address = lookup_host(&*options.address).await?.next();
    let address = address.ok_or("the name has no address")?;
    let load = Arc::new(Load {
        packet: vec![0; options.length as usize],
        end: Instant::now() + Duration::from_secs(options.seconds),
        sent: AtomicU64::new(0),
        received: AtomicU64::new(0),
    });
    let clients = (0..options.connections).map(|_| arc::spawn(client(load.clone(), address)));
    let clients: Vec<_> = clients.collect();
    // It is cut off in its last second, as the clients are.
    let _ = timeout_at(load.end, report(&load)).await;

    // One line for all connections that fail alike: a dead port has as many as there are clients.
    let mut failures: BTreeMap<String, u64> = BTreeMap::new();
    for client in clients {
        if let Err(error) = client.await? {
            *failures.entry(error.to_string()).or_default() += 1;
        }
    }
    for (error, connections) in &failures {
        eprintln!("Error: {connections} of the connections to {address}: {error}");
    }
    print(&options, &load);

    let has_failed = !failures.is_empty();
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What the connections share.
struct Load {
    packet: Vec<u8>,
    end: Instant,
    /// Both only counted: nothing else is ordered by them.
    sent: AtomicU64,
    received: AtomicU64,
}

/// One connection, to the end of the time.
async fn client(load: Arc<Load>, address: SocketAddr) -> io::Result<()> {
    match timeout_at(load.end, exchange(&load, address)).await {
        Ok(Err(error)) => Err(error),
        Err(_) => Ok(()),
    }
}

async fn exchange(load: &Load, address: SocketAddr) -> io::Result<Infallible> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut answer = vec![0; load.packet.len()];
    loop {
        stream.write_all(&load.packet).await?;
        load.sent.fetch_add(1, Ordering::Relaxed);
        stream.read_exact(&mut answer).await?;
        load.received.fetch_add(1, Ordering::Relaxed);
    }
}

/// Tells every second how it goes.
async fn report(load: &Load) {
    let mut ticks = interval(Duration::from_secs(1));
    // The first tick comes at once.
    ticks.tick().await;
    let mut before = 0;
    for seconds in 1_u64.. {
        ticks.tick().await;
        let sent = load.sent.load(Ordering::Relaxed);
        let (packets, length) = (sent - before, load.packet.len() as u64);
        before = sent;
        let speed = format!("{packets} packets/sec,  {} kb/sec", packets * length / 1024);
        let mut output = io::stdout();
        // Nobody may be reading any more.
        let _ = write!(output, "\r{seconds} Secs, Speed: {speed}\r").and_then(|()| output.flush());
    }
}

fn print(options: &Options, load: &Load) {
    let Options { address, connections, length, seconds, .. } = options;
    let (sent, received) = (&load.sent, &load.received);
    let (sent, received) = (sent.load(Ordering::Relaxed), received.load(Ordering::Relaxed));
    println!("==================Benchmarking: {address}==================");
    println!("{connections} clients, running {length} bytes, {seconds} sec.\n");
    println!(
        "Speed: {} request/sec,  {} response/sec, {} kb/sec",
        sent / seconds,
        received / seconds,
        sent * length / seconds / 1024
    );
    println!("Requests: {sent}");
    println!("Responses: {received}");
}

/// What the command line says.
struct Options {
    threads: u64,
    length: u64,
    connections: u64,
    seconds: u64,
    address: String,
}

impl Options {
    /// Ends the process: with 0 after `--help` and `--version`, with 2 after a mistake.
    fn parse() -> Self {
        match Self::read(std::env::args().skip(1)) {
            Ok(Ok(options)) => options,
            Ok(Err(text)) => {
                println!("{text}");
                process::exit(0);
            }
            Err(mistake) => {
                eprintln!("Error: {mistake}; --help lists the options");
                process::exit(2);
            }
        }
    }

    /// Inside: the options, or a text that is asked for. Outside: a mistake.
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Result<Self, String>, String> {
        let mut options =
            Self { threads: 1, length: 100, connections: 100, seconds: 10, address: String::new() };
        while let Some(name) = arguments.next() {
            let (place, max) = match &*name {
                "-h" | "--help" => return Ok(Err(HELP.to_owned())),
                "-v" | "--version" => {
                    return Ok(Err(format!("echo_client: {}", env!("CARGO_PKG_VERSION"))));
                }
                "-a" => {
                    options.address = arguments.next().ok_or("-a needs a value")?;
                    continue;
                }
                "-t" => (&mut options.threads, 64),
                "-l" => (&mut options.length, LENGTH_MAX),
                "-c" => (&mut options.connections, CONNECTIONS_MAX),
                "-d" => (&mut options.seconds, SECONDS_MAX),
                unknown => return Err(format!("unknown option {unknown:?}")),
            };
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = value.parse().ok().filter(|number| (1..=max).contains(number));
            *place = number
                .ok_or_else(|| format!("{name} takes a number from 1 to {max}, not {value:?}"))?;
        }
        match options.address.is_empty() {
            true => Err("-a is missing: the address of an echo server".to_owned()),
            false => Ok(Ok(options)),
        }
    }
}
