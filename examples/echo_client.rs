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
//! with other numbers. It exits with 1 if a connection has failed, and says why.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{SocketAddr, TcpStream, lookup_host};
use arc::time::{Instant, timeout_at};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const HELP: &str = "\
Tcp echo client.

Usage:
  echo_client [-t <threads>] [-c <connections>] [-d <time>] [-l <length>] -a <address>

Options:
  -t <threads>      number of threads to use [default: 1].
  -l <length>       packet length in bytes [default: 100].
  -c <connections>  concurrent connections  [default: 100].
  -d <time>         time to run in seconds [default: 10].
  -a <address>      target address (e.g. 127.0.0.1:8080).";

#[arc::main(workers = Options::parse().threads)]
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
    threads: usize,
    length: u64,
    connections: u64,
    seconds: u64,
    address: String,
}

impl Options {
    /// Reads the command line. It can be called any number of times.
    ///
    /// Ends the process after a mistake, and says how to call it: with 2.
    fn parse() -> Self {
        let mut options =
            Self { threads: 1, length: 100, connections: 100, seconds: 10, address: String::new() };
        let mut words = std::env::args().skip(1);
        let mut is_right = true;
        while let Some(name) = words.next() {
            let value = words.next().unwrap_or_default();
            match (&*name, value.parse::<u32>()) {
                ("-t", Ok(threads @ 1..=64)) => options.threads = threads as usize,
                ("-l", Ok(length @ 1..)) => options.length = length.into(),
                ("-c", Ok(connections @ 1..)) => options.connections = connections.into(),
                ("-d", Ok(seconds @ 1..)) => options.seconds = seconds.into(),
                ("-a", _) => options.address = value,
                _ => is_right = false,
            }
        }
        if !is_right || options.address.is_empty() {
            eprintln!("{HELP}");
            process::exit(2);
        }
        options
    }
}
