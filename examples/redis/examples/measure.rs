//! Loads both servers with redis-benchmark, by turns, and prints ratios.
//!
//! ```text
//! $ cargo build --release -p arc-redis
//! $ cargo run --release -p arc-redis --example measure -- 5
//! -P test     requests/s: arc   tokio   arc/tokio (lowest to highest)   CPU per request: arc/tokio
//! 1 get               120000  110000   1.09 (1.02 to 1.11)             0.95 (0.94 to 0.97)
//! ...
//! ```
//!
//! with other numbers. The argument says how many rounds. Both servers run from the
//! beginning to the end, with two workers each; only one is loaded at a time, and which
//! one is first changes from round to round. The CPU time is the server's, user and
//! system, from `/proc`. Linux, and Debian's package redis-tools.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TESTS: [&str; 9] =
    ["ping_mbulk", "set", "get", "incr", "lpush", "sadd", "hset", "zadd", "mset"];

/// Requests in a pipeline, and for how many requests a test goes on.
const PIPELINES: [(u32, u32); 2] = [(1, 60_000), (16, 400_000)];

const CLIENTS: u32 = 50;

/// `/proc` counts CPU time in these.
const TICKS_PER_SECOND: f64 = 100.0;

fn main() -> Result<()> {
    let rounds = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let servers = [Server::start("redis-arc")?, Server::start("redis-tokio")?];
    println!("{rounds} rounds, {CLIENTS} clients, 2 workers; ratios are arc's to tokio's");
    println!(
        "{:>2} {:<12}{:>9}{:>9}   {:<24}CPU per request",
        "-P", "test", "arc", "tokio", "requests/s"
    );
    for (pipeline, requests) in PIPELINES {
        let mut all = [Vec::new(), Vec::new()];
        for test in TESTS {
            let mut samples = [Vec::new(), Vec::new()];
            for round in 0..rounds {
                for turn in 0..2 {
                    let which = (round + turn) % 2;
                    samples[which].push(servers[which].load(test, pipeline, requests)?);
                }
            }
            let column = |pick: fn(&(f64, f64)) -> f64| -> [Vec<f64>; 2] {
                samples.each_ref().map(|samples| samples.iter().map(pick).collect())
            };
            let (speed, cost) = (column(|it| it.0), column(|it| it.1));
            let medians = speed.clone().map(median);
            let ratios = [ratios(&speed), ratios(&cost)];
            for (all, ratios) in all.iter_mut().zip(&ratios) {
                all.push(median(ratios.clone()));
            }
            let [speed, cost] = ratios.map(spread);
            let [arc, tokio] = medians;
            println!("{pipeline:>2} {test:<12}{arc:>9.0}{tokio:>9.0}   {speed:<24}{cost}");
        }
        let [speed, cost] = all.map(spread);
        println!("{pipeline:>2} {:<30}   {speed:<24}{cost}", "all tests");
    }
    Ok(())
}

/// arc's to tokio's, round by round: what else the machine did changes slowly.
fn ratios(samples: &[Vec<f64>; 2]) -> Vec<f64> {
    samples[0].iter().zip(&samples[1]).map(|(arc, tokio)| arc / tokio).collect()
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len() % 2 {
        0 => f64::midpoint(samples[middle - 1], samples[middle]),
        _ => samples[middle],
    }
}

fn spread(samples: Vec<f64>) -> String {
    let low = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let high = samples.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({low:.2} to {high:.2})", median(samples))
}

/// A server that runs. Its drop kills it.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(name: &str) -> Result<Self> {
        let example = std::env::current_exe()?;
        let folder = example.parent().and_then(|examples| examples.parent());
        let program = folder.map_or_else(PathBuf::new, |folder| folder.join(name));
        let mut command = Command::new(&program);
        command.args(["--port", "0", "--workers", "2"]).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{program:?}: {error}"))?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("piped")?).read_line(&mut line)?;
        let port = line.split_once("127.0.0.1:").and_then(|(_, rest)| rest.split_once(' '));
        let port = port.ok_or_else(|| format!("not a line with an address: {line}"))?.0.to_owned();
        Ok(Self { child, port })
    }

    /// Requests a second, and seconds of CPU time for a request.
    fn load(&self, test: &str, pipeline: u32, requests: u32) -> Result<(f64, f64)> {
        let (pipeline, count) = (pipeline.to_string(), requests.to_string());
        let clients = CLIENTS.to_string();
        let mut command = Command::new("redis-benchmark");
        command.args(["-p", &self.port, "-c", &clients, "-n", &count, "-P", &pipeline]);
        command.args(["--csv", "-t", test]);
        let before = self.cpu()?;
        let output = command.stderr(Stdio::inherit()).output()?;
        let cpu = self.cpu()? - before;
        let text = String::from_utf8(output.stdout)?;
        // "SET","100000.00",... after a line with the names of the columns.
        let speed = text.lines().last().and_then(|line| line.split('"').nth(3));
        let speed = speed.and_then(|speed| speed.parse().ok());
        let speed = speed.ok_or_else(|| format!("{test}: not what was expected: {text}"))?;
        Ok((speed, cpu / f64::from(requests)))
    }

    fn cpu(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // After the name, which may have spaces: the third field is the next.
        let fields = stat.rsplit_once(") ").ok_or("not a stat")?.1.split(' ');
        let ticks: Vec<f64> = fields.skip(11).take(2).flat_map(str::parse).collect();
        Ok(ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
