//! The command line of the load generators, and what they print.

use crate::exchange::Exchange;
use crate::load::{self, Outcome, Pace, Plan};
use crate::options;
use clap::Parser;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Loads a server, and prints what it took.
#[derive(Parser)]
struct Options {
    /// Where the server listens, HOST:PORT
    #[arg(long = "addr")]
    address: String,
    /// How many connections there are
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// For how long requests are sent
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// How many are sent at most
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    requests: u64,
    /// How many a second fall due, at fixed times on each connection; without, as fast as answers
    /// come
    #[arg(long, value_parser = positive)]
    rate: Option<f64>,
    /// How many a second fall due, at random times (Poisson) and on any connection that is free
    #[arg(long, value_parser = positive, conflicts_with_all = ["rate", "block"])]
    open: Option<f64>,
    /// Where the random times begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Look for answers without ever sleeping, on a core of its own
    #[arg(long)]
    spin: bool,
    /// One HTTP request in N computes for 2 ms; those are not measured
    #[arg(long, value_name = "N", default_value_t = 0)]
    slow_every: u64,
    /// One connection more blocks a thread of the server now and then
    #[arg(long)]
    block: bool,
    /// Only open the connections, for the measurement of memory: print `connected`; after a line on
    /// stdin make one request on each, print `answered`; end with stdin
    #[arg(long)]
    idle: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// End when the process ends that started this one
    #[arg(long)]
    with_parent: bool,
}

impl Options {
    fn plan(&self, exchange: Exchange) -> io::Result<Plan> {
        let pace = match (self.open, self.rate) {
            (Some(rate), _) => Pace::Open { rate, seed: self.seed },
            (None, Some(rate)) => Pace::Fixed { rate },
            (None, None) => Pace::Closed,
        };
        let address = self.address.to_socket_addrs()?.next();
        Ok(Plan {
            address: address.ok_or(ErrorKind::NotFound)?,
            exchange,
            connections: self.connections,
            duration: Duration::try_from_secs_f64(self.seconds).map_err(io::Error::other)?,
            requests: self.requests,
            pace,
            spin: self.spin,
            slow_every: self.slow_every,
            block: self.block,
        })
    }
}

/// A rate.
fn positive(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| *rate > 0.0);
    rate.ok_or_else(|| "it takes more than 0".to_owned())
}

/// A load generator's `main`.
///
/// # Errors
///
/// The server cannot be reached, or the system fails.
fn run(exchange: Exchange) -> io::Result<()> {
    let options = Options::parse();
    options::prepare(options.with_parent);
    let plan = options.plan(exchange)?;
    if options.idle {
        return idle(&plan);
    }
    let outcome = load::run(&plan)?;
    if options.json {
        println!("{}", json(&outcome));
    } else {
        print_outcome(&outcome);
    }
    Ok(())
}

/// The `main` of `http-load`.
pub fn http() -> io::Result<()> {
    run(Exchange::Http)
}

/// The `main` of `echo-load`.
pub fn echo() -> io::Result<()> {
    run(Exchange::Echo)
}

fn print_outcome(outcome: &Outcome) {
    let seconds = outcome.elapsed.as_secs_f64();
    println!(
        "{:.0} answers/s ({} in {seconds:.2} s), {} others, {} errors",
        outcome.answers as f64 / seconds,
        outcome.answers,
        outcome.other_answers,
        outcome.errors
    );
    if let Some(error) = &outcome.first_error {
        println!("the first error: {error}");
    }
    println!("mean   {:>10.1} µs", outcome.latencies.mean() / 1e3);
    for percent in [50.0, 90.0, 99.0, 99.9, 100.0] {
        let micros = outcome.latencies.value_at_percentile(percent) as f64 / 1e3;
        println!("p{percent:<5} {micros:>10.1} µs");
    }
}

/// One line; latencies in microseconds.
fn json(outcome: &Outcome) -> String {
    let micros = |percent| outcome.latencies.value_at_percentile(percent) as f64 / 1e3;
    format!(
        "{{\"answers\":{},\"other_answers\":{},\"errors\":{},\"seconds\":{},\"mean\":{},\
         \"p50\":{},\"p90\":{},\"p99\":{},\"p999\":{},\"max\":{}}}",
        outcome.answers,
        outcome.other_answers,
        outcome.errors,
        outcome.elapsed.as_secs_f64(),
        outcome.latencies.mean() / 1e3,
        micros(50.0),
        micros(90.0),
        micros(99.0),
        micros(99.9),
        micros(100.0)
    )
}

/// Opens connections and keeps them, as the one at the other end of stdin says.
fn idle(plan: &Plan) -> io::Result<()> {
    let mut streams = Vec::new();
    for _ in 0..plan.connections {
        streams.push(TcpStream::connect(plan.address)?);
    }
    say("connected")?;
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Ok(());
    }
    for stream in &mut streams {
        request(stream, plan.exchange)?;
    }
    say("answered")?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn request(stream: &mut TcpStream, exchange: Exchange) -> io::Result<()> {
    stream.write_all(exchange.request(crate::exchange::Kind::Plain))?;
    let mut input = Vec::new();
    let mut part = [0; 1024];
    loop {
        match stream.read(&mut part)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => input.extend_from_slice(&part[..count]),
        }
        if exchange.is_complete(&input).map_err(io::Error::other)? {
            return Ok(());
        }
    }
}

fn say(line: &str) -> io::Result<()> {
    println!("{line}");
    io::stdout().flush()
}
