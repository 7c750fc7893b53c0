//! Networks that lose, break and delay what is sent, and peers that stop or die.
//!
//! Two network namespaces are two hosts. The workload's server runs in one, its client in
//! the other, which brings the fault about itself, in the midst of a transfer.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio, id};
use std::time::Duration;

use crate::tool::{self, Tool, missing, not_root, row};
use crate::workspace_root;
use crate::{Outcome, Trial};

const WORKLOAD: &str = "target/release/workload";
const SERVER: &str = "10.99.0.2:9000";
/// What no case takes; that with the lossy link takes the longest.
const LIMIT: Duration = Duration::from_secs(90);
/// Nothing besides, which the client need not do here.
const ONLY: &str = "--timers 0 --jobs 0 --wakes 0 --datagrams 0";

pub fn trial() -> Trial {
    Trial {
        name: "network",
        what: "networks that lose, break and delay, peers that stop or die",
        on_demand: false,
        missing: || missing(&["ip", "nft", "strace"]).or_else(not_root),
        run,
    }
}

/// What is done at half of the transfer, and what must come of it.
struct Case {
    name: &'static str,
    promised: &'static str,
    options: &'static str,
    /// {a}, {b}: the namespaces; {link}: the server's end of it; {pid}: the server.
    at_half: &'static str,
    says: &'static [&'static str],
}

/// A rule for what comes in at {b}.
const FILTER: &str = "printf 'table inet f {\\nchain i {\\ntype filter hook input priority 0;\\n\
    RULE\\n}\\n}\\n' | ip netns exec {b} nft -f -";

const CASES: &[Case] = &[
    Case {
        name: "a reset in the midst of a transfer",
        promised: "an error for both directions; what came is a prefix",
        options: "--connections 1 --bytes 20000000",
        at_half: "RULE:tcp dport 9000 reject with tcp reset",
        says: &["reset by peer", "broken=1", "wrong=0", "ENDED"],
    },
    Case {
        name: "a peer that is gone without a word",
        promised: "a timeout around it fires",
        options: "--connections 4 --at-once 4 --bytes 20000000 --patience-ms 3000",
        at_half: "RULE:tcp dport 9000 drop",
        says: &["timeouts=4", "wrong=0", "ENDED"],
    },
    Case {
        name: "a link that is down for 2 s",
        promised: "all bytes arrive",
        options: "--connections 4 --at-once 4 --bytes 20000000 --patience-ms 60000",
        at_half: "ip -n {b} link set {link} down; \
                  (sleep 2; ip -n {b} link set {link} up) >/dev/null 2>&1 &",
        says: &["whole=4", "wrong=0", "OK"],
    },
    Case {
        name: "a peer that is stopped for 2 s (SIGSTOP)",
        promised: "all bytes arrive; who writes does not spin",
        options: "--connections 4 --at-once 4 --bytes 20000000 --patience-ms 60000",
        at_half: "kill -STOP {pid}; (sleep 2; kill -CONT {pid}) >/dev/null 2>&1 &",
        says: &["whole=4", "wrong=0", "OK"],
    },
    Case {
        name: "a peer that is killed (SIGKILL)",
        promised: "an error for all its connections",
        options: "--connections 4 --at-once 4 --bytes 20000000 --patience-ms 20000",
        at_half: "kill -KILL {pid}",
        says: &["broken=4", "timeouts=0", "wrong=0", "ENDED"],
    },
];

fn run() -> Result<Outcome, String> {
    Tool::new("cargo build --release -p arc-trials").run()?;
    let hosts = Hosts::new()?;
    tool::note("| fault | promised | seen |\n|---|---|---|");
    let usual = hosts.client("--connections 4 --at-once 4 --bytes 20000000", "", &["OK"])?.calls;
    let mut calls = 0;
    let mut mebibytes = 0;
    for case in CASES {
        let seen = hosts.client(case.options, case.at_half, case.says);
        let seen = seen.map_err(|error| format!("{}: {error}", case.name))?;
        // What spins makes a hundred thousand calls in 2 s.
        if seen.calls > 2 * usual + 1_000 {
            return Err(format!("{}: {} calls, usually {usual}", case.name, seen.calls));
        }
        row(case.name, case.promised, &format!("{}; {} calls", seen.text, seen.calls));
        calls += seen.calls;
        mebibytes += seen.bytes >> 20;
    }
    let lost = lossy(&hosts)?;
    unreachable(&hosts)?;
    Ok(Outcome {
        tried: format!(
            "{} faults, {lost} packets lost, {mebibytes} MiB compared, {calls} system calls",
            CASES.len() + 3
        ),
        found: String::new(),
    })
}

/// Every tenth packet is lost, in both directions.
fn lossy(hosts: &Hosts) -> Result<u64, String> {
    let server = Server::start(hosts)?;
    for host in [&hosts.a, &hosts.b] {
        let rule = "numgen random mod 100 < 10 counter drop";
        sh(&FILTER.replace("RULE", rule).replace("{b}", host))?;
    }
    let options = "--connections 8 --at-once 8 --bytes 600000 --patience-ms 80000";
    let line = format!("ip netns exec {} {WORKLOAD} --connect {SERVER} {ONLY} {options}", hosts.a);
    let printed = Tool::new(&line).limit(LIMIT).run()?;
    let mut lost = 0;
    for host in [&hosts.a, &hosts.b] {
        let rules = Tool::new(&format!("ip netns exec {host} nft list ruleset")).run()?;
        let mut words = rules.split_whitespace().skip_while(|&word| word != "packets");
        lost += words.nth(1).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
    }
    drop(server);
    hosts.mend()?;
    if lost == 0 || !printed.contains("whole=8 ") {
        return Err(format!("{lost} packets lost, and not all arrived"));
    }
    row("every tenth packet lost", "all bytes arrive", &format!("{lost} lost, 8 of 8 whole"));
    Ok(lost)
}

/// A host that does not answer, and one that is not there.
fn unreachable(hosts: &Hosts) -> Result<(), String> {
    sh(&FILTER.replace("RULE", "tcp dport 9001 drop").replace("{b}", &hosts.b))?;
    let options = "--connections 5 --at-once 5 --patience-ms 1000";
    let client = format!("ip netns exec {} {WORKLOAD} {ONLY} {options} --connect", hosts.a);
    let printed = Tool::new(&format!("{client} 10.99.0.2:9001")).limit(LIMIT).run()?;
    if !printed.contains("timeouts=5 ") {
        return Err("connecting to who does not answer did not time out".to_owned());
    }
    row("connecting to who does not answer", "a timeout around it fires", "5 of 5 timeouts");
    hosts.mend()?;
    let client = client.replace("1000", "20000");
    let printed = Tool::new(&format!("{client} 10.99.0.77:9000")).limit(LIMIT).run()?;
    if !printed.contains("No route to host") || !printed.contains("broken=5 ") {
        return Err("connecting to who is not there gave no error".to_owned());
    }
    row("connecting to who is not there", "the system's error", "5 of 5: `No route to host`");
    Ok(())
}

/// What a client did.
struct Seen {
    text: String,
    calls: usize,
    bytes: u64,
}

/// Two namespaces with a link between them. They end with it.
struct Hosts {
    a: String,
    b: String,
    link: String,
}

impl Hosts {
    fn new() -> Result<Self, String> {
        let number = id();
        let (a, b, link) =
            (format!("arc{number}-a"), format!("arc{number}-b"), format!("arc{number}b"));
        let hosts = Hosts { a, b, link };
        let Hosts { a, b, link } = &hosts;
        sh(&format!(
            "set -e; ip netns add {a}; ip netns add {b}
             ip link add arc{number}a type veth peer name {link}
             ip link set arc{number}a netns {a}; ip link set {link} netns {b}
             ip -n {a} addr add 10.99.0.1/24 dev arc{number}a; ip -n {a} link set arc{number}a up
             ip -n {b} addr add 10.99.0.2/24 dev {link}; ip -n {b} link set {link} up
             ip -n {a} link set lo up; ip -n {b} link set lo up"
        ))?;
        Ok(hosts)
    }

    fn mend(&self) -> Result<(), String> {
        let flush = |host: &str| sh(&format!("ip netns exec {host} nft flush ruleset"));
        flush(&self.a)?;
        flush(&self.b)
    }

    /// Starts a server, and runs a client that does something at half of its transfer.
    fn client(&self, options: &str, at_half: &str, says: &[&str]) -> Result<Seen, String> {
        let server = Server::start(self)?;
        let at_half = match at_half.strip_prefix("RULE:") {
            Some(rule) => FILTER.replace("RULE", rule),
            None => at_half.to_owned(),
        };
        let at_half = at_half
            .replace("{a}", &self.a)
            .replace("{b}", &self.b)
            .replace("{link}", &self.link)
            .replace("{pid}", &server.0.id().to_string());
        let counts = "target/trust/network.strace";
        let line = format!(
            "strace -f -qq -c -o {counts} ip netns exec {} {WORKLOAD} --connect {SERVER} {ONLY} \
             {options}",
            self.a
        );
        let mut tool = Tool::new(&line).limit(LIMIT);
        if !at_half.is_empty() {
            tool = tool.arg("--at-half").arg(at_half);
        }
        let printed = tool.run();
        drop(server);
        self.mend()?;
        let printed = printed?;
        if let Some(missing) = says.iter().find(|&&text| !printed.contains(text)) {
            return Err(format!("the client did not say {missing:?}"));
        }
        let account = printed.lines().find(|line| line.starts_with("account: "));
        let count = |name: &str| {
            let mut words = account.unwrap_or("").split(' ');
            words.find_map(|word| word.strip_prefix(name)?.parse::<u64>().ok()).unwrap_or(0)
        };
        let told: Vec<_> = printed.lines().filter_map(|it| it.strip_prefix("told: ")).collect();
        let told =
            if told.is_empty() { String::new() } else { format!(", `{}`", told.join("`, `")) };
        let counts = std::fs::read_to_string(workspace_root().join(counts));
        let counts = counts.map_err(|error| error.to_string())?;
        let total = counts.lines().find(|line| line.ends_with(" total"));
        let calls = total.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
        Ok(Seen {
            text: format!(
                "{} whole, {} broken, {} timeouts{told}",
                count("whole="),
                count("broken="),
                count("timeouts=")
            ),
            calls: calls.ok_or("strace counted nothing")?,
            bytes: count("bytes="),
        })
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let Hosts { a, b, .. } = self;
        let _ = sh(&format!("ip netns del {a}; ip netns del {b}"));
    }
}

/// A server in the second namespace, which is killed in the end.
struct Server(Child);

impl Server {
    fn start(hosts: &Hosts) -> Result<Self, String> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &hosts.b, WORKLOAD, "--listen", SERVER]);
        command.current_dir(workspace_root()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut server = Server(command.spawn().map_err(|error| error.to_string())?);
        let output = server.0.stdout.take().ok_or("it has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        match line.starts_with("listening on") {
            true => Ok(server),
            false => Err(format!("the server does not listen: {line:?}")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a line by the shell.
fn sh(line: &str) -> Result<(), String> {
    let output = Command::new("timeout").args(["20", "sh", "-c", line]).output();
    let output = output.map_err(|error| error.to_string())?;
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("`{line}`: {error}")) }
}
