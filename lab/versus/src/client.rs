//! The command line of the load generators, and what they print.

use crate::exchange::Exchange;
use crate::load::{self, Outcome, Pace, Plan};
use crate::options;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::process;
use std::time::Duration;

const HELP: &str = "\
usage: (http-load | echo-load) --addr HOST:PORT [OPTION...]

  --addr HOST:PORT   where the server listens
  --connections N    how many connections there are (default: 64)
  --seconds S        for how long requests are sent (default: 5)
  --requests N       how many are sent at most
  --rate N           how many a second fall due, at fixed times on each connection
                     (default: as fast as answers come)
  --open N           how many a second fall due, at random times (Poisson) and on any
                     connection that is free
  --seed N           where the random times begin (default: 1)
  --spin             look for answers without ever sleeping, on a core of its own
  --slow-every N     one HTTP request in N computes for 2 ms; those are not measured
  --block            one connection more blocks a thread of the server now and then
  --idle             only open the connections, for the measurement of memory:
                     print `connected`; after a line on stdin make one request on
                     each, print `answered`; end with stdin
  --json             print JSON
  --with-parent      end when the process ends that started this one
";

/// What the command line asks for.
struct Request {
    plan: Plan,
    idle: bool,
    json: bool,
    with_parent: bool,
}

/// A load generator's `main`.
///
/// # Errors
///
/// The server cannot be reached, or the system fails.
fn run(exchange: Exchange) -> io::Result<()> {
    let request = match read(exchange, std::env::args().skip(1)) {
        Ok(Some(request)) => request,
        Ok(None) => {
            print!("{HELP}");
            return Ok(());
        }
        Err(mistake) => {
            eprintln!("Error: {mistake}; --help lists the options");
            process::exit(2);
        }
    };
    options::prepare(request.with_parent);
    if request.idle {
        return idle(&request.plan);
    }
    let outcome = load::run(&request.plan)?;
    if request.json {
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

/// None: help is wanted.
fn read(
    exchange: Exchange,
    mut arguments: impl Iterator<Item = String>,
) -> Result<Option<Request>, String> {
    let mut address = None;
    let mut request = Request {
        plan: Plan {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            exchange,
            connections: 64,
            duration: Duration::from_secs(5),
            requests: u64::MAX,
            pace: Pace::Closed,
            spin: false,
            slow_every: 0,
            block: false,
        },
        idle: false,
        json: false,
        with_parent: false,
    };
    let plan = &mut request.plan;
    let mut open = None;
    let mut seed = 1;
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--addr" => address = Some(value()?),
            "--connections" => plan.connections = number(&name, &value()?)?,
            "--seconds" => plan.duration = Duration::from_secs_f64(number(&name, &value()?)?),
            "--requests" => plan.requests = number(&name, &value()?)?,
            "--rate" => plan.pace = Pace::Fixed { rate: positive(&name, &value()?)? },
            "--open" => open = Some(positive(&name, &value()?)?),
            "--seed" => seed = number(&name, &value()?)?,
            "--spin" => plan.spin = true,
            "--slow-every" => plan.slow_every = number(&name, &value()?)?,
            "--block" => plan.block = true,
            "--idle" => request.idle = true,
            "--json" => request.json = true,
            "--with-parent" => request.with_parent = true,
            _ => return Err(format!("unknown option {name:?}")),
        }
    }
    if let Some(rate) = open {
        plan.pace = Pace::Open { rate, seed };
        if plan.block {
            return Err("--block does not go with --open".to_owned());
        }
    }
    let address = address.ok_or("--addr is missing")?;
    let found = address.to_socket_addrs().ok();
    let found = found.and_then(|mut found| found.next());
    plan.address = found.ok_or(format!("{address:?} is no address"))?;
    Ok(Some(request))
}

/// A number that is not negative.
fn number<T>(name: &str, text: &str) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + Default,
{
    let number = text.parse().ok().filter(|number| *number >= T::default());
    number.ok_or_else(|| format!("{name} takes a number, not {text:?}"))
}

/// A rate.
fn positive(name: &str, text: &str) -> Result<f64, String> {
    number(name, text).and_then(|rate: f64| match rate > 0.0 {
        true => Ok(rate),
        false => Err(format!("{name} takes more than {text}")),
    })
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
        let micros = outcome.latencies.percentile(percent) as f64 / 1e3;
        println!("p{percent:<5} {micros:>10.1} µs");
    }
}

/// One line; latencies in microseconds.
fn json(outcome: &Outcome) -> String {
    let micros = |percent| outcome.latencies.percentile(percent) as f64 / 1e3;
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
